#pragma once

#include <bit>
#include <cstddef>
#include <string_view>
#include <vector>

#include "agent/json/keyed_hash.hpp"

namespace karmad {

/// The ids seen so far, in one block of memory sized for the maximum. The hash is keyed, so that
/// clients cannot choose ids that collide. Refers to the bytes of the ids.
class SeenIds {
 public:
  /// Room for `most` ids; more must not be inserted.
  explicit SeenIds(std::size_t most) : slots_(std::bit_ceil(most * 2 + 2)) {}

  /// False if it was present already. Not for empty ids.
  bool insert(std::string_view id) {
    const auto mask = slots_.size() - 1;
    for (auto at = KeyedHash{}(id)&mask;; at = (at + 1) & mask) {
      if (slots_[at].empty()) {
        slots_[at] = id;
        return true;
      }
      if (slots_[at] == id) return false;
    }
  }

 private:
  std::vector<std::string_view> slots_;
};

}  // namespace karmad
