#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agent/dialect/merge/buckets.hpp"
#include "agent/dialect/replies/search_reply.hpp"
#include "agent/dialect/replies/shard_reply.hpp"

namespace karmad {

/// Appends `,"aggregations":{…}` in the request's order. `heads` were read with ReadTail::yes; the
/// head of a failed shard has no hits. Cost: n log n in the number of buckets of all shards.
std::optional<BadReply> merge_aggregations(const AggregationPlan& plan,
                                           std::span<const ReplyHead> heads, Collation collation,
                                           std::string& out);

/// Makes one page of the shards' groups: those after `aggregation.after`, in the common order, at
/// most `aggregation.size`, each with the sum of its counts.
///
/// A shard that returned as many groups as requested may have more. Its groups before the last one
/// are complete, so the page ends before the smallest of these last groups. Groups that are equal
/// to that one in the server's order also go to the next page, because the shard may have more of
/// them.
///
/// Returns the shard that may have more groups and did not answer in the requested order: it is
/// then unknown which groups are complete.
std::optional<std::size_t> merge_composite(const Aggregation& aggregation, Collation collation,
                                           std::vector<AnswerBucket>& list);

}  // namespace karmad
