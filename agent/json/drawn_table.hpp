#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace karmad {

/// Text that is safe for a terminal: valid UTF-8 in one line, without control characters.
std::string printable_line(std::string_view text);

/// Appends the table of `/cli`, drawn with characters: the first line holds the names of the
/// columns, all others have as many cells. Ends with the number of rows.
void append_drawn_table(std::string& out, std::span<const std::vector<std::string>> lines);

}  // namespace karmad
