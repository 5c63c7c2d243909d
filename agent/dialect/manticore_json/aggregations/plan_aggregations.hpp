#pragma once

#include <expected>
#include <string_view>

#include "agent/dialect/manticore_json/aggregations/aggregation_plan.hpp"

namespace karmad {

/// `text`: the bytes of the request's `aggs`, empty if there is none. Refuses what cannot be merged
/// from the shards' results: nested aggregations, percentiles, distinct counts, unknown kinds.
std::expected<AggregationPlan, ClientError> plan_aggregations(std::string_view text,
                                                              const SearchPage& page);

}  // namespace karmad
