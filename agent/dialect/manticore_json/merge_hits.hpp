#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/dialect.hpp"
#include "agent/dialect/manticore_json/sort_plan.hpp"
#include "agent/dialect/manticore_json/source_plan.hpp"
#include "agent/json/json_cursor.hpp"

namespace karmad {

/// A hit of the page: its bytes, and where its `_source` stands in them.
struct MergedHit {
  std::string_view bytes;
  std::string_view source;
};

struct MergedHits {
  std::vector<MergedHit> page;
  std::uint64_t duplicates = 0;  ///< further copies of ids met on the way to the page's end
};

struct HitOrder {
  const std::vector<SortKey>& keys;
  Collation collation;
};

/// Walks the shards' hits in the common order and keeps those from `offset` up to `offset + limit`.
/// `hits[s]` stands at the opening bracket of shard s's hits, or is null when it has none to give.
/// Hits are read when they reach the head of their shard, so about offset + limit + shards of them
/// are looked at; the number of allocations does not depend on the number of hits.
/// Within a shard its own order stays, also where `order` knows none. Of hits with one id the first
/// in that walk stays: of equal ones the last shard's, if the shards have their ties by id.
std::expected<MergedHits, FanOut::BadReply> merge_hits(std::span<const JsonCursor> hits,
                                                       const HitOrder& order, std::size_t offset,
                                                       std::size_t limit);

/// Appends the hit without the members of its `_source` that `source` hides.
void append_hit(std::string& out, const MergedHit& hit, const SourcePlan& source);

}  // namespace karmad
