#pragma once

#include <expected>
#include <string_view>
#include <utility>

#include "agent/dialect/fronts/sql/sql_statement.hpp"
#include "agent/dialect/manticore_sql/call/call_plan.hpp"
#include "agent/dialect/manticore_sql/change/change.hpp"
#include "agent/dialect/manticore_sql/select/plan_select.hpp"

namespace karmad::sql_reading {

/// Reads a SELECT and plans it.
inline std::expected<ShardSelect, ClientError> plan_text(std::string_view statement,
                                                         RowForm form = RowForm::raw,
                                                         Collation collation = Collation::libc_ci) {
  const auto select = read_as<SqlSelect>(statement, StatementKind::select);
  if (!select) return std::unexpected(select.error());
  return plan_select(*select, form, collation);
}

/// Reads a statement that changes data; 400 if it is another one.
inline std::expected<ChangeStatement, ClientError> read_change(std::string_view statement) {
  auto read = read_statement(statement);
  if (!read) return std::unexpected(std::move(read.error()));
  if (auto* const change = std::get_if<ChangeStatement>(&*read)) return std::move(*change);
  return std::unexpected(ClientError{400, "no change"});
}

inline std::expected<CallStatement, ClientError> read_call(std::string_view statement) {
  return read_as<CallStatement>(statement, StatementKind::call);
}

}  // namespace karmad::sql_reading
