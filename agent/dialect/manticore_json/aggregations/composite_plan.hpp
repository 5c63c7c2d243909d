#pragma once

#include <rapidjson/document.h>

#include <optional>
#include <vector>

#include "agent/dialect/dialect.hpp"
#include "agent/dialect/manticore_json/aggregations/aggregation_plan.hpp"
#include "agent/dialect/manticore_json/aggregations/bucket_order.hpp"

namespace karmad {

/// Plans a composite aggregation: fills in `aggregation`, and leaves in the value of its
/// `composite` (`inner`) what the shards are asked, all but the size.
/// Left to itself each shard pages in an order of its own, so the shards are asked for the order of
/// the sources (or the client's, then the rest of the sources), from the first group on: a shard
/// that lacks the group named in `after` would not know where to go on.
/// `max_matches`: most groups a shard keeps. Refuses (400) what cannot be merged.
std::optional<ClientError> plan_composite(Aggregation& aggregation, std::size_t max_matches,
                                          const rapidjson::Value& body, rapidjson::Value& inner);

/// The order that the shards are asked for. The server knows the sources by their fields.
std::vector<OrderItem> composite_order(const Aggregation& aggregation);

}  // namespace karmad
