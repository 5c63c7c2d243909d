#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "agent/dialect/dialect.hpp"

namespace karmad {

/// Longer answers keep the mirror's name of the table: replacing it takes several passes.
inline constexpr std::size_t kLongestNamedAnswer = 1 << 20;

/// The answer to an update with `table` in each place that names the changed table: at the top, in
/// its `error`, and in each of a bulk's `items`. The rest is unchanged, error texts included.
/// Nothing: the answer names no other table, is malformed or too long.
std::optional<std::string> with_table(std::string_view answer, std::string_view table);

/// Appends the refusal of an update with the client's name of the table, and returns its status.
int pass_refusal_on(std::string& out, const ChangeReply& refusal, std::string_view table);

}  // namespace karmad
