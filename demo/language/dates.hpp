#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace karmad::demo {

enum class Calendar : std::uint8_t { none, minute, hour, day, week, month, quarter, year };

// All in UTC, in seconds since 1970.

/// "2024-02-29T12:00:00".
std::string date_text(std::int64_t seconds);
/// Reads "2024-02-29" with or without "T12:00:00".
std::optional<std::int64_t> read_date(std::string_view text);

/// A step of a date histogram: a calendar unit, or seconds, or neither if it is invalid.
struct Step {
  Calendar calendar = Calendar::none;
  double seconds = 0;
};
/// Reads "month", "1M", "12h", "1d" …
Step read_step(std::string_view text);

/// The start of the calendar unit that contains `seconds`; weeks start on Monday.
std::int64_t start_of(Calendar unit, std::int64_t seconds);

}  // namespace karmad::demo
