#pragma once

#include <rapidjson/document.h>

#include <optional>
#include <vector>

#include "agent/dialect/dialect.hpp"
#include "agent/dialect/manticore_json/aggregations/aggregation_plan.hpp"
#include "agent/dialect/manticore_json/aggregations/bucket_order.hpp"

namespace karmad {

/// Plans a composite aggregation: fills in `aggregation`, and writes the shards' request without
/// its size into `inner`, the value of `composite`. By default each shard uses an order of its own.
/// So the shards get an explicit order: the client's, then the remaining sources. They start at the
/// first group, because a shard that lacks the group named in `after` could not continue from it.
/// `max_matches`: most groups a shard keeps. Refuses (400) what cannot be merged.
std::optional<ClientError> plan_composite(Aggregation& aggregation, std::size_t max_matches,
                                          const rapidjson::Value& body, rapidjson::Value& inner);

/// The order to request of the shards. The server names the sources by their fields.
std::vector<OrderItem> composite_order(const Aggregation& aggregation);

}  // namespace karmad
