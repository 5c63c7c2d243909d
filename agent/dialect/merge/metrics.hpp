#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "agent/dialect/merge/buckets.hpp"

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

/// A mean of one shard, and the sum that the same shard has of the values.
struct MeasuredMean {
  Measured mean;
  std::string_view sum;  ///< bytes of the value
};

/// The mean of all documents, with as many decimals as those of the shards. A shard's sum counts
/// where it agrees with the shard's mean. Else it has wrapped around at 64 bits, or has fewer
/// digits than the mean, as sums of floats have: then the mean times the documents counts. Empty
/// when there are no documents or no numbers.
std::string exact_mean(std::span<const MeasuredMean> shards);

}  // namespace karmad
