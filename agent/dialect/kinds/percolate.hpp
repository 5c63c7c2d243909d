#pragma once

#include "agent/dialect/kinds/dialect.hpp"

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

/// Storing a query for percolation: PUT or POST /pq/{table}/doc, with or without an id behind it.
/// An update of one shard. Of several shards it is that of the id (`shard_by = id`), which karmad
/// makes and adds to the path if there is none.
class StoredQuery final : public Dialect {
 public:
  explicit StoredQuery(DialectSettings settings) : settings_(std::move(settings)) {}

  std::expected<Parsed, ClientError> parse(const ClientRequest& request) const override;
  std::expected<Plan, ClientError> plan(const ClientRequest& request, const Parsed& parsed,
                                        ShardLayout layout) const override;
  AgentRequest write(const ClientRequest& request, const Parsed& parsed,
                     std::span<const std::string> tables, std::string& buffer) const override;
  Judgement judge(const AgentReply& reply, bool merged) const override;
  std::optional<std::string> body_for_client(const Parsed& parsed, int,
                                             std::string_view body) const override;
  void refuse(int status, std::string_view reason, std::string& out) const override;

 private:
  DialectSettings settings_;
};

}  // namespace karmad
