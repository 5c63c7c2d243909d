#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/dialect.hpp"
#include "agent/dialect/manticore_json/aggregations/bucket_key.hpp"

namespace karmad {

/// How the answers of several shards to one aggregation become one.
enum class Merging : std::uint8_t {
  smallest,
  largest,
  sum,
  mean,       ///< weighed by the documents that each shard found
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
  std::string field;
  KeyKind kind = KeyKind::attribute;
  bool descending = false;
};

struct Aggregation {
  std::string name;
  Merging merging = Merging::sum;
  std::size_t size = 0;              ///< buckets wanted: terms, composite; at most: ranges
  std::size_t asked = 0;             ///< of a shard; one that gives fewer has no more: composite
  KeyKind key = KeyKind::attribute;  ///< terms
  std::vector<BucketOrder> order;    ///< terms, histogram; ends with the key
  std::vector<CompositeSource> sources;  ///< composite, in the order of the buckets
  std::size_t sorted_by = 0;             ///< composite: how many of them the shards order by
  std::vector<std::string> after;        ///< composite: a JSON value for each source, or empty
};

/// What the rest of a request decides about its aggregations.
struct SearchPage {
  std::size_t limit = 20;
  std::size_t max_matches = 1000;
};

/// The aggregations of a request and what the shards are asked instead.
struct AggregationPlan {
  std::vector<Aggregation> wanted;
  std::string rewritten;         ///< value of `aggs` for the shards; empty when there are none
  std::size_t most_buckets = 0;  ///< most buckets any of them asks of a shard

  bool empty() const { return wanted.empty(); }
};

/// Buckets asked of a shard when the best `size` are wanted. A bucket that is among the best of all
/// need not be among the best of each shard, and what a shard leaves out is missing from the sum:
/// ten times as many, at least 200, keeps that to the rare; 1000 is the server's own bound of what
/// it keeps by default.
std::size_t over_request(std::size_t size);

/// The same when the first `size` in an order are wanted in which different buckets can be equal.
std::size_t with_spare(std::size_t size);

}  // namespace karmad
