#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

struct Aggregation {
  std::string name;
  Merging merging = Merging::sum;
  std::size_t size = 0;                  ///< buckets wanted: terms, composite; at most: ranges
  std::size_t asked = 0;                 ///< composite: requested of a shard; fewer: it has no more
  KeyKind key = KeyKind::attribute;      ///< terms
  std::vector<BucketOrder> order;        ///< terms, histogram; ends with the key
  std::vector<CompositeSource> sources;  ///< composite, in the order of the buckets
  std::size_t sorted_by = 0;             ///< composite: how many of these the shards sort by
  std::vector<std::string> after;        ///< composite: a JSON value for each source, or empty
};

/// Values of the request that limit its aggregations.
struct SearchPage {
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

/// One bucket of a shard's answer. The views are into the answer.
struct AnswerBucket {
  std::string_view name;   ///< raw, of a keyed answer
  std::string_view key;    ///< bytes of the value; of a keyed answer its name in quotes
  std::string_view bytes;  ///< the whole bucket
  std::string_view from;   ///< of a range: bytes of its bounds; empty: it has none
  std::string_view to;
  std::string_view doc_count;  ///< position of its count within `bytes`
  std::uint64_t count = 0;
  std::size_t shard = 0;
  std::string_view status;  ///< position of the value of its `status`; empty: it has none
  /// What the filters of the search mean for it, from the least: a bucket has the greatest of all
  /// shards.
  enum class Status : std::uint8_t { unavailable, available, selected };
  Status is{};

  /// Adds the same bucket of another shard.
  void add(const AnswerBucket& other) {
    count += other.count;
    is = std::max(is, other.is);
  }
};

/// The buckets of one aggregation, of all shards in their order.
struct AnswerBuckets {
  std::vector<AnswerBucket> list;
  bool keyed = false;  ///< `"buckets":{"name":{…}}`
};

/// Adds the buckets of a shard's `answer`, the bytes of `{"buckets":…}`; false when malformed.
bool read_buckets(std::string_view answer, std::size_t shard, AnswerBuckets& buckets);

/// Merges buckets with equal keys, then sorts and limits them as `aggregation` says. Spellings that
/// the collation treats as equal have one key; the first in byte order is shown.
void merge_by_key(const Aggregation& aggregation, Collation collation,
                  std::vector<AnswerBucket>& list);

/// Merges the buckets of ranges, which all shards return in one order; that order is kept. Several
/// ranges may have one key: they are told apart by their bounds, and equal ones by their position.
void merge_in_order(std::vector<AnswerBucket>& list);

/// Appends the merged buckets in the form of the replies: array or object.
void append_buckets(std::string& out, const AnswerBuckets& buckets);

}  // namespace karmad
