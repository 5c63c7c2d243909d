#pragma once

#include <cstddef>
#include <expected>
#include <string_view>
#include <vector>

#include "agent/dialect/dialect.hpp"

namespace karmad {

/// Most statements in one request.
inline constexpr std::size_t kMostStatements = 64;

/// The text without the blanks and `;` before and behind its statements: a view into it.
std::string_view without_empty_statements(std::string_view text);

/// Splits a text at each `;` outside of quotes, backquotes and comments; blank statements are left
/// out. Refuses (400) more than kMostStatements of them, and texts whose end of a statement engines
/// read differently (SqlTokens), and what is not UTF-8. A text without `;` before its end is one
/// statement, unread.
std::expected<std::vector<std::string_view>, ClientError> split_statements(std::string_view text);

}  // namespace karmad
