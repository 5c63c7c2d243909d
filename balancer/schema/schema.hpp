#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/dialect/request/client_request.hpp"
#include "agent/dialect/rows/result_set.hpp"
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

/// Carries out a SELECT of MySQL over these tables, in memory, with SQLite. `unknown` of the
/// result: the tables whose rows it looked for and did not find. 400: a syntax error, an unknown
/// column, function or variable, or a result of too many rows or steps; 404: an unknown table. Any
/// thread. Cost: at most kMostSchemaSteps, some seconds, and 16 MiB of results.
OrError<SchemaTable> rows_of(std::string_view select, std::vector<SchemaTable> tables,
                             const SchemaFacts& facts);

/// The table as the rows of an answer.
ResultSet result_set_of(const SchemaTable& table);

/// A statement about the schema of the tables, as tools send it, ready to be carried out.
struct SchemaStatement {
  enum class Is : std::uint8_t {
    rows,    ///< the SELECT `text` gives them
    passed,  ///< a mirror answers `text`, about `table`
  };
  Is is = Is::rows;
  std::string table;  ///< the one that it names; empty: none, or one of a system schema
  std::string text;   ///< the SELECT; or for the mirror, with the table's name at `table_begin`
  std::size_t table_begin = 0;
  std::size_t table_end = 0;
};

/// Reads a statement of the kind StatementKind::schema: a SELECT from the tables of system schemas
/// or from DUAL, a SHOW (which becomes a SELECT), DESCRIBE, EXPLAIN of a table. 400: it is none. A
/// SELECT is not read yet.
OrError<SchemaStatement> read_schema_statement(std::string_view statement,
                                               const SchemaFacts& facts);

}  // namespace karmad
