#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "agent/dialect/manticore_sql/change/change.hpp"

namespace karmad {

/// What the answer to a change says.
struct ChangeCount {
  std::uint64_t rows = 0;
  std::string warning;
};

/// Reads an answer of either form; nothing if it is malformed.
std::optional<ChangeCount> read_change_answer(std::string_view body);

/// Appends an answer; `error` empty: none.
void append_change_answer(std::string& out, ChangeForm form, const ChangeCount& count,
                          std::string_view error);

}  // namespace karmad
