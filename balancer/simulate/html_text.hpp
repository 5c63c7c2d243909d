#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "strategies/time.hpp"

namespace karmad {

/// Any text as content or quoted attribute of HTML and XML. Control characters, which XML does not
/// allow, and bytes that are not UTF-8 become U+FFFD.
std::string html_escaped(std::string_view text);

/// A count with a narrow space between groups of three digits.
std::string count_text(std::uint64_t count);

/// A time with its unit and three significant digits: `340 us`, `12.3 ms`, `1.20 s`, `180 s`.
std::string duration_text(Micros time);

/// At most three significant digits, none after the point from 100 on: `0.25`, `12.3`, `180`.
std::string short_number(double value);

/// At most four significant digits, without zeros at the end: for round numbers.
std::string round_number(double value);

}  // namespace karmad
