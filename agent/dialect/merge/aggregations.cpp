#include "agent/dialect/merge/merge_steps.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <list>
#include <map>
#include <numeric>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "agent/dialect/merge/merged_rows.hpp"
#include "agent/json/json_cursor.hpp"
#include "agent/json/json_line.hpp"
#include "agent/json/json_text.hpp"
#include "agent/json/keyed_hash.hpp"
#include "config/text/enum_names.hpp"
#include "config/text/number_in.hpp"

namespace karmad {

namespace {

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

constexpr auto kStatuses = enumerators<AnswerBucket::Status>();

std::optional<AnswerBucket> read_bucket(std::string_view bytes) {
  AnswerBucket bucket{.bytes = bytes};
  const bool whole = visit_members(bytes, [&](std::string_view name, std::string_view value) {
    if (name == "key") bucket.key = value;
    if (name == "from") bucket.from = value;
    if (name == "to") bucket.to = value;
    if (name == "status" && is_string(value)) {
      if (const auto status = kStatuses.find(without_quotes(value))) {
        bucket.status = without_quotes(value);
        bucket.is = *status;
      }
    }
    if (name != "doc_count") return true;
    bucket.doc_count = value;
    const auto count = number_in<std::uint64_t>(value);
    bucket.count = count.value_or(0);
    return count.has_value();
  });
  return whole && !bucket.doc_count.empty() ? std::optional(bucket) : std::nullopt;
}

/// Adds the buckets of a shard's answer, the bytes of `{"buckets":…}`; false when malformed.
bool read_buckets(std::string_view answer, std::size_t shard, AnswerBuckets& buckets) {
  const auto add = [&](std::string_view name, std::string_view value) {
    auto bucket = read_bucket(value);
    if (!bucket) return false;
    bucket->name = name;
    bucket->shard = shard;
    if (bucket->key.empty() && name.data() != nullptr)
      bucket->key = {name.data() - 1, name.size() + 2};
    if (!bucket->key.empty()) buckets.list.push_back(*bucket);
    return !bucket->key.empty();
  };
  return visit_members(answer, [&](std::string_view name, std::string_view value) {
    if (name != "buckets") return true;
    if (!is_array(value)) {
      buckets.keyed = true;
      return visit_members(value, add);
    }
    return visit_elements(value, [&](std::string_view bucket) { return add({}, bucket); });
  });
}

/// The number of a type in the order of groups that are equal in the order of the server. 5 and "5"
/// are one group there.
std::uint64_t type_order(std::string_view value) {
  if (is_string(value) || is_json_number(value)) return 4;
  if (is_object(value) || is_array(value)) return 3;
  return value.starts_with('t') ? 2 : value.starts_with('f') ? 1 : 0;
}

/// The keys of buckets in comparable form: a row of parts for each bucket, and one for the group
/// behind which a page begins.
class BucketKeys {
 public:
  BucketKeys(std::span<const CompositeSource> sources, std::vector<std::string_view> parts,
             Collation collation)
      : sources_(sources),
        parts_(std::move(parts)),
        order_(sources, collation, parts_.size() / sources.size()),
        ascending_(2 * sources.size()),
        ties_(ascending_, Collation::binary, parts_.size() / sources.size()) {
    for (std::size_t p = 0; p < parts_.size(); ++p) read(p / sources.size(), p % sources.size());
  }

  /// The order in which the server answers, by the first `sources`. Different groups of a JSON path
  /// can be equal in it: "Red" and "red" by a collation without case; null, true, false and ""
  /// always.
  std::strong_ordering sorted(std::size_t a, std::size_t b, std::size_t sources) const {
    return order_.compare(a, b, 0, sources);
  }
  /// The same by all sources, made strict: equal only for keys of one group.
  std::strong_ordering grouped(std::size_t a, std::size_t b) const {
    const auto order = order_.compare(a, b);
    return order != 0 ? order : ties_.compare(a, b);
  }
  /// Whether they are equal apart from the spelling of numbers.
  bool same_values(std::size_t a, std::size_t b) const {
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      const auto x = part(a, i);
      const auto y = part(b, i);
      const bool same =
          is_json_number(x) && is_json_number(y)
              ? compare(json_number(x), json_number(y)) == 0
              : order_.compare(a, b, i, i + 1) == 0 && ties_.compare(a, b, 2 * i, 2 * i + 2) == 0;
      if (!same) return false;
    }
    return true;
  }

 private:
  struct Ascending {
    static constexpr bool descending = false;
  };

  std::string_view part(std::size_t row, std::size_t source) const {
    return parts_[row * sources_.size() + source];
  }

