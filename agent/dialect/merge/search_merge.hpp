#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/merge/aggregations.hpp"
#include "agent/dialect/merge/scroll_pages.hpp"
#include "agent/dialect/merge/sort_keys.hpp"
#include "agent/dialect/replies/shard_reply.hpp"

namespace karmad {

/// The fields of a document that shards must return for ordering hits, and which of these the
/// client did not request.
struct SourcePlan {
  std::optional<std::string> rewritten;  ///< value of `_source` for the shards; empty: unchanged
  std::vector<std::string> hidden;       ///< patterns (`*`, `?`) of the members to remove again

  bool hides(std::string_view member) const;
};

/// `*` matches any characters, `?` any one; letters match with their case.
bool source_matches(std::string_view pattern, std::string_view member);

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
  std::optional<std::uint64_t> stops_at{};    ///< TotalFound::cut
  std::size_t nearest = 0;  ///< the sort is not by distance: keep the nearest; 0: nothing to do
  std::optional<HitScroll> scroll{};
  bool reads_tail = false;  ///< of the replies, what follows the hits
};

/// Appends the merged answer. On a reply that cannot be read it leaves `out` unchanged.
std::optional<BadReply> merge_search(const SearchMerge& how, std::span<const ShardReply> replies,
                                     const MergeNotes& notes, std::string& out);

/// Buckets are sorted and allocate memory each; every sort key is searched in every hit.
unsigned merge_weight(const SearchMerge& how);

/// All hits, ordered by `_id`. They name `table` instead of the mirror's table.
struct PercolateMerge {
  std::string_view table;
};

/// Appends the answer. On a reply that cannot be read it leaves `out` unchanged. A pure function:
/// any thread.
std::optional<BadReply> merge_percolated(const PercolateMerge& how,
                                         std::span<const ShardReply> replies,
                                         const MergeNotes& notes, std::string& out);

/// Why the body is no answer to a percolation; empty: it is one, as far as its beginning shows.
std::string why_not_percolated(std::string_view body);

/// The object that one shard answered is the answer.
struct OneShardObject {};

/// Appends it. On a malformed reply it leaves `out` unchanged.
std::optional<BadReply> pass_object_on(const ShardReply& reply, std::string& out);

}  // namespace karmad
