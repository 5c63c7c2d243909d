#pragma once

#include <chrono>
#include <string>

namespace karmad {

using WallTime = std::chrono::system_clock::time_point;

/// `2026-11-23T21:43:27.125Z`: RFC 3339, UTC, milliseconds.
std::string utc_text(WallTime time);

}  // namespace karmad
