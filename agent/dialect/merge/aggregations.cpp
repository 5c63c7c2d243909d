#include "agent/dialect/merge/aggregations.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "agent/dialect/merge/buckets.hpp"
#include "agent/dialect/merge/metrics.hpp"
#include "agent/json/fold_equal.hpp"
#include "agent/json/json_cursor.hpp"
#include "agent/json/json_line.hpp"
#include "agent/json/json_text.hpp"

namespace karmad {

namespace {

/// The member `name` of an object; empty if it has none. Nothing if the object is malformed.
std::optional<std::string_view> aggregate_member(std::string_view object, std::string_view name) {
  std::string_view found;
  const bool whole = visit_members(object, [&](std::string_view key, std::string_view value) {
    if (json_says(key, name)) found = value;
    return true;
  });
  return whole ? std::optional(found) : std::nullopt;
}

/// The members of an object by name; of equal names the last. Searching the object once per
/// aggregation would take quadratic time.
using Members = std::map<std::string, std::string_view, std::less<>>;

/// Nothing if the object is malformed.
std::optional<Members> members_of(std::string_view object) {
  Members found;
  const bool whole = visit_members(object, [&](std::string_view key, std::string_view value) {
    found.insert_or_assign(json_unescaped(key), value);
    return true;
  });
  return whole ? std::optional(std::move(found)) : std::nullopt;
}

bool is_metric(Merging merging) {
  return merging == Merging::smallest || merging == Merging::largest || merging == Merging::sum ||
         merging == Merging::mean;
}

/// Merges the shards' replies, one aggregation after the other.
class Merger {
 public:
  Merger(std::span<const ReplyHead> heads, Collation collation, std::string& out)
      : heads_(heads), collation_(collation), out_(out), answers_(heads.size()) {
    for (std::size_t s = 0; s < heads.size(); ++s) answers_[s] = members_of(heads[s].aggregations);
  }

  std::optional<BadReply> merge(const Aggregation& aggregation) {
    JsonLine(out_).add_quoted(aggregation.name);
    out_ += ":{";
    auto bad = is_metric(aggregation.merging) ? metric(aggregation) : buckets(aggregation);
    out_ += '}';
    return bad;
  }

 private:
  static BadReply malformed(std::size_t shard, const Aggregation& aggregation) {
    return {shard, fmt::format("aggregation \"{}\" is malformed", aggregation.name)};
  }

  bool answered(std::size_t shard) const { return heads_[shard].hits.at != nullptr; }

  /// A shard's result for the aggregation `name`.
  std::optional<std::string_view> answer(std::size_t shard, std::string_view name) const {
    const auto& answers = answers_[shard];
    if (!answers) return std::nullopt;
    const auto found = answers->find(name);
    if (found == answers->end() || !is_object(found->second)) return std::nullopt;
    return found->second;
  }

  std::optional<BadReply> metric(const Aggregation& aggregation) {
    std::vector<Measured> shards;
    for (std::size_t s = 0; s < heads_.size(); ++s) {
      if (!answered(s)) continue;
      Measured measured{.documents = heads_[s].total};
      if (!value_in(s, aggregation.name, measured.value)) return malformed(s, aggregation);
      shards.push_back(measured);
    }
    const auto value = merge_metric(aggregation.merging, shards);
    if (!value.empty()) out_.append("\"value\":").append(value);
    return std::nullopt;
  }

  bool value_in(std::size_t shard, std::string_view name, std::string_view& value) const {
    const auto found = answer(shard, name);
    const auto inner = found ? aggregate_member(*found, "value") : std::nullopt;
    if (!inner) return false;
    value = *inner;
    return true;
  }

