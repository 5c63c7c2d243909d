#pragma once

#include <span>
#include <string>

#include "balancer/status/rows/result_set.hpp"

namespace karmad {

/// Appends the JSON array of `/sql?mode=raw` and `/cli_json`: one element per result set, with the
/// search server's line breaks; all values are strings.
void append_raw(std::string& out, std::span<const ResultSet> sets);

/// Appends the table of `/cli`, with borders and the number of rows in the last line.
void append_text(std::string& out, const ResultSet& set);

}  // namespace karmad
