#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "agent/dialect/manticore_json/aggregations/aggregation_plan.hpp"

namespace karmad {

/// What one shard says to a metric.
struct Measured {
  std::string_view value;   ///< bytes of `value`; empty: the shard said nothing
  std::uint64_t documents;  ///< that the shard found
};

/// The value for the whole; empty when no shard has one. Numbers are shown with as many decimals as
/// the shards show; sums of integers are exact; the smallest and largest are shown as the shard
/// that has them wrote them. Shards that found nothing have no say.
///
/// A mean is that of the shards' means, each weighed by the documents that the shard found: the
/// server divides by those, and a document without the value counts as 0. So it has the digits that
/// the shards show, where sums would overflow or be cut to a float.
std::string merge_metric(Merging merging, std::span<const Measured> shards);

}  // namespace karmad