  std::optional<BadReply> buckets(const Aggregation& aggregation) {
    AnswerBuckets all;
    for (std::size_t s = 0; s < heads_.size(); ++s) {
      if (!answered(s)) continue;
      const auto before = all.list.size();
      const auto found = answer(s, aggregation.name);
      if (!found || !read_buckets(*found, s, all)) return malformed(s, aggregation);
      if (aggregation.merging == Merging::ranges && all.list.size() - before > aggregation.size)
        return malformed(s, aggregation);
    }
    switch (aggregation.merging) {
      case Merging::ranges:
        merge_in_order(all.list);
        break;
      case Merging::composite:
        if (const auto shard = merge_composite(aggregation, collation_, all.list))
          return BadReply{
              *shard, fmt::format("the groups of aggregation \"{}\" are not in the requested order",
                                  aggregation.name)};
        if (!all.list.empty()) {
          out_ += "\"after_key\":";
          out_ += all.list.back().key;
          out_ += ',';
        }
        break;
      default:
        merge_by_key(aggregation, collation_, all.list);
    }
    append_buckets(out_, all);
    return std::nullopt;
  }

  std::span<const ReplyHead> heads_;
  Collation collation_;
  std::string& out_;
  std::vector<std::optional<Members>> answers_;  ///< by shard; none: malformed
};

}  // namespace

std::optional<BadReply> merge_aggregations(const AggregationPlan& plan,
                                           std::span<const ReplyHead> heads, Collation collation,
                                           std::string& out) {
  out += ",\"aggregations\":{";
  Merger merger(heads, collation, out);
  for (const auto& aggregation : plan.wanted) {
    if (&aggregation != plan.wanted.data()) out += ',';
    if (auto bad = merger.merge(aggregation)) return bad;
  }
  out += '}';
  return std::nullopt;
}

namespace {

/// The values of a group, in the order of the sources.
using Tuple = std::vector<BucketKey>;

struct CompositeBucket {
  AnswerBucket bucket;
  Tuple key;
};

bool is_number(const BucketKey& key) {
  const char first = key.bytes.empty() ? 'n' : key.bytes.front();
  return first == '-' || (first >= '0' && first <= '9');
}

class TupleOrder {
 public:
  TupleOrder(const Aggregation& aggregation, Collation collation)
      : sources_(aggregation.sources), sorted_by_(aggregation.sorted_by), collation_(collation) {}

  /// The order of the shards' replies.
  std::strong_ordering sorted(const Tuple& a, const Tuple& b) const {
    return compare_sources(a, b, sorted_by_);
  }

  /// The same order, made strict: equal only for the same group, so that equal groups are
  /// neighbours.
  std::strong_ordering grouped(const Tuple& a, const Tuple& b) const {
    if (const auto order = compare_sources(a, b, sources_.size()); order != 0) return order;
    for (std::size_t i = 0; i < sources_.size(); ++i)
      if (const auto order = tie_order(a[i], b[i], sources_[i].kind); order != 0) return order;
    return std::strong_ordering::equal;
  }

  /// Whether they are equal apart from the spelling of numbers.
  bool same_values(const Tuple& a, const Tuple& b) const {
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      const auto kind = sources_[i].kind;
      const bool same =
          is_number(a[i]) && is_number(b[i])
              ? compare(json_number(a[i].bytes), json_number(b[i].bytes)) == 0
              : sort_order(a[i], b[i], kind, collation_) == 0 && tie_order(a[i], b[i], kind) == 0;
      if (!same) return false;
    }
    return true;
  }

 private:
  std::strong_ordering compare_sources(const Tuple& a, const Tuple& b, std::size_t count) const {
    for (std::size_t i = 0; i < count; ++i) {
      const auto order = sort_order(a[i], b[i], sources_[i].kind, collation_);
      if (order != 0) return sources_[i].descending ? 0 <=> order : order;
    }
    return std::strong_ordering::equal;
  }

