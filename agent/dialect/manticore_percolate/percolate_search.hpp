#pragma once

#include "agent/dialect/dialect.hpp"

namespace karmad {

/// The search server's percolation: POST /pq/{table}/search, also below /json, finds the stored
/// queries that a document matches. All shards are asked; the hits are merged by their id.
class PercolateSearch final : public Dialect {
 public:
  explicit PercolateSearch(DialectSettings settings) : settings_(std::move(settings)) {}

  /// Always `planned`: hits name the mirror's table, which the plan replaces.
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
