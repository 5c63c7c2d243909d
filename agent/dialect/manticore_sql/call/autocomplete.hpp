#pragma once

#include "agent/dialect/manticore_sql/manticore_sql.hpp"

namespace karmad {

/// The search server's word completion in JSON: POST /autocomplete with `table`, `query` and
/// `options`. The answer is one result set, as that of CALL AUTOCOMPLETE.
class ManticoreAutocomplete final : public Dialect {
 public:
  explicit ManticoreAutocomplete(const DialectSettings& settings)
      : settings_(settings), rows_(settings) {}

  std::expected<Parsed, ClientError> parse(const ClientRequest& request) const override;
  std::expected<Plan, ClientError> plan(const ClientRequest& request, const Parsed& parsed,
                                        ShardLayout layout) const override;
  AgentRequest write(const ClientRequest& request, const Parsed& parsed,
                     std::span<const std::string> tables, std::string& buffer) const override;
  Judgement judge(const AgentReply& reply, bool merged) const override {
    return rows_.judge(reply, merged);
  }
  void refuse(int status, std::string_view reason, std::string& out) const override {
    rows_.refuse(status, reason, out);
  }

 private:
  DialectSettings settings_;
  ManticoreSql rows_;
};

}  // namespace karmad
