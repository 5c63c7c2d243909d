#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "agent/dialect/dialect.hpp"
#include "agent/dialect/manticore_json/aggregations/aggregation_plan.hpp"
#include "agent/dialect/manticore_json/request.hpp"
#include "agent/dialect/manticore_json/sort_plan.hpp"
#include "agent/dialect/manticore_json/source_plan.hpp"

namespace karmad {

/// One page of a search over several shards: the request for each shard, and how the page is made
/// from the replies.
class SearchPlan final : public FanOut {
 public:
  /// Refuses (400) a request that cannot be merged, with the reason.
  static std::expected<std::unique_ptr<FanOut>, ClientError> make(std::string_view body,
                                                                  const SearchRequest& request,
                                                                  Collation collation);

  void write(std::size_t shard, std::span<const std::string> tables,
             std::string& body) const override;
  unsigned merge_weight() const override;
  std::optional<BadReply> merge(std::span<const ShardReply> replies, const MergeNotes& notes,
                                std::string& out) const override;

 private:
  std::vector<std::string> around_table_;  // a shard's request, split at the table's name
  std::size_t offset_ = 0;
  std::size_t limit_ = 0;  // of the page, at most max_matches
  std::vector<SortKey> keys_;
  SourcePlan source_;
  AggregationPlan aggregations_;
  Collation collation_ = Collation::libc_ci;
};

/// Appends a mirror's table names as one JSON string, separated by commas.
void append_tables(std::string& out, std::span<const std::string> tables);

}  // namespace karmad