  const std::vector<CompositeSource>& sources_;
  std::size_t sorted_by_;
  Collation collation_;
};

/// The values in the key of a bucket; a missing source gives an empty value.
Tuple tuple_of(std::string_view key, const std::vector<CompositeSource>& sources) {
  std::vector<std::string_view> values(sources.size());
  JsonCursor json(key);
  JsonMembers members(json);
  while (const auto name = members.next()) {
    const auto value = take_value(json);
    if (!value) break;
    const bool escaped = name->find('\\') != name->npos;
    for (std::size_t i = 0; i < sources.size(); ++i)
      if (escaped ? json_unescaped(*name) == sources[i].name : *name == sources[i].name)
        values[i] = *value;
  }
  Tuple tuple;
  tuple.reserve(sources.size());
  for (std::size_t i = 0; i < sources.size(); ++i)
    tuple.push_back(bucket_key(values[i], sources[i].kind));
  return tuple;
}

Tuple tuple_of(const std::vector<std::string>& after, const std::vector<CompositeSource>& sources) {
  Tuple tuple;
  tuple.reserve(after.size());
  for (std::size_t i = 0; i < after.size(); ++i)
    tuple.push_back(bucket_key(after[i], sources[i].kind));
  return tuple;
}

/// The end of the complete groups: the smallest of the last groups of shards that may have more.
/// Null: all are complete.
struct Cut {
  const Tuple* at = nullptr;
  std::optional<std::size_t> out_of_order;  ///< a shard
};

Cut find_cut(std::span<const CompositeBucket> groups, std::size_t asked, const TupleOrder& order) {
  Cut cut;
  for (std::size_t begin = 0; begin < groups.size();) {
    const auto shard = groups[begin].bucket.shard;
    auto end = begin + 1;
    bool ordered = true;
    for (; end < groups.size() && groups[end].bucket.shard == shard; ++end)
      ordered = ordered && order.sorted(groups[end - 1].key, groups[end].key) <= 0;
    if (end - begin >= asked) {
      if (!ordered) return {nullptr, shard};
      const auto& last = groups[end - 1].key;
      if (cut.at == nullptr || order.sorted(last, *cut.at) < 0) cut.at = &last;
    }
    begin = end;
  }
  return cut;
}

/// The group that `after` means. Many JSON libraries change 10.000000 to 10, which is another group
/// of a JSON path, at another position.
Tuple group_meant(const Tuple& after, std::span<const CompositeBucket> groups,
                  const TupleOrder& order) {
  const Tuple* similar = nullptr;
  for (const auto& group : groups) {
    if (after.empty() || order.grouped(group.key, after) == 0) return after;
    if (similar == nullptr && order.same_values(group.key, after)) similar = &group.key;
  }
  return similar == nullptr ? after : *similar;
}

}  // namespace

std::optional<std::size_t> merge_composite(const Aggregation& aggregation, Collation collation,
                                           std::vector<AnswerBucket>& list) {
  const auto& sources = aggregation.sources;
  const TupleOrder order(aggregation, collation);
  std::vector<CompositeBucket> groups;
  groups.reserve(list.size());
  for (const auto& bucket : list) groups.push_back({bucket, tuple_of(bucket.key, sources)});
  const auto cut = find_cut(groups, aggregation.asked, order);
  if (cut.out_of_order) return cut.out_of_order;

  const auto named = tuple_of(aggregation.after, sources);
  const auto after = group_meant(named, groups, order);
  std::vector<CompositeBucket> page;
  for (auto& group : groups)
    if ((cut.at == nullptr || order.sorted(group.key, *cut.at) < 0) &&
        (after.empty() || order.grouped(group.key, after) > 0))
      page.push_back(std::move(group));
  // By key, then by spelling, so that the choice of the spelling shown is deterministic.
  std::ranges::sort(page, [&](const CompositeBucket& a, const CompositeBucket& b) {
    const auto compared = order.grouped(a.key, b.key);
    return compared != 0 ? compared < 0 : a.bucket.key < b.bucket.key;
  });
  fold_equal(page, [&](const CompositeBucket& a, const CompositeBucket& b) {
    return order.grouped(a.key, b.key) == 0;
  });
  if (page.size() > aggregation.size) page.resize(aggregation.size);
  list.clear();
  for (const auto& group : page) list.push_back(group.bucket);
  return std::nullopt;
}

}  // namespace karmad