  void read(std::size_t row, std::size_t source) {
    const auto value = part(row, source);
    auto& sorted = order_.row(row)[source];
    if (sources_[source].kind == KeyKind::attribute) {
      sorted = sort_value(value);
      return;
    }
    sorted = json_sort_value(value, order_.room(row, source));
    auto* const ties = ties_.row(row) + 2 * source;
    ties[0] = {.kind = SortValue::Kind::number, .number = {.magnitude = type_order(value)}};
    ties[1] = sorted;
    if (is_object(value) || is_array(value)) ties[1].text = value;
  }

  std::span<const CompositeSource> sources_;
  std::vector<std::string_view> parts_;  // row by row, one for each source
  SortTable<CompositeSource> order_;
  std::vector<Ascending> ascending_;
  SortTable<Ascending> ties_;  // of each value inside JSON the number of its type, and its text
};

/// The parts of all keys, and of `aggregation.after`; a missing part is empty.
std::vector<std::string_view> parts_of(const Aggregation& aggregation,
                                       const std::vector<AnswerBucket>& list) {
  const auto& sources = aggregation.sources;
  std::vector<std::string_view> parts;
  parts.reserve((list.size() + 1) * sources.size());
  for (const auto& bucket : list) {
    if (aggregation.merging != Merging::composite) {
      parts.push_back(bucket.key);
      continue;
    }
    const auto begin = parts.size();
    parts.resize(begin + sources.size());
    visit_members(bucket.key, [&](std::string_view name, std::string_view value) {
      for (std::size_t i = 0; i < sources.size(); ++i)
        if (json_says(name, sources[i].name)) parts[begin + i] = value;
    });
  }
  parts.insert(parts.end(), aggregation.after.begin(), aggregation.after.end());
  return parts;
}

/// Leaves the groups of a page out that are before `aggregation.after`, and those that may be
/// incomplete. A shard that returned as many groups as requested may have more. Its groups before
/// the last one are complete, so the page ends before the smallest of these last groups. Groups
/// that are equal to that one in the server's order also go to the next page, because the shard may
/// have more of them.
///
/// Returns the shard that may have more groups and did not answer in the requested order: it is
/// then unknown which groups are complete.
std::optional<std::size_t> cut_to_page(const Aggregation& aggregation, const BucketKeys& keys,
                                       const std::vector<AnswerBucket>& list,
                                       std::vector<std::uint32_t>& rows) {
  std::optional<std::size_t> end;
  const auto sorted = [&](std::size_t a, std::size_t b) {
    return keys.sorted(a, b, aggregation.sorted_by);
  };
  for (std::size_t begin = 0, next = 0; begin < list.size(); begin = next) {
    const auto shard = list[begin].shard;
    bool ordered = true;
    for (next = begin + 1; next < list.size() && list[next].shard == shard; ++next)
      ordered = ordered && sorted(next - 1, next) <= 0;
    if (next - begin < aggregation.asked) continue;
    if (!ordered) return shard;
    if (!end || sorted(next - 1, *end) < 0) end = next - 1;
  }
  if (end) std::erase_if(rows, [&](std::size_t row) { return sorted(row, *end) >= 0; });
  if (aggregation.after.empty()) return std::nullopt;
  // Many JSON libraries change 10.000000 to 10, which is another group of a JSON path, at another
  // position.
  std::optional<std::size_t> meant;
  for (std::size_t row = 0; row < list.size(); ++row) {
    if (keys.grouped(row, list.size()) == 0) {
      meant = row;
      break;
    }
    if (!meant && keys.same_values(row, list.size())) meant = row;
  }
  const auto after = meant.value_or(list.size());
  std::erase_if(rows, [&](std::size_t row) { return keys.grouped(row, after) <= 0; });
  return std::nullopt;
}

/// Merges buckets with equal keys, then sorts and limits them as `aggregation` says. Spellings that
/// the collation treats as equal have one key; the first in byte order is shown. Returns a shard as
/// cut_to_page().
std::optional<std::size_t> merge_by_key(const Aggregation& aggregation, Collation collation,
                                        std::vector<AnswerBucket>& list) {
  const BucketKeys keys(aggregation.sources, parts_of(aggregation, list), collation);
  std::vector<std::uint32_t> rows(list.size());
  std::iota(rows.begin(), rows.end(), 0U);
  if (aggregation.merging == Merging::composite)
    if (const auto shard = cut_to_page(aggregation, keys, list, rows)) return shard;
  // By key, then by spelling, so that the choice of the spelling shown is deterministic.
  std::ranges::sort(rows, [&](auto a, auto b) {
    const auto order = keys.grouped(a, b);
    return order != 0 ? order < 0 : list[a].key < list[b].key;
  });
  std::optional<std::uint32_t> kept;  // the first row of the present group
  std::erase_if(rows, [&](auto row) {
    const bool same = kept && keys.grouped(*kept, row) == 0;
    if (same)
      list[*kept].add(list[row]);
    else
      kept = row;
    return same;
  });
  // Buckets with equal keys are now neighbours, and stay neighbours in either direction.
  std::ranges::stable_sort(rows, [&](auto a, auto b) {
    for (const auto& order : aggregation.order) {
      const auto compared = order.by == BucketOrder::By::count ? list[a].count <=> list[b].count
                                                               : keys.sorted(a, b, 1);
      if (compared != 0) return (compared < 0) != order.descending;
    }
    return false;
  });
  rows.erase(rows.begin(),
             rows.begin() + static_cast<std::ptrdiff_t>(std::min(aggregation.skip, rows.size())));
  if (aggregation.size != 0 && rows.size() > aggregation.size) rows.resize(aggregation.size);
  std::vector<AnswerBucket> page;
  page.reserve(rows.size());
  for (const auto row : rows) page.push_back(list[row]);
  list = std::move(page);
  return std::nullopt;
}

/// Merges the buckets of ranges, which all shards return in one order; that order is kept. Shards
/// may leave out ranges without documents, so a position alone does not tell ranges apart. Several
/// may have one key: they are told apart by their bounds, and equal ones by their position.
void merge_in_order(std::vector<AnswerBucket>& list) {
  // Bounds are compared only where keys do not suffice: those with `now` differ between shards.
  std::unordered_set<std::string_view, KeyedHash> repeated;
  std::unordered_map<std::string_view, std::size_t, KeyedHash> shard_of;
  for (const auto& bucket : list) {
    const auto [place, is_new] = shard_of.try_emplace(bucket.key, bucket.shard);
    if (!is_new && std::exchange(place->second, bucket.shard) == bucket.shard)
      repeated.insert(bucket.key);
  }
  std::list<AnswerBucket> merged;
  std::unordered_map<std::string, std::list<AnswerBucket>::iterator, KeyedHash> known;
  std::unordered_map<std::string, std::size_t, KeyedHash> before;  // of the shard, by bounds
  auto next = merged.begin();  // a new bucket is inserted after its predecessor
  for (const auto& bucket : list) {
    if (&bucket != list.data() && bucket.shard != (&bucket - 1)->shard) {
      next = merged.begin();
      before.clear();
    }
    std::string name(bucket.key);
    if (repeated.contains(bucket.key)) {
      name += fmt::format("\n{}\n{}", bucket.from, bucket.to);
      const auto position = before[name]++;
      name += fmt::format("\n{}", position);
    }
    const auto [place, is_new] = known.try_emplace(std::move(name));
    if (is_new) {
      place->second = merged.insert(next, bucket);
    } else {
      place->second->add(bucket);
      next = std::next(place->second);
    }
  }
  list.assign(merged.begin(), merged.end());
}

/// Whether two bounds are the same number or text; answers have numbers as texts.
bool same_bound(std::string_view a, std::string_view b) {
  if (is_string(a)) a = without_quotes(a);
  if (is_string(b)) b = without_quotes(b);
  if (is_json_number(a) && is_json_number(b)) return compare(json_number(a), json_number(b)) == 0;
  return a == b;
}

/// Orders merged ranges as the request has them: where shards leave out those without documents, no
/// reply may show the order of two. Unchanged if a bucket is none of them (dates with `now`).
void order_as_requested(std::vector<AnswerBucket>& list, const std::vector<RangeBounds>& ranges) {
  const auto place_of = [&](const AnswerBucket& bucket) {
    return std::ranges::find_if(ranges, [&](const RangeBounds& range) {
      return same_bound(bucket.from, range.from) && same_bound(bucket.to, range.to);
    });
  };
  if (std::ranges::all_of(list, [&](const auto& each) { return place_of(each) != ranges.end(); }))
    std::ranges::stable_sort(list, {}, place_of);
}

/// Appends the merged buckets in the form of the replies, array or object, with the merged counts
/// and statuses in their places.
void append_buckets(std::string& out, const AnswerBuckets& buckets) {
  out += buckets.keyed ? "\"buckets\":{" : "\"buckets\":[";
  for (const auto& bucket : buckets.list) {
    if (&bucket != buckets.list.data()) out += ',';
    if (buckets.keyed) out.append("\"").append(bucket.name).append("\":");
    const auto count = fmt::to_string(bucket.count);
    std::array parts{Replaced{bucket.doc_count, count},
                     Replaced{bucket.status, kStatuses[bucket.is]}};
    append_replaced(out, bucket.bytes, std::span(parts).first(bucket.status.empty() ? 1 : 2));
  }
  out += buckets.keyed ? '}' : ']';
}

/// Numbers with how often each occurs, ascending: a Measure of them costs no more than one walk.
class CountedValues {
 public:
  struct Value {
    double number = 0;
    std::uint64_t up_to = 0;  ///< how often it occurs; once counted, with the smaller ones
  };

