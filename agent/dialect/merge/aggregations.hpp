#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agent/dialect/replies/search_reply.hpp"
#include "agent/dialect/replies/shard_reply.hpp"
#include "agent/dialect/rows/group_key.hpp"

namespace karmad {

/// How the answers of several shards to one aggregation become one.
enum class Merging : std::uint8_t {
  smallest,
  largest,
  sum,
  mean,       ///< weighted by each shard's number of documents found
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

/// The bounds of a range as JSON values; empty: none.
struct RangeBounds {
  std::string from{};
  std::string to{};
};

struct Aggregation {
  std::string name;
  Merging merging = Merging::sum;
  std::size_t skip = 0;                  ///< terms: buckets before those wanted
  std::size_t size = 0;                  ///< buckets wanted: terms, composite; at most: ranges
  std::size_t asked = 0;                 ///< composite: requested of a shard; fewer: it has no more
  KeyKind key = KeyKind::attribute;      ///< terms
  std::vector<BucketOrder> order;        ///< terms, histogram; ends with the key
  std::vector<CompositeSource> sources;  ///< composite, in the order of the buckets
  std::size_t sorted_by = 0;             ///< composite: how many of these the shards sort by
  std::vector<std::string> after;        ///< composite: a JSON value for each source, or empty
  std::vector<RangeBounds> ranges;       ///< in the order of the request
};

/// Values of the request that limit its aggregations.
struct SearchPage {
  std::size_t offset = 0;
  std::size_t limit = 20;
  std::size_t max_matches = 1000;
};

/// The aggregations of a request, and the request for them that the shards get.
struct AggregationPlan {
  std::vector<Aggregation> wanted;
  std::string rewritten;         ///< value of `aggs` for the shards; empty when there are none
  std::size_t most_buckets = 0;  ///< most buckets that one aggregation requests of a shard

  bool empty() const { return wanted.empty(); }
};

/// Number of buckets to request of a shard when the best `size` are wanted. A bucket among the best
/// of all shards may be missing in the reply of one shard, and its sum is then too small. Ten times
/// `size`, at least 200, makes that rare; 1000 is the server's default limit.
std::size_t over_request(std::size_t size);

/// The same for an order in which different buckets of the first `size` can be equal.
std::size_t with_spare(std::size_t size);

/// Appends `,"aggregations":{…}` in the request's order. `heads` were read with ReadTail::yes; the
/// head of a failed shard has no hits. Cost: n log n in the number of buckets of all shards.
std::optional<BadReply> merge_aggregations(const AggregationPlan& plan,
                                           std::span<const ReplyHead> heads, Collation collation,
                                           std::string& out);

}  // namespace karmad
