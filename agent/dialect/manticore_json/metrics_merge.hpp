#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "agent/dialect/manticore_json/aggregation_plan.hpp"

namespace karmad {

/// What one shard says to a metric.
struct Measured {
  std::string_view value;   ///< bytes of `value`; empty: the shard said nothing
  std::string_view sum;     ///< mean: bytes of the sum beside it
  std::uint64_t documents;  ///< that the shard found
};

/// The value for the whole. Numbers are shown with as many decimals as the shards show; sums of
/// integers are exact; the smallest and largest are shown as the shard that has them wrote them.
/// Shards that found nothing have no say.
///
/// A mean is the sum of the sums over the number of values. A shard's number of values is its
/// number of documents where its mean and sum agree with that; else (some lack the value, or have
/// several) it follows from the two.
std::string merge_metric(Merging merging, std::span<const Measured> shards);

}  // namespace karmad
