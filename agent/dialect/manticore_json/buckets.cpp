#include "agent/dialect/manticore_json/buckets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <compare>
#include <list>
#include <unordered_map>
#include <utility>

#include "agent/dialect/manticore_json/json_cursor.hpp"
#include "agent/dialect/manticore_json/keyed_hash.hpp"

namespace karmad {

namespace {

std::optional<AnswerBucket> read_bucket(std::string_view bytes) {
  AnswerBucket bucket{.bytes = bytes};
  JsonCursor json(bytes);
  JsonMembers members(json);
  while (const auto name = members.next()) {
    const auto value = take_value(json);
    if (!value) return std::nullopt;
    if (*name == "key") bucket.key = *value;
    if (*name == "doc_count") {
      const auto* const end = value->data() + value->size();
      const auto read = std::from_chars(value->data(), end, bucket.count);
      if (read.ec != std::errc{} || read.ptr != end) return std::nullopt;
      bucket.doc_count = *value;
    }
  }
  if (!members.complete() || bucket.doc_count.empty()) return std::nullopt;
  return bucket;
}

bool read_list(JsonCursor& json, AnswerBuckets& buckets) {
  JsonElements elements(json);
  while (elements.next()) {
    const auto value = take_value(json);
    auto bucket = value ? read_bucket(*value) : std::nullopt;
    if (!bucket || bucket->key.empty()) return false;
    buckets.list.push_back(*bucket);
  }
  return elements.complete();
}

bool read_keyed(JsonCursor& json, AnswerBuckets& buckets) {
  buckets.keyed = true;
  JsonMembers members(json);
  while (const auto name = members.next()) {
    const auto value = take_value(json);
    auto bucket = value ? read_bucket(*value) : std::nullopt;
    if (!bucket) return false;
    bucket->name = *name;
    if (bucket->key.empty()) bucket->key = {name->data() - 1, name->size() + 2};
    buckets.list.push_back(*bucket);
  }
  return members.complete();
}

/// A bucket with what it is compared by.
struct Keyed {
  AnswerBucket bucket;
  std::vector<SortValue> key;
};

class KeyOrder {
 public:
  KeyOrder(const Aggregation& aggregation, Collation collation)
      : sources_(aggregation.sources), collation_(collation) {}

  std::strong_ordering compare_keys(const Keyed& a, const Keyed& b) const {
    for (std::size_t i = 0; i < a.key.size(); ++i) {
      const auto order = compare(a.key[i], b.key[i], collation_);
      if (order == 0) continue;
      const bool descending = i < sources_.size() && sources_[i].descending;
      return descending ? 0 <=> order : order;
    }
    return std::strong_ordering::equal;
  }

  /// By key, then by spelling, so that which of several spellings is shown is no accident.
  bool operator()(const Keyed& a, const Keyed& b) const {
    const auto order = compare_keys(a, b);
    return order != 0 ? order < 0 : a.bucket.key < b.bucket.key;
  }

