#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "demo/data/text.hpp"
#include "demo/engine/engine.hpp"
#include "demo/engine/highlight.hpp"
#include "demo/language/dates.hpp"
#include "demo/sql/aggregates.hpp"
#include "demo/sql/cell_text.hpp"
#include "demo/sql/run.hpp"

namespace karmad::demo {

namespace {

/// Whether an answer shows the column `name`.
bool shows(const Source& source, std::string_view name) {
  if (source.none) return false;
  const auto fit = [&](const std::string& pattern) { return matches_pattern(pattern, name); };
  const auto& in = source.includes;
  const auto& ex = source.excludes;
  return (in.empty() || std::any_of(in.begin(), in.end(), fit)) &&
         std::none_of(ex.begin(), ex.end(), fit);
}

std::vector<const Column*> shown_columns(const Source& source) {
  std::vector<const Column*> out;
  for (const auto& column : all_columns())
    if (!column.is_id() && shows(source, column.name)) out.push_back(&column);
  return out;
}

void append_source(std::string& out, const Document& document,
                   const std::vector<const Column*>& columns, const Source& source) {
  out += '{';
  const auto append = [&](std::string_view name, const Column& column) {
    if (out.back() != '{') out += ',';
    append_quoted(out, name);
    out += ':';
    append_json(out, document, column);
  };
  for (const auto* column : columns) append(column->name, *column);
  for (const auto& name : source.includes)
    if (name.starts_with("meta.") && shows(source, name))
      if (const auto column = column_named(name)) append(name, *column);
  out += '}';
}

/// Adds what is computed to the object at the end of `out`.
void append_computed(std::string& out, const SearchRequest& request, std::span<const Cell> row) {
  for (std::size_t i = 0; i < row.size(); ++i) {
    const auto& name = request.select.items[i].name;
    if (!shows(request.source, name)) continue;
    out.back() = ',';
    if (out[out.size() - 2] == '{') out.pop_back();
    append_quoted(out, name);
    out += ':';
    append_json(out, to_value(row[i]));
    out += '}';
  }
}

void append_hits(std::string& out, const Index& index, const SearchRequest& request,
                 const ResultSet& result) {
  const auto columns = shown_columns(request.source);
  std::vector<std::string> words;
  if (request.highlight) collect_words(request.select.match, words, false);
  for (std::size_t i = 0; i < result.hits.size(); ++i) {
    const auto& hit = result.hits[i];
    if (i > 0) out += ',';
    const auto& document = index.documents()[hit.document];
    fmt::format_to(std::back_inserter(out), "{{\"_id\":{},\"_score\":{}", document.id, hit.score);
    if (!request.select.knn.empty())
      fmt::format_to(std::back_inserter(out), ",\"_knn_dist\":{:.8f}", hit.distance);
    if (request.select.fusion)
      fmt::format_to(std::back_inserter(out), ",\"_hybrid_score\":{:.8f}", hit.fused);
    out += ",\"_source\":";
    append_source(out, document, columns, request.source);
    append_computed(out, request, result.rows[i]);
    if (request.highlight) append_highlight(out, document, *request.highlight, words);
    out += '}';
  }
}

// ---- aggregations

using Found = std::span<const Hit>;
/// The keys of a bucket, and how many documents it has.
using Bucket = std::vector<Cell>;

double number(const Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return std::nan("");
}

void append_count(std::string& out, std::size_t count) {
  fmt::format_to(std::back_inserter(out), "\"doc_count\":{}}}", count);
}

void append_count(std::string& out, const Bucket& bucket) {
  append_count(out, static_cast<std::size_t>(std::get<std::int64_t>(bucket.back())));
}

void buckets(std::string& out, const Aggregation& aggregation, const Index& index, Found found) {
  const bool keyed = aggregation.keyed && aggregation.kind != Aggregation::Kind::terms;
  out += keyed ? "{\"buckets\":{" : "{\"buckets\":[";
  const auto result = rows_of(index, aggregation.select, found);
  for (const auto& bucket : result.rows) {
    if (&bucket != result.rows.data()) out += ',';
    std::string key;
    append_json(key, to_value(bucket[0]));
    std::string text;
    if (const auto* seconds = std::get_if<std::int64_t>(bucket.data());
        seconds != nullptr && aggregation.kind == Aggregation::Kind::date_histogram)
      text = json_string(date_text(*seconds));
    if (keyed) out += (!text.empty() ? text : key[0] == '"' ? key : json_string(key)) + ":";
    out += "{\"key\":" + key + ",";
    if (!text.empty()) out += "\"key_as_string\":" + text + ",";
    append_count(out, bucket);
  }
  out += keyed ? "}}" : "]}";
}

void append_composite_key(std::string& out, std::string_view name, const Aggregation& aggregation,
                          const Bucket& bucket) {
  append_quoted(out, name);
  out += ":{";
  for (std::size_t i = 0; i < aggregation.sources.size(); ++i) {
    if (i > 0) out += ',';
    append_quoted(out, aggregation.sources[i]);
    out += ':';
    append_json(out, to_value(bucket[i]));
  }
  out += '}';
}

/// Whether a bucket has the keys of `after`. In JSON letters of different case differ.
bool is_at(const Aggregation& aggregation, const Bucket& bucket) {
  for (std::size_t i = 0; i < aggregation.after.size(); ++i) {
    const auto has = plain_text(bucket[i]);
    const auto wanted = plain_text(to_cell(view(aggregation.after[i])));
    const bool member = aggregation.select.keys[i].type == CellType::member;
    if (member ? has != wanted : collate(has, wanted) != 0) return false;
  }
  return !aggregation.after.empty();
}

/// As in the search server, the page begins after the group `after`; without such a group, with the
/// first one.
void composite(std::string& out, const Aggregation& aggregation, const Index& index, Found found) {
  auto select = aggregation.select;
  select.limit = select.max_matches;
  const auto all = rows_of(index, select, found).rows;
  const auto last =
      std::ranges::find_if(all, [&](const Bucket& bucket) { return is_at(aggregation, bucket); });
  auto page = std::span(last == all.end() ? all.begin() : last + 1, all.end());
  page = page.first(std::min(page.size(), aggregation.select.limit));
  out += '{';
  if (!page.empty()) {
    append_composite_key(out, "after_key", aggregation, page.back());
    out += ',';
  }
  out += "\"buckets\":[";
  for (const auto& bucket : page) {
    if (&bucket != page.data()) out += ',';
    out += '{';
    append_composite_key(out, "key", aggregation, bucket);
    out += ',';
    append_count(out, bucket);
  }
  out += "]}";
}

std::size_t count_within(const RangeBucket& range, const Column& column, const Index& index,
                         Found found) {
  std::size_t out = 0;
  for (const auto& hit : found) {
    const auto values = values_of(index.documents()[hit.document], column);
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

void metric(std::string& out, const Aggregation& aggregation, const Index& index, Found found) {
  const auto result = rows_of(index, aggregation.select, found);
  if (result.rows.empty()) {
    out += "{}";
    return;
  }
  const auto& argument = aggregation.select.items[0].expression.arguments[0];
  out += "{\"value\":";
  if (argument.type == CellType::member || argument.type == CellType::json)
    out += "0.00000000";  // an average
  else
    append_cell(out, result.rows[0][0], result.columns[0].type, Layout::hit);
  out += '}';
}

void percentiles(std::string& out, const Aggregation& aggregation, const Index& index,
                 Found found) {
  std::vector<double> values;
  for (const auto& hit : found)
    for (const auto& value : values_of(index.documents()[hit.document], aggregation.column))
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

void aggregate(std::string& out, const Aggregation& aggregation, const Index& index, Found found) {
  switch (aggregation.kind) {
    case Aggregation::Kind::terms:
    case Aggregation::Kind::histogram:
    case Aggregation::Kind::date_histogram:
      return buckets(out, aggregation, index, found);
    case Aggregation::Kind::composite:
      return composite(out, aggregation, index, found);
    case Aggregation::Kind::range:
    case Aggregation::Kind::date_range:
      return ranges(out, aggregation, index, found);
    case Aggregation::Kind::min:
    case Aggregation::Kind::max:
    case Aggregation::Kind::sum:
    case Aggregation::Kind::avg:
      return metric(out, aggregation, index, found);
    case Aggregation::Kind::percentiles:
      return percentiles(out, aggregation, index, found);
    case Aggregation::Kind::unknown:
      out += "{\"buckets\":[]}";
  }
}

void append_aggregations(std::string& out, const Index& index, const SearchRequest& request,
                         std::span<const Hit> found) {
  out += ",\"aggregations\":{";
  for (const auto& aggregation : request.aggregations) {
    if (&aggregation != request.aggregations.data()) out += ',';
    append_quoted(out, aggregation.name);
    out += ':';
    aggregate(out, aggregation, index, found);
  }
  out += '}';
}

}  // namespace

std::string answer_search(const Index& index, const SearchRequest& request,
                          std::chrono::steady_clock::time_point start) {
  bool more = false;
  const auto found = found_hits(index, request.select, more);
  const auto result = rows_of(index, request.select, found);
  const auto took_ms = std::chrono::duration_cast<std::chrono::milliseconds>(
                           std::chrono::steady_clock::now() - start)
                           .count();
  std::string out = fmt::format("{{\"took\":{},\"timed_out\":false", took_ms);
  if (!request.warnings.empty()) {
    out += ",\"warning\":{\"reason\":";
    append_quoted(out, fmt::format("{}", fmt::join(request.warnings, "; ")));
    out += '}';
  }
  fmt::format_to(std::back_inserter(out),
                 ",\"hits\":{{\"total\":{},\"total_relation\":\"{}\",\"hits\":[", found.size(),
                 more ? "gte" : "eq");
  append_hits(out, index, request, result);
  out += "]}";
  if (!request.aggregations.empty()) append_aggregations(out, index, request, found);
  if (request.profile) out += ",\"profile\":{\"query\":[]}";
  if (request.plan) out += ",\"plan\":null";
  if (!result.scroll.empty()) out += fmt::format(",\"scroll\":\"{}\"", result.scroll);
  return out + '}';
}

}  // namespace karmad::demo
