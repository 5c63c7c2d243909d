#pragma once

#include <expected>
#include <string_view>
#include <utility>

#include "agent/dialect/plan/select/plan_select.hpp"
#include "agent/dialect/plan/statements.hpp"
#include "agent/dialect/request/sql_statement.hpp"

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
