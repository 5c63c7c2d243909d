#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "demo/data/columns.hpp"
#include "demo/data/index.hpp"
#include "demo/language/query.hpp"

namespace karmad::demo {

/// The type of a result's column: `exact` is a double, `member` a value in a JSON column, which may
/// have any type.
enum class CellType : std::uint8_t {
  boolean,
  whole,
  bigint,
  real,
  exact,
  text,
  multi,
  json,
  member,
  vector
};

struct JsonText {
  std::string text;
};
using Tags = std::vector<std::int64_t>;
/// One value of a result.
using Cell = std::variant<std::monostate, std::int64_t, double, std::string, Tags, JsonText, bool>;

/// An expression of SQL, with aliases replaced by what they stand for.
struct Expression {
  enum class Kind : std::uint8_t { literal, column, list, operation, function, aggregate };
  Kind kind = Kind::literal;
  CellType type = CellType::whole;
  std::string name;  ///< of the function or the operator, in lower case
  Literal literal;
  Column column;
  std::vector<Expression> arguments;
};

/// Documents with the same key of GROUP BY, the best one first.
struct Group {
  std::vector<Literal> key;
  std::int64_t number = 0;  ///< GROUPBY(): the key itself, or a hash of it
  std::vector<Hit> members;
};

/// What an expression is evaluated for: a document, or a group and its representative.
struct Row {
  const Index* index = nullptr;  ///< null: no document
  Hit hit;
  const Group* group = nullptr;
  const std::vector<std::string>* words = nullptr;  ///< to be marked by HIGHLIGHT()
  const Value* element = nullptr;                   ///< of a list, in a FOR
};

Cell evaluate(const Expression& expression, const Row& row);

/// Whether the expression has an aggregate, or the function `name`, in it.
bool has_aggregate(const Expression& expression);
bool has_function(const Expression& expression, std::string_view name);

/// True for a number other than 0.
bool is_true(const Cell& cell);
double number_of_cell(const Cell& cell);
/// The sort order of values of that type: numbers by value, strings by collation, values of JSON as
/// text. Nothing sorts first.
int cell_order(const Cell& a, const Cell& b, CellType type);
Cell to_cell(const Value& value);
/// A number, a string or nothing; the text lives as long as the cell.
Value to_value(const Cell& cell);

}  // namespace karmad::demo
