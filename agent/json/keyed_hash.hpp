#pragma once

#include <cstddef>
#include <string_view>

namespace karmad {

/// Multiplies 16 bytes at a time into 128 bits and folds them (as wyhash and foldhash do), with a
/// random key per process: a client cannot choose texts that collide and so make a hash table of
/// them take quadratic time. Any thread.
struct KeyedHash {
  std::size_t operator()(std::string_view text) const noexcept;
};

}  // namespace karmad
