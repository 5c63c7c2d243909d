#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/merge/sort_keys.hpp"
#include "agent/dialect/replies/shard_reply.hpp"
#include "agent/json/json_cursor.hpp"

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

/// A hit of the page: its bytes, and its `_source` within them.
struct MergedHit {
  std::string_view bytes;
  std::string_view source;
};

struct MergedHits {
  std::vector<MergedHit> page;
  std::uint64_t duplicates = 0;  ///< further hits with an id already seen, up to the page's end
};

struct HitOrder {
  const std::vector<SortKey>& keys;
  Collation collation;
  /// Only so many hits, the nearest of all shards, are kept, and all hits are read; 0: all are.
  std::size_t nearest = 0;
};

/// Walks the shards' hits in the common order and keeps those from `offset` up to `offset + limit`.
/// `hits[s]` is at the opening bracket of shard s's hits, or null if it has none. A hit is read
/// when it becomes the next of its shard: about offset + limit + shards hits are read, and the
/// number of allocations does not depend on the number of hits. Each shard's own order is kept,
/// also for equal hits. Of hits with the same id the first one is kept: of equal hits the last
/// shard's, if shards sort equal hits by id.
std::expected<MergedHits, BadReply> merge_hits(std::span<const JsonCursor> hits,
                                               const HitOrder& order, std::size_t offset,
                                               std::size_t limit);

/// Appends the hit without those members of its `_source` that `source` hides.
void append_hit(std::string& out, const MergedHit& hit, const SourcePlan& source);

}  // namespace karmad
