#include "demo/engine/search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "demo/data/text.hpp"
#include "demo/engine/aggregate.hpp"
#include "demo/engine/highlight.hpp"
#include "demo/sql/run.hpp"

namespace karmad {

namespace {

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

bool shows(const Source& source, std::string_view name) {
  if (source.none) return false;
  const auto fit = [&](const std::string& pattern) { return matches_pattern(pattern, name); };
  const auto& in = source.includes;
  const auto& ex = source.excludes;
  return (in.empty() || std::any_of(in.begin(), in.end(), fit)) &&
         std::none_of(ex.begin(), ex.end(), fit);
}

}  // namespace karmad