  explicit CountedValues(std::vector<Value> values) : values_(std::move(values)) {
    std::ranges::sort(values_, {}, &Value::number);
    std::uint64_t before = 0;
    for (auto& value : values_) before = value.up_to += before;
  }

  /// The value at that percentage of all, as search servers compute it: each value has the same
  /// share, values between two shares are interpolated, and the first and the last value lie at
  /// their outer ends. NaN without values.
  double percentile(double percent) const {
    if (values_.empty()) return std::nan("");
    const auto count = static_cast<double>(total());
    const auto at = percent / 100 * count;
    const auto inner = std::min(at, count - at);
    const auto from_end = inner < 1 ? inner / 2 : inner - 0.5;
    const auto place = std::clamp(at < count / 2 ? from_end : count - 1 - from_end, 0.0, count - 1);
    const auto below = static_cast<std::uint64_t>(place);
    const auto share = place - static_cast<double>(below);
    const auto lower = at_place(below);
    return share == 0 ? lower : lower * (1 - share) + at_place(below + 1) * share;
  }

  /// The percentage of values that are at most `number`.
  double rank(double number) const {
    if (values_.empty()) return std::nan("");
    const auto after = std::ranges::upper_bound(values_, number, {}, &Value::number);
    const auto up_to = after == values_.begin() ? 0 : std::prev(after)->up_to;
    return static_cast<double>(up_to) / static_cast<double>(total()) * 100;
  }

