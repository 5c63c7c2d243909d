#include "balancer/schema/schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>

#include "balancer/schema/translate.hpp"
#include "config/text/paragraphs.hpp"
#include "config/text/source_text.hpp"

// The bytes of tables.txt.
extern "C" const char karmad_schema_tables[];  // NOLINT(readability-identifier-naming): a symbol
extern "C" const char karmad_schema_tables_end[];  // NOLINT(readability-identifier-naming)

namespace karmad {
namespace {

/// Names of tables with their columns, as the file describes them.
const Paragraphs& definitions() {
  static const auto all = read_paragraphs(karmad_schema_tables, karmad_schema_tables_end);
  return all;
}

SchemaValue value_in(const SchemaColumn& column, std::string_view text) {
  return {column.is_number ? SchemaValue::Kind::number : SchemaValue::Kind::text,
          std::string(text)};
}

std::vector<SchemaColumn> columns_of(const Paragraph& definition) {
  std::vector<SchemaColumn> columns;
  for (std::string_view rest = definition.text; !rest.empty();) {
    auto word = take_until(rest, ' ');
    const bool has_value = word.contains('=');
    const auto name = take_until(word, '=');
    auto& column = columns.emplace_back();
    column.name = name.substr(0, name.find('#'));
    column.is_number = name.ends_with('#');
    if (has_value) column.usual = value_in(column, word);
    std::ranges::replace(column.usual.text, '+', ' ');
  }
  return columns;
}

/// Adds a row of these values, and the usual ones in the other columns.
void add(SchemaTable& table,
         std::initializer_list<std::pair<std::string_view, std::string_view>> values) {
  auto& row = table.rows.emplace_back();
  for (const auto& column : table.columns) row.push_back(column.usual);
  for (const auto& [name, value] : values) {
    const auto found = std::ranges::find(table.columns, name, &SchemaColumn::name);
    if (found == table.columns.end()) continue;
    row[static_cast<std::size_t>(found - table.columns.begin())] = value_in(*found, value);
  }
}

/// How a type of the engine is called in MySQL. The lengths are empty where there is none.
struct MysqlColumn {
  std::string_view engine;
  std::string_view data;
  std::string_view type;
  std::string_view characters{};
  std::string_view bytes{};
  std::string_view precision{};
  std::string_view scale{};
};

constexpr MysqlColumn kText{"text", "text", "text", "65535", "65535"};
constexpr std::array kTypes{
    MysqlColumn{"bigint", "bigint", "bigint", {}, {}, "19", "0"},
    MysqlColumn{"uint", "int", "int unsigned", {}, {}, "10", "0"},
    MysqlColumn{"int", "int", "int unsigned", {}, {}, "10", "0"},
    MysqlColumn{"integer", "int", "int unsigned", {}, {}, "10", "0"},
    // Rows have it as the number of seconds.
    MysqlColumn{"timestamp", "int", "int unsigned", {}, {}, "10", "0"},
    MysqlColumn{"bool", "tinyint", "tinyint(1)", {}, {}, "3", "0"},
    MysqlColumn{"float", "float", "float", {}, {}, "12", {}},
    MysqlColumn{"double", "double", "double", {}, {}, "22", {}},
    MysqlColumn{"string", "varchar", "varchar(16383)", "16383", "65532"},
    MysqlColumn{"json", "json", "json"},
    kText,
};

const MysqlColumn& mysql_type(std::string_view engine) {
  engine = engine.substr(0, engine.find(':'));  // uint:3, of three bits
  const auto* const found = std::ranges::find(kTypes, engine, &MysqlColumn::engine);
  return found == kTypes.end() ? kText : *found;
}

/// Its key is the id, the first column of every table.
constexpr std::string_view kId = "id";
constexpr std::string_view kCollation = "utf8mb4_general_ci";
constexpr std::string_view kEngine = "MyISAM";
constexpr std::string_view kSchema = "information_schema";

class TableMaker {
 public:
  TableMaker(const SchemaContents& contents, const SchemaFacts& facts)
      : contents_(contents), facts_(facts) {}

  SchemaTable made(std::string_view schema, const Paragraph& definition) const {
    SchemaTable table{
        .schema = std::string(schema), .name = definition.head, .columns = columns_of(definition)};
    add_rows(definition.head, table);
    return table;
  }

