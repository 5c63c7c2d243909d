#pragma once

#include <cstddef>
#include <string>

namespace karmad {

/// Longest SELECT that a connection keeps for SHOW META, PLAN and PROFILE.
inline constexpr std::size_t kLongestKeptSelect = 16 << 10;

/// What a client's connection keeps of its last SELECT. Used by its worker.
struct SqlSession {
  std::string meta;  ///< answers to SHOW META and SHOW SCROLL, an array of result sets; empty: not
                     ///< known yet
  std::string select;  ///< its text; empty: there was none, or it was too long
};

}  // namespace karmad
