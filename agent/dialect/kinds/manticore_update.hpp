#pragma once

#include "agent/dialect/kinds/dialect.hpp"

namespace karmad {

/// The search server's JSON updates over HTTP: POST /insert, /replace, /update, /delete and /bulk,
/// each also below /json. An update is sent once to each mirror that the table's settings name.
class ManticoreUpdate final : public Dialect {
 public:
  explicit ManticoreUpdate(DialectSettings settings) : settings_(settings) {}

  std::expected<Parsed, ClientError> parse(const ClientRequest& request) const override;
  std::expected<Plan, ClientError> plan(const ClientRequest& request, const Parsed& parsed,
                                        ShardLayout layout) const override;
  /// An update changes one table: if the mirror names several, the first is used.
  AgentRequest write(const ClientRequest& request, const Parsed& parsed,
                     std::span<const std::string> tables, std::string& buffer) const override;
  Judgement judge(const AgentReply& reply, bool merged) const override;
  /// Restores the client's name of the table.
  std::optional<std::string> body_for_client(const Parsed& parsed, int,
                                             std::string_view body) const override;
  void refuse(int status, std::string_view reason, std::string& out) const override;

 private:
  DialectSettings settings_;
};

}  // namespace karmad
