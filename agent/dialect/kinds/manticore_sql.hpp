#pragma once

#include "agent/dialect/kinds/dialect.hpp"
#include "agent/dialect/rows/row_plan.hpp"

namespace karmad {

/// The search server's SQL over HTTP, on /sql, /cli and /cli_json. SELECT, INSERT, REPLACE, UPDATE,
/// DELETE, CALL and some of SHOW are sent to agents.
class ManticoreSql final : public Dialect {
 public:
  explicit ManticoreSql(DialectSettings settings) : settings_(settings) {}

  /// Reads the statement, unless the request has it read (ClientRequest::statement). `table_begin`,
  /// `table_end` count in the decoded statement, not in the body.
  std::expected<Parsed, ClientError> parse(const ClientRequest& request) const override;
  /// Also for one shard, if the answer is part of a longer one, or the statement is no SELECT.
  std::expected<Plan, ClientError> plan(const ClientRequest& request, const Parsed& parsed,
                                        ShardLayout layout) const override;
  /// Puts the statement with the table renamed in the client's place: body, form or URL; at /cli
  /// and /cli_json always in the body.
  AgentRequest write(const ClientRequest& request, const Parsed& parsed,
                     std::span<const std::string> tables, std::string& buffer) const override;
  Judgement judge(const AgentReply& reply, bool merged) const override;
  std::optional<std::string> body_for_client(const Parsed& parsed, int status,
                                             std::string_view body) const override;
  void refuse(int status, std::string_view reason, std::string& out) const override;

 private:
  std::expected<Plan, ClientError> plan_of_select(const ClientRequest& request,
                                                  const Parsed& parsed,
                                                  const ShardLayout& layout) const;

  DialectSettings settings_;
};

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
