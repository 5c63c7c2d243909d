#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace karmad {

/// Longer answers keep the mirror's name of the table: naming it takes some passes over the text.
inline constexpr std::size_t kLongestNamedAnswer = 1 << 20;

/// The answer to an update with `table` in each place where it names the table that was changed:
/// at the top, in its `error`, and the same in each of a bulk's `items`. Everything else, also the
/// texts of errors, stays as the mirror wrote it. Nothing: the answer names no other table, is
/// malformed or too long.
std::optional<std::string> with_table(std::string_view answer, std::string_view table);

}  // namespace karmad