 private:
  void add_tables(SchemaTable& table) const {
    for (const auto& name : contents_.tables)
      add(table, {{"TABLE_SCHEMA", facts_.schema},
                  {"TABLE_NAME", name},
                  {"TABLE_TYPE", "BASE TABLE"},
                  {"ENGINE", kEngine},
                  {"VERSION", "10"},
                  {"ROW_FORMAT", "Dynamic"},
                  {"TABLE_COLLATION", kCollation},
                  {"CREATE_OPTIONS", ""}});
    for (const auto& view : definitions())
      add(table,
          {{"TABLE_SCHEMA", kSchema}, {"TABLE_NAME", view.head}, {"TABLE_TYPE", "SYSTEM VIEW"}});
  }

  void add_columns_of(std::string_view schema, const std::string& table,
                      std::span<const DescribedColumn> columns, SchemaTable& out) const {
    std::size_t number = 0;
    for (const auto& column : columns) {
      const auto& type = mysql_type(column.type);
      const bool is_key = schema != kSchema && column.name == kId;
      const bool is_engine_type = type.data != column.type && schema != kSchema;
      const bool has_text = !type.characters.empty();
      const bool as_engine = !facts_.is_mysql;
      add(out, {{"TABLE_SCHEMA", schema},
                {"TABLE_NAME", table},
                {"COLUMN_NAME", column.name},
                {"ORDINAL_POSITION", fmt::to_string(++number)},
                {"IS_NULLABLE", is_key || as_engine ? "NO" : "YES"},
                {"DATA_TYPE", as_engine ? column.type : type.data},
                {"CHARACTER_MAXIMUM_LENGTH", type.characters},
                {"CHARACTER_OCTET_LENGTH", type.bytes},
                {"NUMERIC_PRECISION", type.precision},
                {"NUMERIC_SCALE", type.scale},
                {"CHARACTER_SET_NAME", has_text ? "utf8mb4" : ""},
                {"COLLATION_NAME", has_text ? kCollation : ""},
                {"COLUMN_TYPE", as_engine ? column.type : type.type},
                {"COLUMN_KEY", is_key && !as_engine ? "PRI" : ""},
                {"PRIVILEGES", facts_.read_only ? "select" : "select,insert,update"},
                {"COLUMN_COMMENT", is_engine_type && !as_engine ? column.type : ""}});
      auto& row = out.rows.back();
      for (std::size_t c = 0; c < row.size(); ++c) {
        const auto& name = out.columns[c].name;
        const bool may_lack = out.columns[c].is_number || name == "CHARACTER_SET_NAME" ||
                              name == "COLLATION_NAME" || (name == "COLUMN_DEFAULT" && !as_engine);
        if (may_lack && row[c].text.empty()) row[c] = {};
      }
    }
  }

  void add_all_columns(SchemaTable& table) const {
    for (const auto& name : contents_.tables)
      if (const auto found = contents_.columns.find(name); found != contents_.columns.end())
        add_columns_of(facts_.schema, name, found->second, table);
      else
        table.unknown.push_back(name);
    for (const auto& view : definitions()) {
      std::vector<DescribedColumn> columns;
      for (const auto& column : columns_of(view))
        columns.push_back({column.name, column.is_number ? "bigint" : "string"});
      add_columns_of(kSchema, view.head, columns, table);
    }
  }

