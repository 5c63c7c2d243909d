#pragma once

#include <cstddef>

namespace karmad {

/// Deepest nesting of a value that is passed over; deeper counts as malformed.
inline constexpr std::size_t kMaxSkippedDepth = 1024;

/// From an opening brace or bracket to behind its partner; null when what lies between does not
/// match, a string in it does not end, or it is nested too deep. Looks at 64 bytes at a time,
/// never behind `end`; allocates nothing.
const char* after_nested(const char* at, const char* end);

}  // namespace karmad
