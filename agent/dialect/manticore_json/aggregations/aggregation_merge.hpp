#pragma once

#include <optional>
#include <span>
#include <string>

#include "agent/dialect/dialect.hpp"
#include "agent/dialect/manticore_json/aggregations/aggregation_plan.hpp"
#include "agent/dialect/manticore_json/reply.hpp"

namespace karmad {

/// Appends `,"aggregations":{…}` in the request's order. `heads` were read with ReadTail::yes; the
/// head of a failed shard has no hits. Cost: n log n in the number of buckets of all shards.
std::optional<BadReply> merge_aggregations(const AggregationPlan& plan,
                                           std::span<const ReplyHead> heads, Collation collation,
                                           std::string& out);

}  // namespace karmad
