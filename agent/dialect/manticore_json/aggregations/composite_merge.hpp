#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "agent/dialect/manticore_json/aggregations/aggregation_plan.hpp"
#include "agent/dialect/manticore_json/aggregations/buckets.hpp"

namespace karmad {

/// Makes one page of the groups that the shards found: those behind `aggregation.after`, in the
/// common order, `aggregation.size` at most, each with the sum of its counts.
///
/// A shard that answered with as many groups as it was asked for may have more. What comes before
/// its last group is whole; so the page ends before the smallest of those last groups. Groups that
/// tie with it in the order of the server are left to the next page, too: the shard may have more
/// of them.
///
/// Returns the shard that may have more groups and did not answer in the order it was asked for:
/// then it is unknown which groups are complete.
std::optional<std::size_t> merge_composite(const Aggregation& aggregation, Collation collation,
                                           std::vector<AnswerBucket>& list);

}  // namespace karmad
