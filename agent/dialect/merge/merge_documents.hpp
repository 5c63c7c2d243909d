#pragma once

#include <cstddef>
#include <expected>

#include "agent/dialect/merge/merged_rows.hpp"
#include "agent/dialect/replies/shard_reply.hpp"

namespace karmad {

/// Walks the documents of the shards' result sets of number `set` in the order `plan.order` and
/// keeps those from `plan.offset` up to `plan.offset + plan.limit`. A row is read when it becomes
/// the next of its shard, and the number of allocations does not depend on the number of rows. Each
/// shard's own order is kept, also for equal rows. Of rows with the same id the first one is kept:
/// of equal rows the last shard's. With `plan.distance` all rows are read.
std::expected<MergedRows, BadReply> merge_documents(const RawReplies& replies, std::size_t set,
                                                    const RowPlan& plan, Collation collation);

}  // namespace karmad
