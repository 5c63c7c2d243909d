#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "strategies/read_preference.hpp"
#include "strategies/tags_text.hpp"

namespace karmad {

/// What is longer is not read.
inline constexpr std::size_t kLongestPreference = 4096;  ///< bytes

/// Reads a preference as it stands in a header, a URL parameter or the configuration: the JSON form
/// (SS-093: `mode` once in camel case; `tags`, an array of at least one object; an integer
/// `maxStalenessSeconds`, -1 for none; `hedge`, `{"enabled": bool}`), the short form
/// `mode=secondary;tags=dc:ny,rack:2|dc:sf|;maxStalenessSeconds=120;hedge=true`, or the mode alone.
/// Unknown members of the JSON form are ignored (SS-094). What is read is valid (`invalid`). The
/// error says what is wrong, and what would be right.
std::expected<ReadPreference, InvalidPreference> parse_read_preference(std::string_view text);

/// The JSON form on one line; what was parsed, written and parsed again is the same.
std::string text(const ReadPreference& preference);

std::string_view name(Mode mode);

}  // namespace karmad
