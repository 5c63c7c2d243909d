#pragma once

#include <string_view>

namespace karmad {

/// Runs the reader of that name over `bytes`, and checks what it promises of them. False: there is
/// no such reader.
bool fuzz_reader(std::string_view name, std::string_view bytes);

}  // namespace karmad
