#pragma once

#include <span>
#include <string>

#include "agent/dialect/request/client_request.hpp"
#include "agent/dialect/rows/result_set.hpp"

namespace karmad {

/// Appends the result sets as an answer in that form, with the line breaks of the search server:
/// RowForm::text as the tables of `/cli`, with the warnings behind them; else as the array of
/// `/sql?mode=raw`.
void append_sets(RowForm form, std::span<const ResultSet> sets, std::string& out);

}  // namespace karmad
