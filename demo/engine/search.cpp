#include "demo/engine/search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "demo/data/dice.hpp"
#include "demo/data/text.hpp"
#include "demo/engine/aggregate.hpp"
#include "demo/engine/highlight.hpp"
#include "demo/engine/scroll.hpp"
#include "demo/engine/vectors.hpp"

namespace karmad {

namespace {

/// Negative if `a` sorts before `b`.
int compare_hits(const Index& index, const std::vector<SortKey>& keys,
                 const std::vector<Computed>& computed, const Hit& a, const Hit& b) {
  std::string left;
  std::string right;
  for (const auto& key : keys) {
    const auto order = sort_order(key.column, sort_value(index, a, key, computed, left),
                                  sort_value(index, b, key, computed, right));
    if (order != 0) return key.descending ? -order : order;
  }
  return a.document < b.document ? -1 : 1;  // positions are ascending by id
}

bool sorts_by_id(const std::vector<SortKey>& keys) {
  return std::ranges::any_of(
      keys, [](const SortKey& key) { return key.by == SortKey::By::column && key.column.is_id(); });
}

bool scores_wanted(const SearchRequest& request) {
  const auto by_score = [](const SortKey& key) { return key.by == SortKey::By::score; };
  return request.track_scores || request.sort.empty() ||
         std::any_of(request.sort.begin(), request.sort.end(), by_score);
}

/// The most documents to find; 0: all.
std::size_t cutoff_of(const Index& index, const SearchRequest& request) {
  const bool unordered = request.sort.empty() && !ranks(request.query) && request.knn.empty() &&
                         request.aggregations.empty() && !request.scroll.wanted;
  const auto page = unordered && index.stops_early() ? request.offset + request.limit : 0;
  return request.cutoff.value_or(page);
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
void append_computed(std::string& out, const Index& index, const SearchRequest& request,
                     const Hit& hit) {
  for (const auto& one : request.computed) {
    if (!one.shown || !shows(request.source, one.name)) continue;
    out.back() = ',';
    if (out[out.size() - 2] == '{') out.pop_back();
    append_quoted(out, one.name);
    out += ':';
    append_json(out, view(one.value(index, hit.document)));
    out += '}';
  }
}

void append_hits(std::string& out, const Index& index, const SearchRequest& request,
                 const SearchResult& result) {
  const auto columns = shown_columns(request.source);
  std::vector<std::string> words;
  if (request.highlight) collect_words(request.query, words, false);
  for (const auto& hit : result.page) {
    if (&hit != result.page.data()) out += ',';
    const auto& document = index.documents()[hit.document];
    fmt::format_to(std::back_inserter(out), "{{\"_id\":{},\"_score\":{}", document.id, hit.score);
    if (!request.knn.empty())
      fmt::format_to(std::back_inserter(out), ",\"_knn_dist\":{:.8f}", hit.distance);
    if (request.fusion)
      fmt::format_to(std::back_inserter(out), ",\"_hybrid_score\":{:.8f}", hit.fused);
    out += ",\"_source\":";
    append_source(out, document, columns, request.source);
    append_computed(out, index, request, hit);
    if (request.highlight) append_highlight(out, document, *request.highlight, words);
    out += '}';
  }
}

void append_aggregations(std::string& out, const Index& index, const SearchRequest& request,
                         const SearchResult& result) {
  out += ",\"aggregations\":{";
  for (const auto& aggregation : request.aggregations) {
    if (&aggregation != request.aggregations.data()) out += ',';
    append_quoted(out, aggregation.name);
    out += ':';
    aggregate(out, aggregation, index, result.found);
  }
  out += '}';
}

}  // namespace

std::vector<SortKey> sort_keys(const SearchRequest& request) {
  auto keys = request.sort;
  const auto sorts_by = [&](SortKey::By by) {
    return std::ranges::find(keys, by, &SortKey::by) != keys.end();
  };
  if (request.fusion) {
    if (keys.empty()) keys.push_back({.by = SortKey::By::fused, .descending = true});
  } else if (!request.knn.empty() && !sorts_by(SortKey::By::distance)) {
    keys.insert(keys.begin(), {.by = SortKey::By::distance});
  }
  if (keys.empty()) keys.push_back({.by = SortKey::By::score, .descending = true});
  if (request.scroll.wanted && !sorts_by_id(keys))
    keys.push_back({.by = SortKey::By::column, .column = *column_named("id")});
  return keys;
}

Value sort_value(const Index& index, const Hit& hit, const SortKey& key,
                 const std::vector<Computed>& computed, std::string& text) {
  const auto& document = index.documents()[hit.document];
  switch (key.by) {
    case SortKey::By::score:
      return hit.score;
    case SortKey::By::distance:
      return hit.distance;
    case SortKey::By::fused:
      return hit.fused;
    case SortKey::By::random:
      return static_cast<std::int64_t>(Dice{document.id}.next() >> 1);
    case SortKey::By::computed: {
      auto literal = computed[key.computed].value(index, hit.document);
      if (!std::holds_alternative<std::string>(literal)) return view(literal);
      text = std::get<std::string>(std::move(literal));
      return std::string_view(text);
    }
    case SortKey::By::column:
      break;
  }
  if (const auto values = key.largest ? values_of(document, key.column) : std::vector<Value>{};
      !values.empty())
    return values.back();
  return value_of(document, key.column);
}

SearchResult search(const Index& index, const SearchRequest& request) {
  const auto matches = evaluate(index, request.query);
  const bool ranked = (scores_wanted(request) || !request.knn.empty()) && ranks(request.query);
  SearchResult out;
  std::vector<Hit> hits;
  const auto cutoff = cutoff_of(index, request);
  for (std::uint32_t i = 0; i < matches.found.size(); ++i) {
    if (matches.found[i] == 0) continue;
    if (cutoff != 0 && hits.size() == cutoff) {
      out.more = true;
      break;
    }
    hits.push_back({i, ranked ? matches.weight[i] : 1});
  }
  if (!request.knn.empty()) hits = nearest_hits(index, request, std::move(hits));
  for (const auto& hit : hits) out.found.push_back(hit.document);
  out.total = hits.size();

  const auto keys = sort_keys(request);
  if (!request.scroll.after.empty())
    std::erase_if(hits, [&](const Hit& hit) { return !is_after(index, keys, hit, request); });
  const auto kept = std::min(hits.size(), request.max_matches);
  const auto begin = std::min(kept, request.offset);
  const auto end = begin + std::min(kept - begin, request.limit);
  std::partial_sort(hits.begin(), hits.begin() + static_cast<std::ptrdiff_t>(end), hits.end(),
                    [&](const Hit& a, const Hit& b) {
                      return compare_hits(index, keys, request.computed, a, b) < 0;
                    });
  out.page.assign(hits.begin() + static_cast<std::ptrdiff_t>(begin),
                  hits.begin() + static_cast<std::ptrdiff_t>(end));
  return out;
}

std::string write_answer(const Index& index, const SearchRequest& request,
                         const SearchResult& result, std::int64_t took_ms) {
  std::string out = fmt::format("{{\"took\":{},\"timed_out\":false", took_ms);
  if (!request.warnings.empty()) {
    out += ",\"warning\":{\"reason\":";
    append_quoted(out, fmt::format("{}", fmt::join(request.warnings, "; ")));
    out += '}';
  }
  fmt::format_to(std::back_inserter(out),
                 ",\"hits\":{{\"total\":{},\"total_relation\":\"{}\",\"hits\":[", result.total,
                 result.more ? "gte" : "eq");
  append_hits(out, index, request, result);
  out += "]}";
  if (!request.aggregations.empty()) append_aggregations(out, index, request, result);
  if (request.profile) out += ",\"profile\":{\"query\":[]}";
  if (request.plan) out += ",\"plan\":null";
  if (request.scroll.wanted && !result.page.empty())
    out += fmt::format(",\"scroll\":\"{}\"", scroll_token(index, request, result.page.back()));
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
