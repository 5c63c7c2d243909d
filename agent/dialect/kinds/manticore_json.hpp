#pragma once

#include "agent/dialect/kinds/dialect.hpp"

namespace karmad {

/// The search server's JSON over HTTP: POST /search and /json/search.
class ManticoreJson final : public Dialect {
 public:
  explicit ManticoreJson(DialectSettings settings) : settings_(settings) {}

  std::expected<Parsed, ClientError> parse(const ClientRequest& request) const override;
  std::expected<Plan, ClientError> plan(const ClientRequest& request, const Parsed& parsed,
                                        ShardLayout layout) const override;
  AgentRequest write(const ClientRequest& request, const Parsed& parsed,
                     std::span<const std::string> tables, std::string& buffer) const override;
  Judgement judge(const AgentReply& reply, bool merged) const override;
  void refuse(int status, std::string_view reason, std::string& out) const override;

 private:
  DialectSettings settings_;
};

}  // namespace karmad
