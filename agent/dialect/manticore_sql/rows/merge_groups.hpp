#pragma once

#include <cstddef>
#include <expected>
#include <span>

#include "agent/dialect/dialect.hpp"
#include "agent/dialect/manticore_sql/rows/distinct_pairs.hpp"
#include "agent/dialect/manticore_sql/rows/merged_rows.hpp"

namespace karmad {

/// Merges the groups of the shards' result sets of number `set`: rows with equal keys become one
/// group, its values are folded, HAVING leaves groups out, and the rest is ordered and cut to the
/// page. Groups that are equal in the order stay in the order in which the shards name them first.
/// All rows are read. `pairs` belongs to `FoldedColumn::pairs`.
std::expected<MergedRows, BadReply> merge_groups(const RawReplies& replies, std::size_t set,
                                                 const RowPlan& plan, Collation collation,
                                                 std::span<const DistinctPairs> pairs);

}  // namespace karmad
