#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "agent/dialect/replies/shard_reply.hpp"

namespace karmad {

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

}  // namespace karmad
