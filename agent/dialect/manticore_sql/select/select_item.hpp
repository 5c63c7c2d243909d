#pragma once

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "agent/dialect/fronts/sql/sql_span.hpp"
#include "agent/dialect/manticore_sql/rows/row_plan.hpp"

namespace karmad {

/// An aggregate function of SQL. COUNT(*) is a sum over shards.
struct Aggregate {
  Fold fold = Fold::sum;
  SqlSpan argument;
};

/// One item of a select list, or an expression that is treated like one.
struct SelectItem {
  SqlSpan expression;             ///< without the alias
  std::string canonical;          ///< of the expression
  std::string alias{};            ///< in its canonical form; empty: none
  std::string_view alias_text{};  ///< as the client wrote it
  std::optional<Aggregate> aggregate{};
  std::string shown{};  ///< the client's alias, where `alias` is a hidden one in its place

  /// What the client calls the result; empty: it has no alias.
  const std::string& name() const { return shown.empty() ? alias : shown; }
  bool is_star() const { return canonical == "*"; }
};

/// Reads an expression. Refuses (501) aggregates within an expression, whose result cannot be
/// computed from the results of shards, and aggregates that cannot be merged at all.
std::expected<SelectItem, ClientError> read_expression(SqlSpan tokens);

/// Reads one item: an expression, AS and an alias; AS may be left out.
std::expected<SelectItem, ClientError> read_item(SqlSpan tokens);

/// Reads a select list.
std::expected<std::vector<SelectItem>, ClientError> read_items(SqlSpan tokens);

/// One key of ORDER BY.
struct OrderKey {
  SelectItem by;
  bool descending = false;
};

/// Reads the keys of ORDER BY; refuses (400) more than any server sorts by.
std::expected<std::vector<OrderKey>, ClientError> read_order(SqlSpan tokens);

}  // namespace karmad
