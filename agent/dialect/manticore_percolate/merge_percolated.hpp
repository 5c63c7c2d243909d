#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "agent/dialect/dialect.hpp"

namespace karmad {

/// Merges the answers of shards to a percolation and appends one with all hits, ordered by `_id`.
/// Hits name `table` instead of the mirror's table. On a reply that cannot be read it leaves `out`
/// unchanged. A pure function: any thread.
std::optional<FanOut::BadReply> merge_percolated(std::span<const ShardReply> replies,
                                                 const MergeNotes& notes, std::string_view table,
                                                 std::string& out);

/// Why the body is no answer to a percolation; empty: it is one, as far as its beginning shows.
std::string why_not_percolated(std::string_view body);

}  // namespace karmad