  /// The median of the distances from the median.
  double deviation() const {
    const auto median = percentile(50);
    auto distances = values_;
    std::uint64_t before = 0;
    for (auto& value : distances)
      value = {std::abs(value.number - median), value.up_to - std::exchange(before, value.up_to)};
    return CountedValues(std::move(distances)).percentile(50);
  }

 private:
  std::uint64_t total() const { return values_.back().up_to; }
  double at_place(std::uint64_t place) const {
    return std::ranges::upper_bound(values_, place, {}, &Value::up_to)->number;
  }

  std::vector<Value> values_;
};

/// As the search server writes such a number; one that JSON does not have is `null`.
std::string text_of_number(double number) {
  return std::isfinite(number) ? fmt::format("{:.15g}", number) : "null";
}

/// The members `value` and `value_as_string`.
void append_value(std::string& out, double number) {
  const auto text = text_of_number(number);
  const auto* const quote = text == "null" ? "" : "\"";
  fmt::format_to(std::back_inserter(out), R"("value":{0},"value_as_string":{1}{0}{1})", text,
                 quote);
}

/// The member `values`: `of(number)` for each number of the measure.
template <class Of>
void append_values(std::string& out, const Measure& measure, Of of) {
  out += measure.keyed ? "\"values\":{" : "\"values\":[";
  bool first = true;
  for (const auto number : measure.at) {
    if (!std::exchange(first, false)) out += ',';
    if (measure.keyed) {
      fmt::format_to(std::back_inserter(out), R"("{:.12g}":{})", number,
                     text_of_number(of(number)));
      continue;
    }
    fmt::format_to(std::back_inserter(out), R"({{"key":{:.12g},)", number);
    append_value(out, of(number));
    out += '}';
  }
  out += measure.keyed ? '}' : ']';
}

/// The number of different keys, as the server groups them.
std::size_t distinct_keys(const std::vector<AnswerBucket>& list, KeyKind kind,
                          Collation collation) {
  std::unordered_set<std::string, KeyedHash> keys;
  RowKeyText key(collation);
  SortText room;
  for (const auto& bucket : list) {
    key.clear();
    if (kind == KeyKind::json_path && is_json_number(bucket.key))
      key.add(fmt::format(R"("{}")", json_sort_value(bucket.key, room).text), kind);
    else
      key.add(bucket.key, kind);
    keys.emplace(key.text());
  }
  return keys.size();
}

/// Appends the measure of the values in all shards. False: it is one of numbers, and a value is
/// none.
bool append_measure(std::string& out, const Aggregation& aggregation, Collation collation,
                    std::vector<AnswerBucket>& list) {
  using Is = Measure::Is;
  const auto& measure = aggregation.measure;
  std::erase_if(list, [](const auto& each) { return each.count == 0 || each.key == "null"; });
  if (measure.is == Is::distinct) {
    const auto count = distinct_keys(list, aggregation.sources.front().kind, collation);
    out.append("\"value\":").append(fmt::to_string(count));
    return true;
  }
  std::vector<CountedValues::Value> numbers;
  numbers.reserve(list.size());
  for (const auto& bucket : list) {
    if (!is_json_number(bucket.key)) return false;
    numbers.push_back({static_cast<double>(as_real(json_number(bucket.key))), bucket.count});
  }
  const CountedValues values(std::move(numbers));
  if (measure.is == Is::deviation)
    append_value(out, values.deviation());
  else if (measure.is == Is::percentiles)
    append_values(out, measure, [&](double percent) { return values.percentile(percent); });
  else
    append_values(out, measure, [&](double number) { return values.rank(number); });
  return true;
}

/// The members of an object by name; of equal names the last. Searching the object once per
/// aggregation would take quadratic time.
using Members = std::map<std::string, std::string_view, std::less<>>;

/// Nothing if the object is malformed.
std::optional<Members> members_of(std::string_view object) {
  Members found;
  const bool whole = visit_members(object, [&](std::string_view key, std::string_view value) {
    found.insert_or_assign(json_unescaped(key), value);
  });
  return whole ? std::optional(std::move(found)) : std::nullopt;
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
    auto bad = aggregation.merging == Merging::metric ? metric(aggregation) : buckets(aggregation);
    out_ += '}';
    return bad;
  }

