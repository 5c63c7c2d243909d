#pragma once

#include <memory>

#include "agent/dialect/kinds/dialect.hpp"

namespace karmad {

/// The engine's Elasticsearch-like paths. Their requests are translated into the engine's own JSON
/// (elastic_request.hpp) and planned by its dialects; mirrors get `/search`, `/update` and so on.
class ManticoreElastic final : public Dialect {
 public:
  explicit ManticoreElastic(DialectSettings settings);

  std::expected<Parsed, ClientError> parse(const ClientRequest& request) const override;
  std::expected<Plan, ClientError> plan(const ClientRequest& request, const Parsed& parsed,
                                        ShardLayout layout) const override;
  AgentRequest write(const ClientRequest& request, const Parsed& parsed,
                     std::span<const std::string> tables, std::string& buffer) const override;
  Judgement judge(const AgentReply& reply, bool merged) const override;
  std::optional<std::string> body_for_client(const Parsed& parsed, int status,
                                             std::string_view body) const override;
  void refuse(int status, std::string_view reason, std::string& out) const override;

 private:
  const Dialect& inner(bool search) const { return search ? *searches_ : *updates_; }

  unsigned max_depth_;
  std::unique_ptr<Dialect> searches_;
  std::unique_ptr<Dialect> updates_;
};

}  // namespace karmad
