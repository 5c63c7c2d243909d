#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "demo/data/text.hpp"
#include "demo/engine/sql.hpp"

namespace karmad {

namespace {

std::string_view type_name(const Selected& item) {
  if (item.kind == Selected::Kind::count) return "long long";
  if (item.kind == Selected::Kind::weight) return "long";
  switch (item.column.type) {
    case Type::bigint:
      return "long long";
    case Type::uint:
    case Type::timestamp:
      return "long";
    case Type::real:
      return "float";
    case Type::text:
    case Type::string:
      return "string";
    case Type::multi:
      return "multi";
    case Type::json:
      return "json";
    case Type::vector:
      return "string";
  }
  return "string";
}

std::string_view described_type(Type type) {
  switch (type) {
    case Type::bigint:
      return "bigint";
    case Type::text:
      return "text";
    case Type::uint:
      return "uint";
    case Type::real:
      return "float";
    case Type::string:
      return "string";
    case Type::multi:
      return "mva";
    case Type::json:
      return "json";
    case Type::timestamp:
      return "timestamp";
    case Type::vector:
      return "float_vector";
  }
  return "string";
}

/// A raw row has lists and JSON as strings, a hit has them as JSON.
enum class Layout { raw, hit };

void append_cell(std::string& out, const Index& index, const Selected& item, const Hit& hit,
                 Layout layout) {
  append_quoted(out, item.name);
  out += ':';
  if (item.kind == Selected::Kind::weight) {
    out += fmt::to_string(hit.score);
    return;
  }
  const auto& document = index.documents()[hit.document];
  if (layout == Layout::raw && item.column.type == Type::multi) {
    append_quoted(out, fmt::format("{}", fmt::join(document.tags, ",")));
  } else if (layout == Layout::raw && item.column.type == Type::vector) {
    append_quoted(out, embedding_text(document));
  } else if (layout == Layout::raw && item.column.type == Type::json &&
             item.column.member.empty()) {
    std::string json;
    append_json(json, document, item.column);
    append_quoted(out, json);
  } else {
    append_json(out, document, item.column);
  }
}

/// `{` columns `}`; plain hits have their id outside of it.
void append_row(std::string& out, const Index& index, const Statement& statement, const Hit& hit,
                Layout layout) {
  out += '{';
  for (const auto& item : statement.selected) {
    const bool is_id = item.kind == Selected::Kind::column && item.column.of == Column::Of::id;
    if (layout == Layout::hit && is_id) continue;
    if (out.back() != '{') out += ',';
    append_cell(out, index, item, hit, layout);
  }
  out += '}';
}

/// One result set: its columns as `{"name":{"type":…}}`, its rows as objects.
std::string result_set(const std::vector<std::string>& columns,
                       const std::vector<std::string>& rows) {
  std::string out = fmt::format("[{{\n\"columns\":[{}],\n\"data\":[\n", fmt::join(columns, ","));
  out += fmt::format("{}", fmt::join(rows, ",\n"));
  if (!rows.empty()) out += '\n';
  out += fmt::format("],\n\"total\":{},\n\"error\":\"\",\n\"warning\":\"\"\n}}]", rows.size());
  return out;
}

std::string column_head(std::string_view name, std::string_view type) {
  return fmt::format("{{{}:{{\"type\":\"{}\"}}}}", json_string(name), type);
}

}  // namespace

std::string write_raw(const Index& index, const Statement& statement, const SearchResult& result) {
  if (statement.counts())
    return result_set({column_head("count(*)", "long long")},
                      {fmt::format("{{\"count(*)\":{}}}", result.total)});
  std::vector<std::string> columns;
  for (const auto& item : statement.selected)
    columns.push_back(column_head(item.name, type_name(item)));
  std::vector<std::string> rows;
  for (const auto& hit : result.page)
    append_row(rows.emplace_back(), index, statement, hit, Layout::raw);
  return result_set(columns, rows);
}

std::string write_raw_tables(std::span<const std::string> tables) {
  std::vector<std::string> rows;
  for (const auto& table : tables)
    rows.push_back(fmt::format("{{\"Table\":{},\"Type\":\"rt\"}}", json_string(table)));
  return result_set({column_head("Table", "string"), column_head("Type", "string")}, rows);
}

std::string write_raw_columns(std::string_view hidden) {
  std::vector<std::string> rows;
  for (const auto& column : all_columns())
    if (column.name != hidden)
      rows.push_back(fmt::format("{{\"Field\":\"{}\",\"Type\":\"{}\",\"Properties\":\"{}\"}}",
                                 column.name, described_type(column.type),
                                 column.type == Type::text ? "indexed stored" : ""));
  return result_set({column_head("Field", "string"), column_head("Type", "string"),
                     column_head("Properties", "string")},
                    rows);
}

std::string write_raw_status(const Membership& membership, std::string_view like) {
  std::string pattern(like);
  std::ranges::replace(pattern, '%', '*');
  std::ranges::replace(pattern, '_', '?');
  auto counters = cluster_rows(membership);
  counters.insert(counters.begin(), {"version", KARMAD_VERSION});
  std::vector<std::string> rows;
  for (const auto& [name, value] : counters)
    if (matches_pattern(pattern, name))
      rows.push_back(
          fmt::format("{{\"Counter\":{},\"Value\":{}}}", json_string(name), json_string(value)));
  return result_set({column_head("Counter", "string"), column_head("Value", "string")}, rows);
}

std::string write_sql_hits(const Index& index, const Statement& statement,
                           const SearchResult& result, std::int64_t took_ms) {
  auto out = fmt::format("{{\"took\":{},\"timed_out\":false,\"hits\":{{\"total\":", took_ms);
  if (statement.counts()) {
    fmt::format_to(std::back_inserter(out),
                   "1,\"total_relation\":\"eq\",\"hits\":[{{\"_score\":1,\"_source\":"
                   "{{\"count(*)\":{}}}}}",
                   result.total);
  } else {
    fmt::format_to(std::back_inserter(out), "{},\"total_relation\":\"eq\",\"hits\":[",
                   result.total);
    for (const auto& hit : result.page) {
      if (&hit != result.page.data()) out += ',';
      fmt::format_to(std::back_inserter(out),
                     "{{\"_id\":{},\"_score\":{},\"_source\":", index.documents()[hit.document].id,
                     hit.score);
      append_row(out, index, statement, hit, Layout::hit);
      out += '}';
    }
  }
  return out + "]}}";
}

}  // namespace karmad
