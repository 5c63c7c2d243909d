#pragma once

#include <cstddef>
#include <string>

#include "agent/dialect/rows/result_set.hpp"

namespace karmad {

/// Longest SELECT that a connection keeps for SHOW META, PLAN and PROFILE.
inline constexpr std::size_t kLongestKeptSelect = 16 << 10;

/// What a client's connection keeps of its last SELECT. Used by its worker.
struct SqlSession {
  SelectMeta meta;     ///< at most 64 KiB, and a token of at most 64 KiB
  std::string select;  ///< its text; empty: there was none, or it was too long
};

}  // namespace karmad
