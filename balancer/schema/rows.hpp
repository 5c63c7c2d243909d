#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/dialect/rows/result_set.hpp"
#include "balancer/schema/select.hpp"

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
  /// Whether a condition with this value holds.
  bool is_true() const;
  double number() const;

  bool operator==(const SchemaValue&) const = default;
};

struct SchemaColumn {
  std::string name;
  bool is_number = false;
};

struct SchemaTable {
  std::vector<SchemaColumn> columns;
  std::vector<std::vector<SchemaValue>> rows;
};

/// What a client's connection tells about itself. The texts outlive it.
struct SchemaFacts {
  std::string schema = "Manticore";  ///< the one of all tables: DATABASE()
  std::string user;                  ///< with the host: USER()
  std::uint32_t connection = 0;
  std::uint64_t last_insert_id = 0;
  std::string version;
  bool is_mysql = false;  ///< a client of the MySQL protocol: types and names are those of MySQL
  bool read_only = false;
  /// The value of `@@name` or `@name`; nothing: it is unknown.
  std::function<std::optional<std::string>(std::string_view)> variable{};
  /// The variables that are known, with their values.
  std::function<std::vector<std::pair<std::string, std::string>>()> variables{};
};

/// Gives the tables of the schema: null if there is none of that name.
using FindSchemaTable =
    std::function<const SchemaTable*(std::string_view schema, std::string_view table)>;

/// Carries out the SELECT. 400: an unknown column, function or variable, a result of too many rows
/// or steps; 404: an unknown table. A column that does not exist is found where rows are looked at.
/// Cost: at most kMostSchemaSteps values and rows, and 16 MiB of results. Any thread.
SchemaResult<SchemaTable> rows_of(const SchemaSelect& select, const FindSchemaTable& find,
                                  const SchemaFacts& facts);

inline constexpr std::size_t kMostSchemaSteps = 5'000'000;

/// Calls `visit` with each expression of the SELECT and of those within it.
void for_each_expression(const SchemaSelect& select,
                         const std::function<void(const SchemaExpression&)>& visit);
/// Calls `visit` with the SELECT and each one within it.
void for_each_select(const SchemaSelect& select,
                     const std::function<void(const SchemaSelect&)>& visit);

/// Whether the table of that name can be among the rows of a source of the SELECT: its conditions
/// on the source's columns TABLE_SCHEMA and TABLE_NAME hold.
bool may_have_table(const SchemaSelect& select, std::size_t source, const SchemaFacts& facts,
                    std::string_view table);

/// Whether the expression asks for facts about the connection: a variable, VERSION(), DATABASE() …
bool asks_connection(const SchemaExpression& expression);

/// The value of a function of values; nothing: it is unknown.
std::optional<SchemaValue> call_schema_function(std::string_view name,
                                                std::vector<SchemaValue>& values,
                                                const SchemaFacts& facts);
/// Whether the function gives a number.
bool gives_number(std::string_view function);

/// The table as the rows of an answer.
ResultSet result_set_of(const SchemaTable& table);

/// -1, 0 or 1: texts without case, and numerically if one is a number.
int compare(const SchemaValue& a, const SchemaValue& b);

}  // namespace karmad
