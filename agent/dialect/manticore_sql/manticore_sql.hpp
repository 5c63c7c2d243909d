#pragma once

#include "agent/dialect/dialect.hpp"
#include "agent/dialect/manticore_sql/rows/row_plan.hpp"

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
  void refuse(int status, std::string_view reason, std::string& out) const override;

 private:
  std::expected<Plan, ClientError> plan_of_select(const ClientRequest& request,
                                                  const Parsed& parsed,
                                                  const ShardLayout& layout) const;

  DialectSettings settings_;
};

}  // namespace karmad
