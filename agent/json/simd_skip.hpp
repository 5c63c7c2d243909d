#pragma once

#if defined(__SSE2__)
#include <emmintrin.h>

#include <bit>
#endif

namespace karmad {

#if defined(__SSE2__)

/// The first byte from `at` on that `wanted` marks, searched in blocks of 16; if there is none, the
/// start of the last incomplete block.
template <class Wanted>
const char* skip_blocks(const char* at, const char* end, Wanted wanted) {
  while (end - at >= 16) {
    const auto block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const auto found = static_cast<unsigned>(_mm_movemask_epi8(wanted(block)));
    if (found != 0) return at + std::countr_zero(found);
    at += 16;
  }
  return at;
}
#endif

/// The first byte that is not plain content of a string: a closing quote, an escape, a control
/// character, or a byte beyond ASCII.
[[gnu::always_inline]] inline const char* find_special(const char* at, const char* end) {
#if defined(__SSE2__)
  at = skip_blocks(at, end, [](__m128i block) {
    const auto marks = _mm_or_si128(_mm_cmpeq_epi8(block, _mm_set1_epi8('"')),
                                    _mm_cmpeq_epi8(block, _mm_set1_epi8('\\')));
    // Bytes beyond ASCII are negative as signed numbers.
    return _mm_or_si128(marks, _mm_cmplt_epi8(block, _mm_set1_epi8(' ')));
  });
#endif
  while (at != end && *at != '"' && *at != '\\' && static_cast<signed char>(*at) >= ' ') ++at;
  return at;
}

}  // namespace karmad
