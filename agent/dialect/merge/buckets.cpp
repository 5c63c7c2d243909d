#include "agent/dialect/merge/buckets.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <list>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "agent/json/fold_equal.hpp"
#include "agent/json/json_cursor.hpp"
#include "agent/json/keyed_hash.hpp"
#include "config/text/enum_names.hpp"

namespace karmad {

namespace {

constexpr auto kStatuses =
    enum_names<AnswerBucket::Status>({{AnswerBucket::Status::unavailable, "unavailable"},
                                      {AnswerBucket::Status::available, "available"},
                                      {AnswerBucket::Status::selected, "selected"}});

void read_status(std::string_view value, AnswerBucket& bucket) {
  if (!is_string(value)) return;
  const auto status = kStatuses.find(without_quotes(value));
  if (!status) return;
  bucket.status = without_quotes(value);
  bucket.is = *status;
}

std::optional<AnswerBucket> read_bucket(std::string_view bytes) {
  AnswerBucket bucket{.bytes = bytes};
  JsonCursor json(bytes);
  JsonMembers members(json);
  while (const auto name = members.next()) {
    const auto value = take_value(json);
    if (!value) return std::nullopt;
    if (*name == "key") bucket.key = *value;
    if (*name == "from") bucket.from = *value;
    if (*name == "to") bucket.to = *value;
    if (*name == "doc_count") {
      const auto* const end = value->data() + value->size();
      const auto read = std::from_chars(value->data(), end, bucket.count);
      if (read.ec != std::errc{} || read.ptr != end) return std::nullopt;
      bucket.doc_count = *value;
    }
    if (*name == "status") read_status(*value, bucket);
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

/// A bucket and its key in comparable form.
struct Keyed {
  AnswerBucket bucket;
  BucketKey key;
};

std::strong_ordering compare_keys(const Keyed& a, const Keyed& b, KeyKind kind,
                                  Collation collation) {
  const auto order = sort_order(a.key, b.key, kind, collation);
  return order != 0 ? order : tie_order(a.key, b.key, kind);
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
  const auto kind = aggregation.key;
  std::vector<Keyed> sorted;
  sorted.reserve(list.size());
  for (const auto& bucket : list) sorted.push_back({bucket, bucket_key(bucket.key, kind)});
  // By key, then by spelling, so that the choice of the spelling shown is deterministic.
  std::ranges::sort(sorted, [&](const Keyed& a, const Keyed& b) {
    const auto order = compare_keys(a, b, kind, collation);
    return order != 0 ? order < 0 : a.bucket.key < b.bucket.key;
  });
  fold_equal(sorted, [&](const Keyed& a, const Keyed& b) {
    return compare_keys(a, b, kind, collation) == 0;
  });
  // Buckets with equal keys are now neighbours, and stay neighbours in either direction.
  std::ranges::stable_sort(sorted, [&](const Keyed& a, const Keyed& b) {
    for (const auto& order : aggregation.order) {
      const auto compared = order.by == BucketOrder::By::count
                                ? a.bucket.count <=> b.bucket.count
                                : sort_order(a.key, b.key, kind, collation);
      if (compared != 0) return (compared < 0) != order.descending;
    }
    return false;
  });
  list.clear();
  for (const auto& keyed : sorted) list.push_back(keyed.bucket);
  if (aggregation.size != 0 && list.size() > aggregation.size) list.resize(aggregation.size);
}

namespace {

/// Tells the ranges of a shard apart. Shards may leave out ranges without documents, so a position
/// alone does not.
class RangeNames {
 public:
  explicit RangeNames(const std::vector<AnswerBucket>& list) {
    std::unordered_map<std::string_view, std::size_t, KeyedHash> shard_of;
    for (const auto& bucket : list) {
      const auto [place, is_new] = shard_of.try_emplace(bucket.key, bucket.shard);
      if (!is_new && place->second == bucket.shard) repeated_.insert(bucket.key);
      place->second = bucket.shard;
    }
  }

  /// The name of the next bucket of the list. Bounds are compared only where keys do not suffice:
  /// those with `now` differ between shards.
  std::string next(const AnswerBucket& bucket) {
    std::string name(bucket.key);
    if (!repeated_.contains(bucket.key)) return name;
    name.append("\n").append(bucket.from).append("\n").append(bucket.to);
    if (bucket.shard != shard_) before_.clear();
    shard_ = bucket.shard;
    const auto position = before_[name]++;
    return name.append("\n").append(std::to_string(position));
  }

 private:
  std::unordered_set<std::string_view, KeyedHash> repeated_;
  std::unordered_map<std::string, std::size_t, KeyedHash> before_;  ///< of the shard, by name
  std::size_t shard_ = 0;
};

}  // namespace

void merge_in_order(std::vector<AnswerBucket>& list) {
  std::list<AnswerBucket> merged;
  std::unordered_map<std::string, std::list<AnswerBucket>::iterator, KeyedHash> known;
  RangeNames names(list);
  auto next = merged.begin();  // a new bucket is inserted after its predecessor
  for (const auto& bucket : list) {
    if (&bucket != list.data() && bucket.shard != (&bucket - 1)->shard) next = merged.begin();
    const auto [place, is_new] = known.try_emplace(names.next(bucket));
    if (is_new) {
      place->second = merged.insert(next, bucket);
    } else {
      place->second->add(bucket);
      next = std::next(place->second);
    }
  }
  list.assign(merged.begin(), merged.end());
}

namespace {

/// The bucket with the merged count and status in their places.
void append_bucket(std::string& out, const AnswerBucket& bucket) {
  const auto position = [&](std::string_view value) {
    return static_cast<std::size_t>(value.data() - bucket.bytes.data());
  };
  const bool status_first =
      !bucket.status.empty() && bucket.status.data() < bucket.doc_count.data();
  std::size_t copied = 0;
  const auto put_status = [&] {
    if (bucket.status.empty()) return;
    out += bucket.bytes.substr(copied, position(bucket.status) - copied);
    out += kStatuses[bucket.is];
    copied = position(bucket.status) + bucket.status.size();
  };
  if (status_first) put_status();
  out += bucket.bytes.substr(copied, position(bucket.doc_count) - copied);
  fmt::format_to(std::back_inserter(out), "{}", bucket.count);
  copied = position(bucket.doc_count) + bucket.doc_count.size();
  if (!status_first) put_status();
  out += bucket.bytes.substr(copied);
}

}  // namespace

void append_buckets(std::string& out, const AnswerBuckets& buckets) {
  out += buckets.keyed ? "\"buckets\":{" : "\"buckets\":[";
  for (const auto& bucket : buckets.list) {
    if (&bucket != buckets.list.data()) out += ',';
    if (buckets.keyed) out.append("\"").append(bucket.name).append("\":");
    append_bucket(out, bucket);
  }
  out += buckets.keyed ? '}' : ']';
}

}  // namespace karmad
