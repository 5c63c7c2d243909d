#include "demo/sql/show.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "demo/data/text.hpp"

namespace karmad::demo {

namespace {

using TextRows = std::vector<std::vector<std::string>>;

std::string_view described_type(Type type) {
  using enum Type;
  static constexpr std::pair<Type, std::string_view> kTypes[] = {
      {bigint, "bigint"},       {text, "text"},           {uint, "uint"},    {boolean, "bool"},
      {multi64, "mva64"},       {real, "float"},          {multi, "mva"},    {json, "json"},
      {timestamp, "timestamp"}, {vector, "float_vector"}, {string, "string"}};
  return std::ranges::find(kTypes, type, &std::pair<Type, std::string_view>::first)->second;
}

ResultSet describe(std::string_view hidden) {
  TextRows rows;
  for (const auto& column : all_columns())
    if (column.name != hidden)
      rows.push_back({column.name, std::string(described_type(column.type)),
                      column.type == Type::text ? "indexed stored" : ""});
  return text_rows({"Field", "Type", "Properties"}, rows);
}

ResultSet columns(std::string_view hidden) {
  TextRows rows;
  for (const auto& column : all_columns())
    if (column.name != hidden)
      rows.push_back({column.name, std::string(described_type(column.type)), "NO", "", "", ""});
  return text_rows({"Field", "Type", "Null", "Key", "Default", "Extra"}, rows);
}

ResultSet threads() {
  auto out = text_rows({"TID", "Name", "Proto", "State", "Connection from", "ConnID",
                        "This/prev job time", "Jobs done", "Thread status", "Info"},
                       {{"1", "work_1", "http", "query", "127.0.0.1:1", "1", "1us", "1", "working",
                         "show_threads"}});
  make_numbers(out, 5);
  for (const auto column : {0, 7}) {
    make_numbers(out, static_cast<std::size_t>(column));
    out.columns[static_cast<std::size_t>(column)].type = CellType::whole;
  }
  return out;
}

/// EXPLAIN QUERY, for words.
ResultSet query_tree(std::string_view query) {
  std::string tree;
  std::size_t place = 0;
  for (const auto& word : words(query))
    tree += fmt::format("{}KEYWORD({}, querypos={})", tree.empty() ? "" : ", ", word, ++place);
  return text_rows({"Variable", "Value"}, {{"transformed_tree", fmt::format("AND({})", tree)}});
}

/// As CREATE TABLE spells types, which differs from DESC.
std::string_view declared_type(Type type) {
  if (type == Type::multi) return "multi";
  if (type == Type::string) return "string attribute";
  if (type == Type::multi64) return "multi64";
  return type == Type::uint ? "integer" : described_type(type);
}

ResultSet create_table(const std::string& table) {
  std::string columns;
  for (const auto& column : all_columns())
    columns += fmt::format("{}{} {}", columns.empty() ? "" : ",\n", column.name,
                           declared_type(column.type));
  return text_rows({"Table", "Create Table"},
                   {{table, fmt::format("CREATE TABLE {} (\n{}\n)", table, columns)}});
}

ResultSet table_status(const Index& index) {
  std::size_t bytes = 0;
  for (const auto& document : index.documents())
    bytes += document.title.size() + document.body.size();
  return text_rows({"Variable_name", "Value"},
                   {{"table_type", "rt"},
                    {"indexed_documents", fmt::to_string(index.documents().size())},
                    {"indexed_bytes", fmt::to_string(bytes)},
                    {"ram_bytes", fmt::to_string(2 * bytes)},
                    {"disk_bytes", "1045"},
                    {"killed_documents", "0"},
                    {"killed_rate", "0.00%"},
                    {"disk_chunks", "0"},
                    {"mem_limit", "134217728"},
                    {"locked", "0"}});
}

ResultSet server_status(const Membership& membership) {
  TextRows rows{{"version", KARMAD_VERSION}};
  for (const auto& [name, value] : cluster_rows(membership)) rows.push_back({name, value});
  return text_rows({"Counter", "Value"}, rows);
}

ResultSet other_show(const SqlServer& server, const Statement& statement) {
  const auto& what = statement.what;
  if (what == "create table") return create_table(statement.table);
  if (what == "table status") return table_status(server.index_of(statement.table));
  if (what == "table settings")
    return text_rows({"Variable_name", "Value"},
                     {{"settings", "min_infix_len = 2\ncharset_table = non_cjk"}});
  if (what == "variables")
    return text_rows({"Variable_name", "Value"}, {{"autocommit", "1"},
                                                  {"collation_connection", "libc_ci"},
                                                  {"character_set_client", "utf8"},
                                                  {"max_allowed_packet", "134217728"},
                                                  {"timezone", "UTC"},
                                                  {"pseudo_sharding", "1"}});
  if (what == "threads") return threads();
  if (what == "settings")
    return text_rows({"Setting_name", "Value"},
                     {{"configuration_file", "demo"}, {"searchd.threads", "2"}});
  if (what == "databases") return text_rows({"Database"}, {{"information_schema"}, {"Manticore"}});
  if (what == "columns") return columns(server.hidden_column);
  if (what == "character set")
    return text_rows({"Charset", "Description", "Default collation", "Maxlen"},
                     {{"utf8", "UTF-8 Unicode", "utf8_general_ci", "3"}});
  if (what == "plugins") return text_rows({"Type", "Name", "Library", "Users", "Extra"}, {});
  if (what == "collation") {
    auto out = text_rows({"Collation", "Charset", "Id", "Default", "Compiled", "Sortlen"},
                         {{"utf8_general_ci", "utf8", "33", "Yes", "Yes", "1"}});
    make_numbers(out, 2);
    return out;
  }
  if (what == "query") return query_tree(statement.like);
  if (what == "plan") return text_rows({"Variable", "Value"}, {{"transformed_tree", ""}});
  return text_rows({"Status", "Duration", "Switches", "Percent"}, {{"total", "0.000", "0", "0"}});
}

}  // namespace

void keep_like(ResultSet& result, std::string pattern) {
  if (pattern == "%") return;
  std::ranges::replace(pattern, '%', '*');
  std::ranges::replace(pattern, '_', '?');
  std::erase_if(result.rows, [&](const std::vector<Cell>& row) {
    const auto* name = std::get_if<std::string>(row.data());
    return name != nullptr && !matches_pattern(pattern, *name);
  });
}

const Index& SqlServer::index_of(std::string_view table) const {
  return !empty_table.empty() && collate(table, empty_table) == 0 ? empty : index;
}

ResultSet show(const SqlServer& server, const Statement& statement) {
  ResultSet out;
  if (statement.kind == Statement::Kind::show_tables) {
    TextRows rows;
    for (const auto& table : server.tables)
      rows.push_back({table, table == server.query_table ? "percolate" : "rt"});
    std::ranges::sort(rows);
    out = text_rows({"Table", "Type"}, rows);
  } else if (statement.kind == Statement::Kind::show_status) {
    out = server_status(server.membership);
  } else if (statement.kind == Statement::Kind::describe) {
    out = describe(server.hidden_column);
  } else {
    out = other_show(server, statement);
  }
  if (statement.what != "query") keep_like(out, statement.like);
  return out;
}

}  // namespace karmad::demo
