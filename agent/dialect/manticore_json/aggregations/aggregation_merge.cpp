#include "agent/dialect/manticore_json/aggregations/aggregation_merge.hpp"

#include <fmt/format.h>

#include <functional>
#include <map>
#include <vector>

#include "agent/dialect/manticore_json/aggregations/buckets.hpp"
#include "agent/dialect/manticore_json/aggregations/composite_merge.hpp"
#include "agent/dialect/manticore_json/aggregations/metrics_merge.hpp"
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

}  // namespace karmad
