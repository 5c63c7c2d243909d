#pragma once

#include <expected>
#include <string_view>
#include <utility>

#include "agent/dialect/plan/statements.hpp"
#include "agent/dialect/plan/two_rounds.hpp"
#include "agent/dialect/request/sql_statement.hpp"

namespace karmad::sql_reading {

/// Reads a SELECT and plans it.
inline std::expected<ShardSelect, ClientError> plan_text(std::string_view statement,
                                                         RowForm form = RowForm::raw,
                                                         Collation collation = Collation::libc_ci) {
  const auto select = sql::read_as<sql::Select>(statement, sql::StatementKind::select);
  if (!select) return std::unexpected(select.error());
  return plan_select(*select, form, collation);
}

/// Reads a statement that changes data; 400 if it is another one.
inline std::expected<sql::ChangeStatement, ClientError> read_change(std::string_view statement) {
  auto read = sql::read_statement(statement);
  if (!read) return std::unexpected(std::move(read.error()));
  if (auto* const change = std::get_if<sql::ChangeStatement>(&*read)) return std::move(*change);
  return std::unexpected(ClientError{400, "no change"});
}

inline std::expected<sql::CallStatement, ClientError> read_call(std::string_view statement) {
  return sql::read_as<sql::CallStatement>(statement, sql::StatementKind::call);
}

}  // namespace karmad::sql_reading
