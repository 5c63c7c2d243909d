#pragma once

#include <cstddef>

namespace karmad {

/// Deepest nesting of a value that is passed over; deeper counts as malformed.
inline constexpr std::size_t kMaxSkippedDepth = 1024;

// Each passes one part of a JSON text (RFC 8259, UTF-8) and returns where it ends; null when the
// part is malformed, or does not end. They never look behind `end` and allocate nothing.

/// From an opening brace or bracket to behind its partner, 64 bytes at a time: every separator,
/// string, escape, number and literal within is checked.
const char* after_nested(const char* at, const char* end);

/// The same without what only some processors have: `after_nested()` chooses when it is first
/// called.
const char* after_nested_on_any_machine(const char* at, const char* end);

/// From behind an opening quote to behind the closing one.
const char* after_string(const char* at, const char* end);

/// The same in text that was passed before: looks for the quote only.
const char* after_passed_string(const char* at, const char* end);

/// Behind a number, `true`, `false` or `null` that a separator, a bracket, white space or `end`
/// follows.
const char* after_scalar(const char* at, const char* end);

}  // namespace karmad
