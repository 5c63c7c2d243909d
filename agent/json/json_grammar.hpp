#pragma once

#include <cstddef>

namespace karmad {

/// Deepest nesting of a value that can be skipped; deeper values count as malformed.
inline constexpr std::size_t kMaxSkippedDepth = 1024;

// Each function skips one part of a JSON text (RFC 8259, UTF-8) and returns its end; null if the
// part is malformed or incomplete. They read nothing beyond `end` and allocate nothing.

/// What a value must keep to, beside the grammar.
struct ValueLimits {
  std::size_t deepest = kMaxSkippedDepth;  ///< brackets within each other; not more than this
  bool plain = false;                      ///< no number has an exponent, no string `\u`
};

/// From an opening brace or bracket to behind the matching one, 64 bytes at a time. Validates every
/// separator, string, escape, number and literal in between.
const char* after_nested(const char* at, const char* end, ValueLimits limits = {});

/// The same without special processor instructions. `after_nested()` chooses between the versions
/// at its first call.
const char* after_nested_on_any_machine(const char* at, const char* end, ValueLimits limits = {});

/// From behind an opening quote to behind the closing one.
const char* after_string(const char* at, const char* end, bool plain = false);

/// The same for text validated before: only searches the closing quote. `end` if there is none.
const char* after_passed_string(const char* at, const char* end);

/// To behind a number, `true`, `false` or `null` that is followed by a separator, a bracket, white
/// space or `end`.
const char* after_scalar(const char* at, const char* end, bool plain = false);

/// Behind the value that begins at `at`, of any type.
inline const char* after_value(const char* at, const char* end, ValueLimits limits = {}) {
  if (at == end) return nullptr;
  return *at == '"'                 ? after_string(at + 1, end, limits.plain)
         : *at == '{' || *at == '[' ? after_nested(at, end, limits)
                                    : after_scalar(at, end, limits.plain);
}

}  // namespace karmad
