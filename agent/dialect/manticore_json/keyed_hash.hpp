#pragma once

#include <cstddef>
#include <string_view>

namespace karmad {

/// SipHash-1-3 with a key of this process alone: whoever chooses the texts cannot choose them so
/// that they collide, which would make a table of them take quadratic time. Any thread.
struct KeyedHash {
  std::size_t operator()(std::string_view text) const noexcept;
};

}  // namespace karmad
