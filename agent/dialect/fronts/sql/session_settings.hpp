#pragma once

#include <optional>
#include <span>
#include <string>

#include "agent/dialect/request/sql_tokens.hpp"

namespace karmad {

/// Why a SET is refused; nothing: it has no effect on answers (names, character sets, autocommit =
/// 1, profiling, timeouts …), so that it is answered as done. `tokens`: those behind SET.
std::optional<std::string> why_setting_is_refused(std::span<const SqlToken> tokens);

}  // namespace karmad
