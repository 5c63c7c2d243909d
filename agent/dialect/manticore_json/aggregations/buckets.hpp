#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/manticore_json/aggregations/aggregation_plan.hpp"

namespace karmad {

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