  void add_rows(std::string_view name, SchemaTable& table) const {
    const auto add_pairs = [&](const auto& pairs) {
      for (const auto& [key, value] : pairs)
        add(table, {{"VARIABLE_NAME", key}, {"VARIABLE_VALUE", value}});
    };
    if (name == "TABLES") return add_tables(table);
    if (name == "COLUMNS") return add_all_columns(table);
    if (name.ends_with("_STATUS")) return add_pairs(contents_.status);
    if (name.ends_with("_VARIABLES")) {
      auto all = facts_.variables ? facts_.variables() : decltype(contents_.variables){};
      for (const auto& [key, value] : contents_.variables)
        if (std::ranges::find(all, key, [](const auto& each) { return each.first; }) == all.end())
          all.emplace_back(key, value);
      std::ranges::sort(all);
      return add_pairs(all);
    }
    if (name == "SCHEMATA") {
      for (const auto schema : {kSchema, std::string_view(facts_.schema)})
        add(table, {{"SCHEMA_NAME", schema}});
    } else if (name == "CHARACTER_SETS" || name.starts_with("COLLATION")) {
      struct Charset {
        std::string_view name, collation, id, length;
      };
      constexpr std::array kKnownCharsets{Charset{"utf8", "utf8_general_ci", "33", "3"},
                                          Charset{"utf8mb4", kCollation, "45", "4"}};
      // The search server has the first one only.
      for (const auto& charset : std::span(kKnownCharsets).first(facts_.is_mysql ? 2 : 1))
        add(table, {{"CHARACTER_SET_NAME", charset.name},
                    {"DEFAULT_COLLATE_NAME", charset.collation},
                    {"MAXLEN", charset.length},
                    {"COLLATION_NAME", charset.collation},
                    {"ID", charset.id}});
    } else if (name == "ENGINES") {
      add(table, {{"ENGINE", kEngine}});
    } else if (name == "PROCESSLIST") {
      for (const auto& each : contents_.processes) {
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(each.lasts).count();
        add(table, {{"ID", fmt::to_string(each.connection)},
                    {"USER", each.user},
                    {"HOST", each.host},
                    {"DB", each.database},
                    {"COMMAND", each.command},
                    {"TIME", fmt::to_string(seconds)},
                    {"STATE", each.state}});
        if (!each.statement.empty())
          table.rows.back().back() = SchemaValue::of_text(each.statement);
      }
    } else if (name == "STATISTICS" || name == "KEY_COLUMN_USAGE" || name == "TABLE_CONSTRAINTS") {
      for (const auto& each : contents_.tables)
        add(table, {{"TABLE_SCHEMA", facts_.schema},
                    {"TABLE_NAME", each},
                    {"CONSTRAINT_SCHEMA", facts_.schema},
                    {"INDEX_SCHEMA", facts_.schema}});
    } else if (name == "USER_PRIVILEGES") {
      const auto grantee = fmt::format("'{}'@'{}'", facts_.user, facts_.host);
      for (const std::string_view privilege : {"SELECT", "INSERT", "UPDATE", "DELETE"})
        if (privilege == "SELECT" || !facts_.read_only)
          add(table, {{"GRANTEE", grantee}, {"PRIVILEGE_TYPE", privilege}});
    }
  }

  const SchemaContents& contents_;
  const SchemaFacts& facts_;
};

}  // namespace

std::optional<SchemaValue> schema_fact(std::string_view name, const SchemaFacts& facts) {
  if (name == "database" || name == "schema") return SchemaValue::of_text(facts.schema);
  if (name == "version") return SchemaValue::of_text(facts.version);
  if (name == "connection_id") return SchemaValue::of_number(facts.connection);
  if (name == "last_insert_id")
    return SchemaValue{SchemaValue::Kind::number, fmt::to_string(facts.last_insert_id)};
  if (name == "user" || name == "current_user" || name == "session_user" || name == "system_user")
    return SchemaValue::of_text(facts.account());
  if (name == "current_role") return SchemaValue::of_text("NONE");
  return std::nullopt;
}

std::vector<SchemaTable> tables_named(std::string_view select, const SchemaContents& contents,
                                      const SchemaFacts& facts) {
  std::set<std::string> words;
  for (SchemaTokens tokens(select); !tokens.at_end(); tokens.step()) {
    if (!tokens.now().names_table()) continue;
    const auto word = tokens.now().inner();  // information_schema.tables may be one
    words.insert(lower(word.substr(word.rfind('.') + 1)));
  }
  std::vector<SchemaTable> tables{{.schema = "main", .name = "DUAL", .rows = {{}}}};
  const TableMaker maker(contents, facts);
  for (const auto& definition : definitions()) {
    if (!words.contains(lower(definition.head))) continue;
    tables.push_back(maker.made(kSchema, definition));
    if (definition.head.ends_with("_VARIABLES") || definition.head.ends_with("_STATUS") ||
        definition.head == "PROCESSLIST")
      tables.push_back(maker.made("performance_schema", definition));
  }
  return tables;
}

}  // namespace karmad
