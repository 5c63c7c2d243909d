#pragma once

#include <cstddef>
#include <string>

namespace karmad {

/// Longest SELECT that a connection keeps for SHOW META, PLAN and PROFILE.
inline constexpr std::size_t kLongestKeptSelect = 16 << 10;

/// What a client's connection keeps of its last SELECT. Used by its worker.
struct SqlSession {
  /// Answers to SHOW META (at most 64 KiB) and SHOW SCROLL (a token of at most 64 KiB), an array of
  /// result sets; empty: not known yet.
  std::string meta;
  std::string select;  ///< its text; empty: there was none, or it was too long
};

}  // namespace karmad
