#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/dialect.hpp"

namespace karmad {

/// How the answers of several shards to one aggregation become one.
enum class Merging : std::uint8_t {
  smallest,
  largest,
  sum,
  mean,       ///< needs the sum beside it
  terms,      ///< buckets by key; the best `size` of them
  ranges,     ///< buckets by key, in the shards' common order
  histogram,  ///< buckets by key, all of them
  composite,  ///< buckets by the tuple of their sources
};

/// What buckets are ordered by.
struct BucketOrder {
  enum class By : std::uint8_t { count, key };
  By by = By::count;
  bool descending = true;
};

struct CompositeSource {
  std::string name;
  bool descending = false;
};

struct Aggregation {
  std::string name;
  Merging merging = Merging::sum;
  std::size_t size = 0;                  ///< buckets wanted: terms, composite; at most: ranges
  std::vector<BucketOrder> order;        ///< terms, histogram; ends with the key
  std::vector<CompositeSource> sources;  ///< composite
  std::string sum_name;                  ///< mean: the aggregation that carries the sum
};

/// The aggregations of a request and what the shards are asked instead.
struct AggregationPlan {
  std::vector<Aggregation> wanted;
  std::string rewritten;         ///< value of `aggs` for the shards; empty when there are none
  std::size_t most_buckets = 0;  ///< most buckets any of them asks of a shard

  bool empty() const { return wanted.empty(); }
};

/// `text`: the bytes of the request's `aggs`, empty when there is none. Refuses what cannot be
/// merged from answers: nested aggregations, percentiles, distinct counts, unknown kinds.
std::expected<AggregationPlan, ClientError> plan_aggregations(std::string_view text);

/// AnswerBuckets asked of a shard when the best `size` are wanted. A bucket that is among the best
/// of all need not be among the best of each shard, and what a shard leaves out is missing from the
/// sum: ten times as many, at least 200, keeps that to the rare; 1000 is the server's own bound of
/// what it keeps by default.
std::size_t over_request(std::size_t size);

}  // namespace karmad
