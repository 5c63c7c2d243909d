#pragma once

#include <cstddef>
#include <expected>
#include <istream>
#include <string>

#include "balancer/simulate/replay/access_trace.hpp"

namespace karmad {

/// Longest line that is read: karmad writes lines below this (32 KiB of attempts, and a head).
inline constexpr std::size_t kLongestAccessLine = 64 << 10;

/// Reads an access log in JSON (`access_log_format = json`) to its end. Lines of other formats are
/// counted and skipped. Lines may be in any order, and twice. The error says that there is nothing
/// to replay, and why.
std::expected<AccessTrace, std::string> read_access_trace(std::istream& in);

}  // namespace karmad
