#pragma once

#include <span>
#include <string>

#include "balancer/status/result_set.hpp"

namespace karmad {

/// Appends the JSON array that `/sql?mode=raw` and `/cli_json` answer with, one element per result
/// set, line breaks as the search server puts them; all values are strings.
void append_raw(std::string& out, std::span<const ResultSet> sets);

/// Appends the table `/cli` answers with: borders, and the number of rows in a last line.
void append_text(std::string& out, const ResultSet& set);

}  // namespace karmad
