#pragma once

#include <span>
#include <string>
#include <string_view>

#include "agent/dialect/manticore_sql/rows/merged_rows.hpp"
#include "agent/json/json_line.hpp"

namespace karmad {

/// Appends a result set in the layout of `/sql?mode=raw`, one element of the array there.
/// `warning`: inside of a JSON string, escaped.
void append_raw_set(JsonLine& out, const MergedRows& rows, std::string_view warning);

/// Appends the table of `/cli`.
void append_drawn_set(std::string& out, const MergedRows& rows);

/// Appends a line with the warning, if there is one.
void append_drawn_warning(std::string& out, std::string_view warning);

/// Appends the result sets as an answer in that form, with the warning (plain text, may be empty)
/// of the first set; RowForm::hits is written as RowForm::raw.
void append_sets(RowForm form, std::span<const MergedRows> sets, std::string_view warning,
                 std::string& out);

}  // namespace karmad
