#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace karmad {

/// How the answer to a change is written.
enum class ChangeForm : bool {
  raw,  ///< `[{"total":1,"error":"","warning":""}]`
  text  ///< `Query OK, 1 row affected (0.000 sec)`, for /cli
};

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
