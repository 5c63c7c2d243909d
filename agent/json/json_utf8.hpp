#pragma once

#include <bit>
#include <cstdint>

#include "agent/json/json_marks.hpp"

namespace karmad {

/// Checks UTF-8 (RFC 3629) from block to block.
class Utf8 {
 public:
  /// Invalid bytes among those in `high` and those that must continue a sequence.
  std::uint64_t wrong_in(const char* block, std::uint64_t high) {
    return high == 0 && due_ == 0 ? 0 : wrong(block, high);
  }

 private:
  [[gnu::noinline]] std::uint64_t wrong(const char* block, std::uint64_t high) {
    const auto found = find(block);
    const auto leads = high & ~found.following;
    const auto due = due_ | leads << 1 | found.of_three << 2 | found.of_four << 3;
    due_ = leads >> 63 | found.of_three >> 62 | found.of_four >> 61;
    auto wrong = (due ^ found.following) | found.never;
    if (!may_follow(lead_, block[0])) wrong |= 1;
    lead_ = (found.narrow & kLast) != 0 ? block[kBlock - 1] : 0;
    for (auto narrow = found.narrow & ~kLast; narrow != 0; narrow &= narrow - 1) {
      const auto place = std::countr_zero(narrow);
      if (!may_follow(block[place], block[place + 1])) wrong |= std::uint64_t{1} << place;
    }
    return wrong;
  }

  struct Found {
    std::uint64_t following = 0;  ///< 80 … BF
    std::uint64_t of_three = 0;   ///< first bytes of sequences of at least three
    std::uint64_t of_four = 0;    ///< of at least four
    std::uint64_t never = 0;      ///< bytes that UTF-8 never contains
    std::uint64_t narrow = 0;     ///< first bytes that restrict the second byte
  };

#if defined(__SSE2__)
  static Found find(const char* block) {
    Found found;
    for (int at = 0; at < kBlock; at += 16) {
      const auto bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + at));
      const auto is = [&](unsigned char c) {
        return _mm_cmpeq_epi8(bytes, _mm_set1_epi8(static_cast<char>(c)));
      };
      const auto at_least = [&](unsigned char c) {
        return _mm_cmpeq_epi8(_mm_max_epu8(bytes, _mm_set1_epi8(static_cast<char>(c))), bytes);
      };
      const auto either = [](__m128i a, __m128i b) { return _mm_or_si128(a, b); };
      // As signed numbers 80 … BF are the lowest.
      found.following |= bits_of(_mm_cmplt_epi8(bytes, _mm_set1_epi8(-64))) << at;
      found.of_three |= bits_of(at_least(0xE0)) << at;
      found.of_four |= bits_of(at_least(0xF0)) << at;
      found.never |= bits_of(either(either(is(0xC0), is(0xC1)), at_least(0xF5))) << at;
      found.narrow |= bits_of(either(either(is(0xE0), is(0xED)), either(is(0xF0), is(0xF4)))) << at;
    }
    return found;
  }
#else
  static Found find(const char* block) {
    Found found;
    for (int at = 0; at < kBlock; ++at) {
      const auto bit = std::uint64_t{1} << at;
      const auto c = static_cast<unsigned char>(block[at]);
      if (c >= 0x80 && c < 0xC0) found.following |= bit;
      if (c >= 0xE0) found.of_three |= bit;
      if (c >= 0xF0) found.of_four |= bit;
      if (c == 0xC0 || c == 0xC1 || c >= 0xF5) found.never |= bit;
      if (c == 0xE0 || c == 0xED || c == 0xF0 || c == 0xF4) found.narrow |= bit;
    }
    return found;
  }
#endif

  static bool may_follow(char lead, char next) {
    const auto second = static_cast<unsigned char>(next);
    switch (static_cast<unsigned char>(lead)) {
      case 0xE0:
        return second >= 0xA0;
      case 0xED:
        return second <= 0x9F;
      case 0xF0:
        return second >= 0x90;
      case 0xF4:
        return second <= 0x8F;
      default:
        return true;
    }
  }

  std::uint64_t due_ = 0;  ///< positions in the next block that must continue a sequence
  char lead_ = 0;          ///< last byte of the block if it restricts the next byte, else 0
};

}  // namespace karmad
