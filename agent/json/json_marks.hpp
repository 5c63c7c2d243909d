#pragma once

#if defined(__SSE2__)
#include <immintrin.h>
/// Marks a function that may be called only if `WithAvx2::is_here()`.
#define KARMAD_AVX2 [[gnu::target("avx2,bmi,bmi2,pclmul")]]
#endif

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace karmad {

/// Number of bytes of a JSON text that are examined together.
inline constexpr std::ptrdiff_t kBlock = 64;
/// The bit of the last byte of a block.
inline constexpr std::uint64_t kLast = std::uint64_t{1} << (kBlock - 1);

/// Positions of each class of characters in a block of 64 bytes, one bit per byte.
struct Marks {
  std::uint64_t quotes = 0;
  std::uint64_t brackets = 0;  ///< braces too
  std::uint64_t commas = 0;
  std::uint64_t colons = 0;
  std::uint64_t digits = 0;
  std::uint64_t blanks = 0;  ///< white space; also other bytes below a space
  std::uint64_t backslashes = 0;
  std::uint64_t controls = 0;  ///< those below a space
  std::uint64_t high = 0;      ///< beyond ASCII
};

/// Operations on all bytes of a block, with instructions that every machine has.
struct AnyMachine {
  static Marks marks_of(const char* block);
  /// Sets each bit for which the number of `bits` up to it, itself included, is odd.
  static std::uint64_t odd_up_to(std::uint64_t bits) {
    for (int by = 1; by < kBlock; by *= 2) bits ^= bits << by;
    return bits;
  }
};

#if defined(__SSE2__)
inline std::uint64_t bits_of(__m128i found) {
  return static_cast<std::uint32_t>(_mm_movemask_epi8(found));
}

inline __m128i at_most(__m128i bytes, char most) {
  return _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(most)), bytes);
}

inline Marks AnyMachine::marks_of(const char* block) {
  Marks marks;
  auto rare = _mm_setzero_si128();
  for (int at = 0; at < kBlock; at += 16) {
    const auto bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + at));
    const auto is = [&](char c) { return _mm_cmpeq_epi8(bytes, _mm_set1_epi8(c)); };
    // `[` and `{` differ in bit 5 only; so do `]` and `}`.
    const auto folded = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
    const auto brackets = _mm_or_si128(_mm_cmpeq_epi8(folded, _mm_set1_epi8('{')),
                                       _mm_cmpeq_epi8(folded, _mm_set1_epi8('}')));
    marks.quotes |= bits_of(is('"')) << at;
    marks.brackets |= bits_of(brackets) << at;
    marks.commas |= bits_of(is(',')) << at;
    marks.colons |= bits_of(is(':')) << at;
    marks.digits |= bits_of(at_most(_mm_sub_epi8(bytes, _mm_set1_epi8('0')), 9)) << at;
    marks.blanks |= bits_of(at_most(bytes, ' ')) << at;
    // Bytes beyond ASCII are negative as signed numbers.
    rare = _mm_or_si128(rare, _mm_or_si128(is('\\'), _mm_cmplt_epi8(bytes, _mm_set1_epi8(' '))));
  }
  if (bits_of(rare) == 0) return marks;
  for (int at = 0; at < kBlock; at += 16) {
    const auto bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + at));
    marks.backslashes |= bits_of(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'))) << at;
    marks.controls |= bits_of(at_most(bytes, ' ' - 1)) << at;
    marks.high |= bits_of(bytes) << at;
  }
  return marks;
}

/// The same with AVX2 and BMI (processors since 2013): half the steps.
struct WithAvx2 {
  static bool is_here() {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("pclmul");
  }
  KARMAD_AVX2 static Marks marks_of(const char* block);
  KARMAD_AVX2 static std::uint64_t odd_up_to(std::uint64_t bits) {
    const auto product = _mm_clmulepi64_si128(_mm_set_epi64x(0, static_cast<std::int64_t>(bits)),
                                              _mm_set1_epi8(-1), 0);
    return static_cast<std::uint64_t>(_mm_cvtsi128_si64(product));
  }
};

KARMAD_AVX2 inline std::uint64_t bits_of(__m256i low, __m256i high) {
  return static_cast<std::uint32_t>(_mm256_movemask_epi8(low)) |
         static_cast<std::uint64_t>(static_cast<std::uint32_t>(_mm256_movemask_epi8(high))) << 32;
}

KARMAD_AVX2 inline __m256i is(__m256i bytes, char c) {
  return _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(c));
}

KARMAD_AVX2 inline __m256i at_most(__m256i bytes, char most) {
  return _mm256_cmpeq_epi8(_mm256_min_epu8(bytes, _mm256_set1_epi8(most)), bytes);
}

KARMAD_AVX2 inline __m256i brackets_of(__m256i bytes) {
  const auto folded = _mm256_or_si256(bytes, _mm256_set1_epi8(0x20));
  return _mm256_or_si256(is(folded, '{'), is(folded, '}'));
}

KARMAD_AVX2 inline __m256i digits_of(__m256i bytes) {
  return at_most(_mm256_sub_epi8(bytes, _mm256_set1_epi8('0')), 9);
}

KARMAD_AVX2 inline __m256i rare_of(__m256i bytes) {
  return _mm256_or_si256(is(bytes, '\\'), _mm256_cmpgt_epi8(_mm256_set1_epi8(' '), bytes));
}

inline Marks WithAvx2::marks_of(const char* block) {
  const auto low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block));
  const auto high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block + 32));
  Marks marks;
  marks.quotes = bits_of(is(low, '"'), is(high, '"'));
  marks.brackets = bits_of(brackets_of(low), brackets_of(high));
  marks.commas = bits_of(is(low, ','), is(high, ','));
  marks.colons = bits_of(is(low, ':'), is(high, ':'));
  marks.digits = bits_of(digits_of(low), digits_of(high));
  marks.blanks = bits_of(at_most(low, ' '), at_most(high, ' '));
  const auto rare = _mm256_or_si256(rare_of(low), rare_of(high));
  if (_mm256_testz_si256(rare, rare) != 0) return marks;
  marks.backslashes = bits_of(is(low, '\\'), is(high, '\\'));
  marks.controls = bits_of(at_most(low, ' ' - 1), at_most(high, ' ' - 1));
  marks.high = bits_of(low, high);
  return marks;
}
#else
inline Marks AnyMachine::marks_of(const char* block) {
  Marks marks;
  for (int at = 0; at < kBlock; ++at) {
    const auto bit = std::uint64_t{1} << at;
    const auto c = static_cast<unsigned char>(block[at]);
    if (c == '"') marks.quotes |= bit;
    if (c == '\\') marks.backslashes |= bit;
    if (std::string_view("{}[]").contains(block[at])) marks.brackets |= bit;
    if (c == ',') marks.commas |= bit;
    if (c == ':') marks.colons |= bit;
    if ((c >= '0' && c <= '9')) marks.digits |= bit;
    if (c <= ' ') marks.blanks |= bit;
    if (c < ' ') marks.controls |= bit;
    if (c >= 0x80) marks.high |= bit;
  }
  return marks;
}
#endif

}  // namespace karmad
