#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "balancer/core/process_list.hpp"

namespace karmad {

/// A value of a table of the schema. Numbers are texts, too.
struct SchemaValue {
  enum class Kind : std::uint8_t { null, number, text };
  Kind kind = Kind::null;
  std::string text;

  static SchemaValue of_text(std::string_view text) { return {Kind::text, std::string(text)}; }
  static SchemaValue of_number(std::int64_t number) {
    return {Kind::number, std::to_string(number)};
  }
  bool is_null() const { return kind == Kind::null; }
};

struct SchemaColumn {
  std::string name;
  bool is_number = false;
  SchemaValue usual{};  ///< of rows without another one
};

struct SchemaTable {
  std::string schema;
  std::string name;
  std::vector<SchemaColumn> columns;
  std::vector<std::vector<SchemaValue>> rows;
  /// Tables of SchemaFacts::schema whose rows are missing, by their TABLE_NAME.
  std::vector<std::string> unknown;
};

/// What a client's connection tells about itself. The texts outlive it.
struct SchemaFacts {
  std::string schema = "Manticore";  ///< the one of all tables: DATABASE()
  std::string user;
  std::string host;
  std::uint32_t connection = 0;
  std::uint64_t last_insert_id = 0;
  std::string version;
  bool is_mysql = false;  ///< a client of the MySQL protocol: types and names are those of MySQL
  bool read_only = false;
  /// The value of `@@name` or `@name`; nothing: it is unknown.
  std::function<std::optional<std::string>(std::string_view)> variable{};
  /// The variables that are known, with their values.
  std::function<std::vector<std::pair<std::string, std::string>>()> variables{};

  /// USER()
  std::string account() const { return host.empty() ? user : user + '@' + host; }
};

/// The value of a function without arguments that tells a fact: DATABASE, VERSION … Nothing: it is
/// none of them.
std::optional<SchemaValue> schema_fact(std::string_view lower_case, const SchemaFacts& facts);

/// A column of a table as its mirrors describe it: `DESC t`.
struct DescribedColumn {
  std::string name;
  std::string type;  ///< of the engine: `uint`, `mva` …
};

/// What is known of the tables.
struct SchemaContents {
  std::vector<std::string> tables;                              ///< in their order
  std::map<std::string, std::vector<DescribedColumn>> columns;  ///< by table
  std::vector<std::pair<std::string, std::string>> variables;   ///< of a mirror
  std::vector<std::pair<std::string, std::string>> status;      ///< of karmad
  std::vector<ClientProcess> processes;
};

/// The tables of INFORMATION_SCHEMA and performance_schema whose names are among the words of the
/// SELECT, and DUAL. One schema has all tables of the configuration.
std::vector<SchemaTable> tables_named(std::string_view select, const SchemaContents& contents,
                                      const SchemaFacts& facts);

}  // namespace karmad
