#include "demo/engine/aggregate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "demo/data/dice.hpp"
#include "demo/data/text.hpp"
#include "demo/language/dates.hpp"

namespace karmad {

namespace {

using Kind = Aggregation::Kind;
using Found = std::span<const std::uint32_t>;
using Key = std::vector<Literal>;

struct KeyOrder {
  std::span<const Grouping> groupings;
  bool operator()(const Key& a, const Key& b) const {
    for (std::size_t i = 0; i < a.size(); ++i) {
      const auto order = group_order(groupings[i].column, view(a[i]), view(b[i]));
      if (order != 0) return order < 0;
    }
    return false;
  }
};

struct Bucket {
  Key key;
  std::size_t count = 0;
  std::uint64_t place = 0;  ///< of a composite: position in this part's order
};

double number(const Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return std::nan("");
}

Literal bucket_key(const Grouping& grouping, const Value& value) {
  if (grouping.kind == Grouping::Kind::terms) return to_literal(value);
  const auto x = number(value);
  if (std::isnan(x)) return {};
  if (grouping.calendar != Calendar::none)
    return start_of(grouping.calendar, static_cast<std::int64_t>(x));
  const auto key =
      std::floor((x - grouping.offset) / grouping.interval) * grouping.interval + grouping.offset;
  if (grouping.kind == Grouping::Kind::date_histogram) return static_cast<std::int64_t>(key);
  // Numbers of 32 bits without a sign.
  if (grouping.whole)
    return std::abs(key) < 0x1p31
               ? std::int64_t{static_cast<std::uint32_t>(static_cast<std::int64_t>(key))}
               : std::int64_t{0x8000'0000};
  return key;
}

/// The keys of a document: one for each combination of its values.
std::vector<Key> keys_of(const Document& document, std::span<const Grouping> groupings) {
  std::vector<Key> out(1);
  for (const auto& grouping : groupings) {
    std::vector<Key> longer;
    auto values = values_of(document, grouping.column);
    const bool of_composite = !grouping.name.empty();
    const bool nothing = values.empty() && !of_composite && grouping.column.type == Type::json &&
                         grouping.kind == Grouping::Kind::terms;
    if (nothing) values.emplace_back();
    for (const auto& value : values) {
      auto part = bucket_key(grouping, value);
      if (part.index() == 0 && !nothing) continue;
      for (const auto& key : out) longer.push_back(key), longer.back().push_back(part);
    }
    out = std::move(longer);
  }
  return out;
}

/// Spellings that are equal in the collation share a bucket, which shows the first in byte order
/// (the search server shows the first that it meets).
std::vector<Bucket> group(const Index& index, Found found, std::span<const Grouping> groupings) {
  std::map<Key, Bucket, KeyOrder> buckets(KeyOrder{groupings});
  for (const auto position : found) {
    for (auto& key : keys_of(index.documents()[position], groupings)) {
      auto& bucket = buckets[key];
      if (bucket.count++ == 0 || key < bucket.key) bucket.key = key;
    }
  }
  std::vector<Bucket> out;
  for (auto& [key, bucket] : buckets) out.push_back(std::move(bucket));
  return out;
}

void append_count(std::string& out, std::size_t count) {
  fmt::format_to(std::back_inserter(out), "\"doc_count\":{}}}", count);
}

void append_buckets(std::string& out, const std::vector<Bucket>& buckets, bool dates, bool keyed) {
  out += keyed ? "{\"buckets\":{" : "{\"buckets\":[";
  for (const auto& bucket : buckets) {
    if (&bucket != buckets.data()) out += ',';
    std::string key;
    append_json(key, view(bucket.key[0]));
    const auto* seconds = std::get_if<std::int64_t>(&bucket.key[0]);
    const auto text =
        dates && seconds != nullptr ? json_string(date_text(*seconds)) : std::string{};
    if (keyed) out += (!text.empty() ? text : key[0] == '"' ? key : json_string(key)) + ":";
    out += "{\"key\":" + key + ",";
    if (!text.empty()) out += "\"key_as_string\":" + text + ",";
    append_count(out, bucket.count);
  }
  out += keyed ? "}}" : "]}";
}

/// The keys of a histogram are numbers for every type of values.
int key_order(const Grouping& grouping, const Literal& a, const Literal& b) {
  if (grouping.kind != Grouping::Kind::terms) return compare(view(a), view(b));
  return sort_order(grouping.column, view(a), view(b));
}

void sort_buckets(std::vector<Bucket>& buckets, const std::vector<BucketOrder>& orders,
                  std::span<const Grouping> groupings) {
  std::stable_sort(buckets.begin(), buckets.end(), [&](const Bucket& a, const Bucket& b) {
    for (const auto& order : orders) {
      int difference = 0;
      if (order.by_count) {
        difference = a.count == b.count ? 0 : a.count < b.count ? -1 : 1;
      } else {
        difference = key_order(groupings[order.source], a.key[order.source], b.key[order.source]);
      }
      if (difference != 0) return order.descending ? difference > 0 : difference < 0;
    }
    return false;
  });
}

void terms(std::string& out, const Aggregation& aggregation, const Index& index, Found found) {
  const std::span<const Grouping> groupings(&aggregation.grouping, 1);
  auto buckets = group(index, found, groupings);
  const bool is_terms = aggregation.kind == Kind::terms;
  auto order = aggregation.order;
  if (order.empty() && is_terms) order.push_back({.by_count = true, .descending = true});
  order.push_back({});  // then by key
  sort_buckets(buckets, order, groupings);
  if (is_terms) {
    const auto skipped = std::min(aggregation.skip, buckets.size());
    buckets.erase(buckets.begin(), buckets.begin() + static_cast<std::ptrdiff_t>(skipped));
    buckets.resize(std::min(buckets.size(), *aggregation.size));
  }
  const bool dates = aggregation.kind == Kind::date_histogram;
  append_buckets(out, buckets, dates, aggregation.keyed && !is_terms);
}

void append_composite_key(std::string& out, const Key& key, const std::vector<Grouping>& sources) {
  out += '{';
  for (std::size_t i = 0; i < key.size(); ++i) {
    if (i > 0) out += ',';
    append_quoted(out, sources[i].name);
    out += ':';
    append_json(out, view(key[i]));
  }
  out += '}';
}

/// The position of a key in an order that differs between parts of the catalogue.
std::uint64_t place_of(const Key& key, std::uint64_t salt) {
  auto hash = salt;
  for (const auto& part : key) {
    std::string text;
    append_json(text, view(part));
    for (const char c : text) hash = Dice{hash + static_cast<unsigned char>(c)}.next();
  }
  return hash;
}

/// Sorts the groups in the requested order; ties in the order of this part.
std::vector<Bucket> ordered_groups(const Aggregation& aggregation, const Index& index,
                                   Found found) {
  auto buckets = group(index, found, aggregation.sources);
  for (auto& bucket : buckets) bucket.place = place_of(bucket.key, index.salt());
  std::sort(buckets.begin(), buckets.end(),
            [](const Bucket& a, const Bucket& b) { return a.place < b.place; });
  sort_buckets(buckets, aggregation.order, aggregation.sources);
  if (buckets.size() > aggregation.most_groups) buckets.resize(aggregation.most_groups);
  return buckets;
}

/// As in the search server, the page begins after the group `after`; without such a group, with the
/// first one.
void composite(std::string& out, const Aggregation& aggregation, const Index& index, Found found) {
  const auto& sources = aggregation.sources;
  auto buckets = ordered_groups(aggregation, index, found);
  const KeyOrder before{sources};
  const auto last_page = std::find_if(buckets.begin(), buckets.end(), [&](const Bucket& bucket) {
    return !aggregation.after.empty() && !before(bucket.key, aggregation.after) &&
           !before(aggregation.after, bucket.key);
  });
  if (last_page != buckets.end()) buckets.erase(buckets.begin(), last_page + 1);
  if (buckets.size() > *aggregation.size) buckets.resize(*aggregation.size);

  out += '{';
  if (!buckets.empty()) {
    out += "\"after_key\":";
    append_composite_key(out, buckets.back().key, sources);
    out += ',';
  }
  out += "\"buckets\":[";
  for (const auto& bucket : buckets) {
    if (&bucket != buckets.data()) out += ',';
    out += "{\"key\":";
    append_composite_key(out, bucket.key, sources);
    out += ',';
    append_count(out, bucket.count);
  }
  out += "]}";
}

std::size_t count_within(const RangeBucket& range, const Column& column, const Index& index,
                         Found found) {
  std::size_t out = 0;
  for (const auto position : found) {
    const auto values = values_of(index.documents()[position], column);
    out += std::any_of(values.begin(), values.end(), [&](const Value& value) {
      const auto x = number(value);
      return !std::isnan(x) && (!range.from || x >= *range.from) && (!range.to || x < *range.to);
    });
  }
  return out;
}

void ranges(std::string& out, const Aggregation& aggregation, const Index& index, Found found) {
  out += aggregation.keyed ? "{\"buckets\":{" : "{\"buckets\":[";
  for (const auto& range : aggregation.ranges) {
    const auto count = count_within(range, aggregation.column, index, found);
    if (count == 0) continue;
    if (out.back() == '}') out += ',';
    if (aggregation.keyed) {
      out += json_string(range.key) + ":{";
    } else {
      out += "{\"key\":" + json_string(range.key) + ",";
    }
    if (range.from) out += "\"from\":" + range.from_text + ",";
    if (range.to) out += "\"to\":" + range.to_text + ",";
    append_count(out, count);
  }
  out += aggregation.keyed ? "}}" : "]}";
}

std::vector<Value> all_values(const Column& column, const Index& index, Found found) {
  std::vector<Value> out;
  for (const auto position : found)
    for (auto& value : values_of(index.documents()[position], column)) out.push_back(value);
  return out;
}

/// Sums like the search server: whole numbers wrap around at 64 bits, floats are added as floats.
Value sum_of(std::span<const Value> values, Type type) {
  std::uint64_t whole = 0;
  float real = 0;
  for (const auto& value : values) {
    if (const auto* exact = std::get_if<std::int64_t>(&value))
      whole += static_cast<std::uint64_t>(*exact);
    else
      real += static_cast<float>(number(value));
  }
  if (type == Type::real) return double{real};
  return static_cast<std::int64_t>(whole);
}

/// Like the search server: the values as floats, summed in doubles.
double average_of(std::span<const Value> values, std::size_t documents) {
  double sum = 0;
  for (const auto& value : values) sum += static_cast<float>(number(value));
  return sum / static_cast<double>(documents);
}

void metric(std::string& out, const Aggregation& aggregation, const Index& index, Found found) {
  if (found.empty()) {
    out += "{}";
    return;
  }
  const auto values = all_values(aggregation.column, index, found);
  const auto less = [](const Value& a, const Value& b) { return compare(a, b) < 0; };
  out += "{\"value\":";
  if (aggregation.kind == Kind::sum) {
    append_json(out, sum_of(values, aggregation.column.type));
  } else if (aggregation.kind == Kind::min) {
    append_json(out, *std::min_element(values.begin(), values.end(), less));
  } else if (aggregation.kind == Kind::max) {
    append_json(out, *std::max_element(values.begin(), values.end(), less));
  } else {
    const bool json = aggregation.column.type == Type::json;  // their average is always 0
    fmt::format_to(std::back_inserter(out), "{:.8f}", json ? 0 : average_of(values, found.size()));
  }
  out += '}';
}

void percentiles(std::string& out, const Aggregation& aggregation, const Index& index,
                 Found found) {
  std::vector<double> values;
  for (const auto& value : all_values(aggregation.column, index, found))
    if (const auto x = number(value); !std::isnan(x)) values.push_back(x);
  std::sort(values.begin(), values.end());
  out += "{\"values\":[";
  for (const auto& percent : aggregation.percents) {
    if (&percent != aggregation.percents.data()) out += ',';
    if (values.empty()) {
      fmt::format_to(std::back_inserter(out), "{{\"key\":{},\"value\":null}}", percent);
      continue;
    }
    const auto value = percentile(values, percent);
    fmt::format_to(std::back_inserter(out),
                   "{{\"key\":{},\"value\":{:g},\"value_as_string\":\"{:g}\"}}", percent, value,
                   value);
  }
  out += "]}";
}

}  // namespace

double percentile(const std::vector<double>& sorted, double percent) {
  // Each number has the same share, and the first and the last one lie at their outer ends.
  const auto count = static_cast<double>(sorted.size());
  const auto at = std::clamp(percent, 0.0, 100.0) / 100 * count;
  const auto inner = std::min(at, count - at);
  const auto from_end = inner < 1 ? inner / 2 : inner - 0.5;
  const auto place = std::clamp(at < count / 2 ? from_end : count - 1 - from_end, 0.0, count - 1);
  const auto below = static_cast<std::size_t>(place);
  const auto above = std::min(below + 1, sorted.size() - 1);
  const auto share = place - static_cast<double>(below);
  return sorted[below] * (1 - share) + sorted[above] * share;
}

void aggregate(std::string& out, const Aggregation& aggregation, const Index& index, Found found) {
  switch (aggregation.kind) {
    case Kind::terms:
    case Kind::histogram:
    case Kind::date_histogram:
      return terms(out, aggregation, index, found);
    case Kind::composite:
      return composite(out, aggregation, index, found);
    case Kind::range:
    case Kind::date_range:
      return ranges(out, aggregation, index, found);
    case Kind::min:
    case Kind::max:
    case Kind::sum:
    case Kind::avg:
      return metric(out, aggregation, index, found);
    case Kind::percentiles:
      return percentiles(out, aggregation, index, found);
    case Kind::unknown:
      out += "{\"buckets\":[]}";
  }
}

}  // namespace karmad
