#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "strategies/read_preference.hpp"
#include "strategies/tags.hpp"

namespace karmad {

/// Longer texts are refused.
inline constexpr std::size_t kLongestPreference = 4096;  ///< bytes

/// Reads a preference from a header, a URL parameter or the configuration. JSON form (SS-093):
/// `mode` in camel case; `tags`, an array of at least one object; an integer `maxStalenessSeconds`,
/// -1 for none; `hedge`, `{"enabled": bool}`; unknown members are ignored (SS-094). Short form:
/// `mode=secondary;tags=dc:ny,rack:2|dc:sf|;maxStalenessSeconds=120;hedge=true`, or the mode alone.
/// A result is valid (`invalid`). The error says what is wrong and what would be right.
std::expected<ReadPreference, InvalidPreference> parse_read_preference(std::string_view text);

/// The JSON form on one line; parsing it gives the same value.
std::string text(const ReadPreference& preference);

std::string_view name(Mode mode);

}  // namespace karmad
