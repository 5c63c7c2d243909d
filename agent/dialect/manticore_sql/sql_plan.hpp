#pragma once

#include <string_view>

#include "agent/dialect/manticore_sql/rows/row_plan.hpp"
#include "agent/dialect/plan/plan.hpp"

namespace karmad {

/// A plan whose requests mirrors get at `/sql?mode=raw`, with an answer in that form; without a
/// statement and a merge.
inline Plan plan_of_mode_raw(RowForm form) {
  return {.request = {.method = "POST",
                      .path = "/sql?mode=raw",
                      .query = {},
                      .content_type = "text/plain",
                      .body = {}},
          .content_type = content_type_of(form)};
}

/// The same with a statement, which must outlive it, without its edits.
inline Plan plan_of_statement(std::string_view statement, RowForm form) {
  auto plan = plan_of_mode_raw(form);
  plan.request.body = statement;
  return plan;
}

/// The edits that put a mirror's names into the place of the statement that names the table; none
/// if no place does.
inline TextEdits statement_edits(const Parsed& parsed) {
  return parsed.table_end == 0 ? TextEdits() : name_edits(parsed, TableNames::sql);
}

}  // namespace karmad
