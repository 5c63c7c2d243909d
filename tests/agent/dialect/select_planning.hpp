#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/agent/dialect/sql_reading.hpp"

namespace karmad::select_planning {

/// The plan of a statement that can be merged.
inline ShardSelect planned(std::string_view statement, RowForm form = RowForm::raw) {
  auto select = sql_reading::plan_text(statement, form);
  EXPECT_TRUE(select) << statement << ": " << (select ? "" : select.error().reason);
  return select ? std::move(*select) : ShardSelect{};
}

/// The statements for a mirror on which the table has the name T.
inline std::string asked(std::string_view statement, RowForm form = RowForm::raw) {
  std::string text;
  const std::vector<std::string> tables{"T"};
  const auto select = planned(statement, form);
  append_edited(text, select.statements, select.names, tables);
  return text;
}

}  // namespace karmad::select_planning
