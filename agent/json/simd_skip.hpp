#pragma once

#if defined(__SSE2__)
#include <emmintrin.h>

#include <bit>

namespace karmad {

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

}  // namespace karmad
#endif
