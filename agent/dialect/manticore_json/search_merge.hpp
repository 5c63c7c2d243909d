#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agent/dialect/dialect.hpp"
#include "agent/dialect/manticore_json/aggregations/aggregation_plan.hpp"
#include "agent/dialect/manticore_json/scroll/scroll_plan.hpp"
#include "agent/dialect/manticore_json/source_plan.hpp"

namespace karmad {

/// How one page of a search is made from the replies of the shards.
struct SearchMerge {
  std::size_t offset = 0;
  std::size_t limit = 0;  ///< of the page, at most max_matches
  std::vector<SortKey> keys;
  SourcePlan source;
  AggregationPlan aggregations;
  Collation collation = Collation::libc_ci;
  std::optional<std::uint64_t> most_found{};  ///< `hits.total` at most
  std::size_t nearest = 0;  ///< the sort is not by distance: keep the nearest; 0: nothing to do
  std::unique_ptr<ScrollPlan> scroll{};  ///< null: none
  bool reads_tail = false;               ///< of the replies, what follows the hits
};

/// Appends the merged answer. On a reply that cannot be read it leaves `out` unchanged.
std::optional<BadReply> merge_search(const SearchMerge& how, std::span<const ShardReply> replies,
                                     const MergeNotes& notes, std::string& out);

/// Buckets are sorted and allocate memory each; every sort key is searched in every hit.
unsigned merge_weight(const SearchMerge& how);

/// The object that one shard answered is the answer.
struct OneShardObject {};

/// Appends it. On a malformed reply it leaves `out` unchanged.
std::optional<BadReply> pass_object_on(const ShardReply& reply, std::string& out);

}  // namespace karmad
