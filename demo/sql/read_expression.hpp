#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "demo/sql/sql_cursor.hpp"
#include "demo/sql/statement.hpp"

namespace karmad::demo {

/// What names in an expression may mean.
struct SqlScope {
  std::string table;                    ///< for complaints; empty: there are no columns
  std::span<const SelectItem> aliases;  ///< they win over columns
  Query* match = nullptr;               ///< gets MATCH('…'); null: it is not allowed here
  const Expression* facet = nullptr;    ///< of FACET(); null: not allowed here
  std::vector<Knn>* knn = nullptr;      ///< gets KNN(…); null: it is not allowed here
  std::string table_alias{};            ///< before the names of columns; empty: none
  bool operands = false;                ///< keys of ORDER BY are no arithmetic
  bool filters = false;                 ///< WHERE and HAVING compare no computed values
};

/// Reads an expression of comparisons, AND, OR and arithmetic.
Expression read_expression(SqlCursor& cursor, const SqlScope& scope);

Expression column_expression(const Column& column);
Expression literal_expression(Literal literal);
Expression operation_of(std::string name, std::vector<Expression> arguments);
/// A function or an aggregate of the type that such a call has in SQL.
Expression call_expression(std::string name, std::vector<Expression> arguments);

/// Words that end an expression and cannot be aliases without AS.
bool is_reserved(std::string_view word);

/// Whether INSERT, REPLACE, UPDATE or DELETE begins here.
bool is_change(const SqlCursor& cursor);

/// Reads INSERT|REPLACE INTO table (columns) VALUES (…), …; UPDATE table SET column = value, …
/// WHERE …; DELETE FROM table WHERE ….
Statement read_change(SqlCursor& cursor, std::span<const std::string> tables);

}  // namespace karmad::demo