 private:
  static BadReply malformed(std::size_t shard, const Aggregation& aggregation) {
    return {shard, fmt::format("aggregation \"{}\" is malformed", aggregation.name)};
  }

  static BadReply has_no_answer(std::size_t shard, const Aggregation& aggregation,
                                std::string_view why) {
    return {shard, fmt::format("aggregation \"{}\": {}", aggregation.name, why), 400};
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

  /// The server divides by the number of documents found, and a document without the value counts
  /// as 0: so a mean is weighted by that number. A sum would overflow or be rounded to a float.
  std::optional<BadReply> metric(const Aggregation& aggregation) {
    std::vector<Measured> shards;
    std::string_view first;  // of no documents, if no shard has any
    for (std::size_t s = 0; s < heads_.size(); ++s) {
      if (!answered(s)) continue;
      const auto found = answer(s, aggregation.name);
      Measured shard{.documents = heads_[s].total};
      if (!found || !visit_members(*found, [&](std::string_view key, std::string_view value) {
            if (json_says(key, "value")) shard.value = value;
          }))
        return malformed(s, aggregation);
      if (first.empty()) first = shard.value;
      if (is_json_number(shard.value)) shards.push_back(shard);
    }
    auto value = folded(aggregation.fold, shards, collation_);
    if (value.empty() && !first.empty()) value = is_json_number(first) ? first : "null";
    if (!value.empty()) out_.append("\"value\":").append(value);
    return std::nullopt;
  }

  std::optional<BadReply> buckets(const Aggregation& aggregation) {
    AnswerBuckets all;
    for (std::size_t s = 0; s < heads_.size(); ++s) {
      if (!answered(s)) continue;
      const auto before = all.list.size();
      const auto found = answer(s, aggregation.name);
      if (!found || !read_buckets(*found, s, all)) return malformed(s, aggregation);
      const auto got = all.list.size() - before;
      if (aggregation.merging == Merging::ranges && got > aggregation.size)
        return malformed(s, aggregation);
      if (aggregation.merging == Merging::values && got >= aggregation.asked)
        return has_no_answer(
            s, aggregation,
            fmt::format("a shard has {0} values of the field or more, and the measure is computed "
                        "of fewer than {0} of each shard; narrow the search, or ask for a "
                        "\"histogram\" of the field, whose buckets are merged exactly",
                        aggregation.asked));
    }
    if (aggregation.merging == Merging::values) {
      if (append_measure(out_, aggregation, collation_, all.list)) return std::nullopt;
      return has_no_answer(0, aggregation, "its field has values that are no numbers");
    }
    if (aggregation.merging == Merging::ranges) {
      merge_in_order(all.list);
      order_as_requested(all.list, aggregation.ranges);
    } else if (const auto shard = merge_by_key(aggregation, collation_, all.list)) {
      return BadReply{*shard,
                      fmt::format("the groups of aggregation \"{}\" are not in the requested order",
                                  aggregation.name)};
    }
    if (aggregation.merging == Merging::composite && !all.list.empty())
      out_.append("\"after_key\":").append(all.list.back().key).append(",");
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