 private:
  const std::vector<CompositeSource>& sources_;
  Collation collation_;
};

void fold_equal(std::vector<Keyed>& sorted, const KeyOrder& order) {
  auto last = sorted.begin();
  for (auto at = sorted.begin(); at != sorted.end(); ++at) {
    if (at == last) continue;
    if (order.compare_keys(*last, *at) == 0)
      last->bucket.count += at->bucket.count;
    else if (++last != at)
      *last = std::move(*at);
  }
  if (!sorted.empty()) sorted.erase(last + 1, sorted.end());
}

void put_back(std::vector<Keyed>& merged, std::vector<AnswerBucket>& list) {
  list.clear();
  for (auto& keyed : merged) list.push_back(keyed.bucket);
}

/// The values of the sources in the key of a composite bucket, in the sources' order.
std::vector<SortValue> tuple_of(std::string_view key, const std::vector<CompositeSource>& sources) {
  std::vector<SortValue> tuple(sources.size());
  JsonCursor json(key);
  JsonMembers members(json);
  while (const auto name = members.next()) {
    const auto value = take_value(json);
    if (!value) break;
    for (std::size_t i = 0; i < sources.size(); ++i)
      if (sources[i].name == *name) tuple[i] = sort_value(*value);
  }
  return tuple;
}

}  // namespace

bool read_buckets(std::string_view answer, std::size_t shard, AnswerBuckets& buckets) {
  const auto before = buckets.list.size();
  JsonCursor json(answer);
  JsonMembers members(json);
  while (const auto name = members.next()) {
    skip_space(json);
    if (*name == "buckets" && !json.done()) {
      if (*json.at == '[' ? !read_list(json, buckets) : !read_keyed(json, buckets)) return false;
    } else if (!take_value(json)) {
      return false;
    }
  }
  for (auto i = before; i < buckets.list.size(); ++i) buckets.list[i].shard = shard;
  return members.complete();
}

void merge_by_key(const Aggregation& aggregation, Collation collation,
                  std::vector<AnswerBucket>& list) {
  std::vector<Keyed> sorted;
  sorted.reserve(list.size());
  for (const auto& bucket : list) sorted.push_back({bucket, {sort_value(bucket.key)}});
  const KeyOrder by_key(aggregation, collation);
  std::ranges::sort(sorted, by_key);
  fold_equal(sorted, by_key);
  std::ranges::stable_sort(sorted, [&](const Keyed& a, const Keyed& b) {
    for (const auto& order : aggregation.order) {
      const auto compared = order.by == BucketOrder::By::count ? a.bucket.count <=> b.bucket.count
                                                               : by_key.compare_keys(a, b);
      if (compared != 0) return (compared < 0) != order.descending;
    }
    return false;
  });
  put_back(sorted, list);
  if (aggregation.size != 0 && list.size() > aggregation.size) list.resize(aggregation.size);
}

void merge_in_order(std::vector<AnswerBucket>& list) {
  std::list<AnswerBucket> merged;
  std::unordered_map<std::string_view, std::list<AnswerBucket>::iterator, KeyedHash> known;
  auto next = merged.begin();  // a bucket that nobody named yet belongs behind its forerunner
  for (const auto& bucket : list) {
    if (&bucket != list.data() && bucket.shard != (&bucket - 1)->shard) next = merged.begin();
    const auto [place, is_new] = known.try_emplace(bucket.key);
    if (is_new) {
      place->second = merged.insert(next, bucket);
    } else {
      place->second->count += bucket.count;
      next = std::next(place->second);
    }
  }
  list.assign(merged.begin(), merged.end());
}

void merge_composite(const Aggregation& aggregation, Collation collation,
                     std::vector<AnswerBucket>& list) {
  std::vector<Keyed> sorted;
  sorted.reserve(list.size());
  for (const auto& bucket : list)
    sorted.push_back({bucket, tuple_of(bucket.key, aggregation.sources)});
  const KeyOrder by_key(aggregation, collation);
  std::ranges::sort(sorted, by_key);
  fold_equal(sorted, by_key);
  put_back(sorted, list);
  if (list.size() > aggregation.size) list.resize(aggregation.size);
}

void append_buckets(std::string& out, const AnswerBuckets& buckets) {
  out += buckets.keyed ? "\"buckets\":{" : "\"buckets\":[";
  for (const auto& bucket : buckets.list) {
    if (&bucket != buckets.list.data()) out += ',';
    if (buckets.keyed) out.append("\"").append(bucket.name).append("\":");
    const auto before = static_cast<std::size_t>(bucket.doc_count.data() - bucket.bytes.data());
    out += bucket.bytes.substr(0, before);
    fmt::format_to(std::back_inserter(out), "{}", bucket.count);
    out += bucket.bytes.substr(before + bucket.doc_count.size());
  }
  out += buckets.keyed ? '}' : ']';
}

}  // namespace karmad
