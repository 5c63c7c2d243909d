#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agent/dialect/merge/buckets.hpp"
#include "agent/dialect/merge/merge_hits.hpp"
#include "agent/dialect/merge/scroll_pages.hpp"
#include "agent/dialect/replies/shard_reply.hpp"

namespace karmad {

/// The page of a search that pages with tokens.
struct HitScroll {
  ScrollPages pages;
  std::string_view expressions{};  ///< of the request: an object, or empty
};

/// The key's name in the tokens of the search server.
std::string scroll_attribute(const SortKey& key);

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
  std::optional<HitScroll> scroll{};
  bool reads_tail = false;  ///< of the replies, what follows the hits
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
