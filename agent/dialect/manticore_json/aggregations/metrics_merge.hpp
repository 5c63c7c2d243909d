#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "agent/dialect/manticore_json/aggregations/aggregation_plan.hpp"

namespace karmad {

/// The value of a metric in one shard's reply.
struct Measured {
  std::string_view value;   ///< bytes of `value`; empty: no value in the reply
  std::uint64_t documents;  ///< number of documents the shard found
};

/// The metric over all shards; empty when no shard has a value. Shards that found no documents are
/// ignored. Numbers get as many decimals as in the replies; sums of integers are exact; minimum and
/// maximum are copied from the reply.
///
/// A mean is the mean of the shards' means, weighted by the documents found: the server divides by
/// that number, and a document without the value counts as 0. So the result has the replies'
/// precision; sums would overflow or be rounded to a float.
std::string merge_metric(Merging merging, std::span<const Measured> shards);

/// The mean of all documents: their `sum` divided by their number, with as many decimals as the
/// shards' `means`. Empty when `sum` is not a number or there are no documents.
std::string exact_mean(std::string_view sum, std::span<const Measured> means);

}  // namespace karmad
