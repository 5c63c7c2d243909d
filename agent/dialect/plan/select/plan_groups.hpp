#pragma once

#include <expected>

#include "agent/dialect/plan/select/select_columns.hpp"
#include "agent/dialect/rows/row_plan.hpp"

namespace karmad {

/// HAVING: an expression and what it must fulfil; the condition's column is not set.
struct HavingClause {
  SelectItem of;
  RowCondition condition;
};

/// Reads one condition that compares an expression with constants: `=`, `!=`, `<>`, `<`, `<=`, `>`,
/// `>=`, `[NOT] BETWEEN a AND b`, `[NOT] IN (…)`.
std::expected<HavingClause, ClientError> read_having(SqlSpan tokens);

}  // namespace karmad
