#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace karmad {

/// A text of a server for a terminal: control characters, also those that change the direction of a
/// text, become `?`. The text is valid UTF-8.
std::string without_controls(std::string_view text);

/// The number of code points, which is the width of usual texts.
std::size_t width_of(std::string_view text);

/// The text in exactly `width` columns: cut with `~` at its end, or filled with blanks.
std::string fitted(std::string_view text, std::size_t width, bool to_the_right = false);

using WallTime = std::chrono::system_clock::time_point;

/// `2026-11-23T21:43:27.125Z`: RFC 3339, UTC, milliseconds.
std::string utc_text(WallTime time);

}  // namespace karmad
