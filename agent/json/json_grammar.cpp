#include "agent/json/json_grammar.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
/// Marks a function that may be called only if `WithAvx2::is_here()`.
#define KARMAD_AVX2 [[gnu::target("avx2,bmi,bmi2,pclmul")]]
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "agent/json/equals_literal.hpp"
#include "agent/json/json_text.hpp"
#include "agent/json/simd_skip.hpp"
#include "config/text/source_text.hpp"

namespace karmad {

namespace {

/// Number of bytes of a JSON text that are examined together.
constexpr std::ptrdiff_t kBlock = 64;
/// The bit of the last byte of a block.
constexpr std::uint64_t kLast = std::uint64_t{1} << (kBlock - 1);

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
  /// The positions of one character.
  static std::uint64_t places_of(const char* block, char c);
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

inline std::uint64_t AnyMachine::places_of(const char* block, char c) {
  std::uint64_t places = 0;
  for (int at = 0; at < kBlock; at += 16) {
    const auto bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + at));
    places |= bits_of(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(c))) << at;
  }
  return places;
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
  KARMAD_AVX2 static std::uint64_t places_of(const char* block, char c);
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

inline std::uint64_t WithAvx2::places_of(const char* block, char c) {
  const auto low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block));
  const auto high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block + 32));
  return bits_of(is(low, c), is(high, c));
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
inline std::uint64_t AnyMachine::places_of(const char* block, char c) {
  std::uint64_t places = 0;
  for (int at = 0; at < kBlock; ++at)
    if (block[at] == c) places |= std::uint64_t{1} << at;
  return places;
}

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

/// Skips the character after a backslash; for `u` also four hexadecimal digits.
const char* after_escape(const char* at, const char* end) {
  if (at == end) return nullptr;
  if (*at != 'u') return std::string_view("\"\\/bfnrt").contains(*at) ? at + 1 : nullptr;
  if (end - at < 5) return nullptr;
  for (int i = 1; i <= 4; ++i)
    if (!is_digit(at[i]) && !((at[i] | 0x20) >= 'a' && (at[i] | 0x20) <= 'f')) return nullptr;
  return at + 5;
}

const char* after_digits(const char* at, const char* end) {
  const auto* const first = at;
  while (at != end && is_digit(*at)) ++at;
  return at == first ? nullptr : at;
}

const char* after_number(const char* at, const char* end) {
  if (*at == '-') ++at;
  const bool zero = at != end && *at == '0';
  const auto* const integer = at;
  at = after_digits(at, end);
  if (at == nullptr || (zero && at != integer + 1)) return nullptr;
  if (at != end && *at == '.' && (at = after_digits(at + 1, end)) == nullptr) return nullptr;
  if (at == end || (*at != 'e' && *at != 'E')) return at;
  ++at;
  if (at != end && (*at == '+' || *at == '-')) ++at;
  return after_digits(at, end);
}

bool ends_a_scalar(char c) {
  return static_cast<unsigned char>(c) <= ' ' || c == ',' || c == ']' || c == '}' || c == ':' ||
         c == '[' || c == '{' || c == '"';
}

/// Finds the bytes inside strings, keeping the state between blocks.
template <class Machine>
class Strings {
 public:
  struct Found {
    std::uint64_t quotes;   ///< those that open or close a string
    std::uint64_t inside;   ///< strings, with the opening quote and without the closing one
    std::uint64_t escaped;  ///< bytes that a backslash stands before
  };
  Found take(const Marks& marks) {
    Found found{.escaped = marks.backslashes != 0 || escape_ ? escaped(marks.backslashes) : 0};
    found.quotes = marks.quotes & ~found.escaped;
    found.inside = Machine::odd_up_to(found.quotes) ^ open_;
    open_ = (found.inside & kLast) != 0 ? ~std::uint64_t{0} : 0;
    return found;
  }

 private:
  [[gnu::noinline]] std::uint64_t escaped(std::uint64_t backslashes) {
    std::uint64_t found = escape_ ? 1 : 0;
    backslashes &= ~found;
    escape_ = false;
    while (backslashes != 0) {
      const auto lowest = backslashes & (~backslashes + 1);
      const auto next = lowest << 1;
      escape_ = next == 0;
      found |= next;
      backslashes &= ~(lowest | next);
    }
    return found;
  }

  std::uint64_t open_ = 0;  ///< all ones: a string is
  bool escape_ = false;     ///< the last block ended in a backslash that counts
};

/// The open brackets: the 64 innermost as bits of one word (1: a brace), the others stored
/// separately.
class Nesting {
 public:
  std::size_t depth() const { return depth_; }
  bool in_brace() const { return (innermost_ & 1) != 0; }

  bool open(bool brace) {
    if (depth_ % 64 == 0 && depth_ != 0) {
      if (depth_ == kMaxSkippedDepth) return false;
      outer_[depth_ / 64 - 1] = innermost_;
    }
    innermost_ = innermost_ << 1 | std::uint64_t{brace};
    ++depth_;
    return true;
  }
  void close() {
    innermost_ >>= 1;
    --depth_;
    if (depth_ % 64 == 0 && depth_ != 0) innermost_ = outer_[depth_ / 64 - 1];
  }

 private:
  static_assert(kMaxSkippedDepth % 64 == 0);
  std::array<std::uint64_t, kMaxSkippedDepth / 64 - 1> outer_;
  std::uint64_t innermost_ = 0;
  std::size_t depth_ = 0;
};

/// Finds the bytes that follow marked bytes, across blocks.
class Following {
 public:
  /// For each marked byte the next byte that is not in `passed`.
  std::uint64_t operator()(std::uint64_t marked, std::uint64_t passed) {
    std::uint64_t sum = 0;  // the carry of an addition runs through the passed bits
    const bool runs_out = __builtin_add_overflow(marked << 1 | carry_, passed, &sum);
    carry_ = marked >> 63 | std::uint64_t{runs_out};
    return sum & ~passed;
  }

 private:
  std::uint64_t carry_ = 0;
};

/// Validates a nested value by blocks: the positions allowed by RFC 8259 are checked for all bytes
/// of a block at once; only brackets are handled one by one.
template <class Machine>
class Grammar {
 public:
  explicit Grammar(const char* end) : end_(end) {}

  bool closed() const { return closed_ >= 0; }
  /// Position in the last block where the value ended.
  std::ptrdiff_t closed_at() const { return closed_; }

  /// Checks the next block, which is at `at` in the text (`block` may be a copy). False: its part
  /// of the value is malformed.
  bool take(const char* block, const char* at) {
    const auto marks = Machine::marks_of(block);
    const auto text = strings_.take(marks);
    const auto wrong_bytes = utf8_.wrong_in(block, marks.high);
    const bool within_string = text.inside == ~std::uint64_t{0} && text.quotes == 0;
    if (within_string && text.escaped == 0 && marks.controls == 0 && wrong_bytes == 0) return true;
    Parts parts;
    if (!walk(block, marks.brackets & ~text.inside, parts)) return false;
    const auto mine = closed() && closed_ < kBlock - 1 ? (std::uint64_t{1} << (closed_ + 1)) - 1
                                                       : ~std::uint64_t{0};
    parts.commas = marks.commas & ~text.inside;
    parts.colons = marks.colons & ~text.inside;
    parts.blanks = marks.blanks & ~text.inside;
    parts.strings = text.quotes & text.inside;
    parts.string_ends = text.quotes & ~text.inside;
    parts.scalars = ~(text.inside | text.quotes | parts.stops() | parts.blanks);
    const auto scalars = parts.scalars & ~(parts.scalars << 1 | scalar_open_);
    // The end of one that began in the last block was checked there.
    const auto checked =
        scalar_open_ != 0 ? parts.scalars & ~(parts.scalars + 1) : std::uint64_t{0};
    scalar_open_ = parts.scalars >> 63;
    auto wrong = misplaced(parts, scalars);
    wrong |= marks.controls & text.inside;
    wrong |= wrong_bytes;
    if ((wrong & mine) != 0) return false;
    const auto controls = marks.controls & mine;
    if (controls != 0 && !are_blanks(block, controls)) return false;
    const auto escaped = text.escaped & mine;
    if (escaped != 0 && !are_escapes(escaped, at)) return false;
    return are_scalars(scalars & mine, parts.scalars & mine & ~checked, marks.digits, block, at);
  }

 private:
  /// The bytes outside strings by class.
  struct Parts {
    std::uint64_t braces = 0, end_braces = 0, squares = 0, end_squares = 0, commas = 0, colons = 0;
    std::uint64_t in_object = 0;  ///< a brace is the innermost bracket
    std::uint64_t blanks = 0, strings = 0, string_ends = 0, scalars = 0;

    std::uint64_t opening() const { return braces | squares; }
    std::uint64_t closing() const { return end_braces | end_squares; }
    std::uint64_t stops() const { return opening() | closing() | commas | colons; }
  };

  /// Handles the brackets one by one, up to the value's end.
  bool walk(const char* block, std::uint64_t brackets, Parts& parts) {
    parts.in_object = nesting_.in_brace() ? ~std::uint64_t{0} : 0;
    for (; brackets != 0; brackets &= brackets - 1) {
      const auto place = std::countr_zero(brackets);
      const auto bit = brackets & (~brackets + 1);
      const char c = block[place];
      const bool brace = c == '{' || c == '}';
      if (c == '{' || c == '[') {
        if (!nesting_.open(brace)) return false;
        (brace ? parts.braces : parts.squares) |= bit;
      } else {
        if (nesting_.in_brace() != brace) return false;
        (brace ? parts.end_braces : parts.end_squares) |= bit;
        nesting_.close();
        if (nesting_.depth() == 0) {
          closed_ = place;
          return true;
        }
      }
      const auto behind = ~(bit | (bit - 1));
      parts.in_object = (parts.in_object & ~behind) | (nesting_.in_brace() ? behind : 0);
    }
    return true;
  }

  /// The bytes that may not follow their predecessor; white space is ignored.
  std::uint64_t misplaced(const Parts& parts, std::uint64_t scalars) {
    const auto after_separator = after_separator_(parts.commas | parts.colons, parts.blanks);
    const auto after_value =
        after_value_(parts.string_ends | parts.scalars | parts.closing(), parts.blanks);
    const auto for_key = for_key_(parts.braces | (parts.commas & parts.in_object), parts.blanks);
    const auto key_ends = key_ends_(parts.strings & for_key, ~parts.string_ends);
    const auto after_key = after_key_(key_ends, parts.blanks);
    const auto no_strings = parts.opening() | scalars;
    return ((no_strings | parts.strings) & after_value) | (no_strings & for_key) |
           (parts.colons & ~after_key) | (parts.commas & ~after_value) |
           ((parts.commas | parts.closing()) & after_key) | (parts.closing() & after_separator);
  }

  /// Bytes below a space that are white space.
  static constexpr auto kBlanks = 1U << '\t' | 1U << '\n' | 1U << '\r';

  [[gnu::noinline]] static bool are_blanks(const char* block, std::uint64_t controls) {
    for (; controls != 0; controls &= controls - 1)
      if ((kBlanks >> static_cast<unsigned char>(block[std::countr_zero(controls)]) & 1) == 0)
        return false;
    return true;
  }

  [[gnu::noinline]] bool are_escapes(std::uint64_t escaped, const char* at) const {
    for (; escaped != 0; escaped &= escaped - 1)
      if (after_escape(at + std::countr_zero(escaped), end_) == nullptr) return false;
    return true;
  }

  /// Checks scalars, which begin at the positions `begin`. Most are numbers without exponent: these
  /// are checked all at once.
  bool are_scalars(std::uint64_t begin, std::uint64_t scalars, std::uint64_t digits,
                   const char* block, const char* at) const {
    if (scalar_open_ != 0 && begin != 0) {  // the last one may go on in the next block
      const auto last = std::bit_floor(begin);
      if (after_scalar(at + std::countr_zero(last), end_) == nullptr) return false;
      begin ^= last;
      scalars &= last - 1;
    }
    const auto others = scalars & ~digits;
    auto first_digits = begin;
    if (others != 0 && !are_numbers(others, scalars & digits, block, first_digits)) {
      for (; begin != 0; begin &= begin - 1)
        if (after_scalar(at + std::countr_zero(begin), end_) == nullptr) return false;
      return true;
    }
    for (first_digits &= digits >> 1; first_digits != 0; first_digits &= first_digits - 1)
      if (block[std::countr_zero(first_digits)] == '0') return false;
    return true;
  }

  /// Whether all scalars with `others` besides digits are numbers of digits with at most a sign
  /// and a point between digits. Leading zeros are left to the caller, who gets the first digits.
  static bool are_numbers(std::uint64_t others, std::uint64_t digits, const char* block,
                          std::uint64_t& first_digits) {
    const auto points = Machine::places_of(block, '.') & others;
    const auto signs = others & ~points;
    if ((signs & ~first_digits) != 0 || (signs & ~Machine::places_of(block, '-')) != 0)
      return false;
    first_digits = (first_digits & ~signs) | signs << 1;
    const auto fractions = points << 1;
    const auto behind_fractions = (fractions + digits) & ~digits;  // the carry passes the digits
    return ((first_digits | fractions | points >> 1) & ~digits) == 0 &&
           (behind_fractions & points) == 0;
  }

  const char* const end_;
  Strings<Machine> strings_;
  Utf8 utf8_;
  Nesting nesting_;
  Following after_separator_, after_value_, for_key_, key_ends_, after_key_;
  std::uint64_t scalar_open_ = 0;  ///< 1: the last block ended in one
  std::ptrdiff_t closed_ = -1;
};

/// The next byte of a string that is not plain ASCII text.
const char* find_special(const char* at, const char* end) {
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

template <class Machine>
const char* after_nested_on(const char* at, const char* end) {
  Grammar<Machine> grammar(end);
  for (; at < end; at += kBlock) {
    const auto* block = at;
    std::array<char, kBlock> last;
    if (end - at < kBlock) {
      last.fill(' ');
      std::memcpy(last.data(), at, static_cast<std::size_t>(end - at));
      block = last.data();
    }
    if (!grammar.take(block, at)) return nullptr;
    if (grammar.closed()) return at + grammar.closed_at() + 1;
    if (end - at < kBlock) break;
  }
  return nullptr;
}

#if defined(__SSE2__)
KARMAD_AVX2 [[gnu::flatten]] const char* after_nested_with_avx2(const char* at, const char* end) {
  return after_nested_on<WithAvx2>(at, end);
}
#endif

}  // namespace

const char* after_nested(const char* at, const char* end) {
#if defined(__SSE2__)
  static const bool with_avx2 = WithAvx2::is_here();
  if (with_avx2) return after_nested_with_avx2(at, end);
#endif
  return after_nested_on_any_machine(at, end);
}

const char* after_nested_on_any_machine(const char* at, const char* end) {
  return after_nested_on<AnyMachine>(at, end);
}

const char* after_string(const char* at, const char* end) {
  for (;;) {
    at = find_special(at, end);
    if (at == end) return nullptr;
    if (*at == '"') return at + 1;
    if (*at == '\\') {
      at = after_escape(at + 1, end);
      if (at == nullptr) return nullptr;
      continue;
    }
    const auto length = utf8_length({at, static_cast<std::size_t>(end - at)}, 0);
    if (length < 2) return nullptr;  // a control character, or invalid UTF-8
    at += length;
  }
}

const char* after_passed_string(const char* at, const char* end) {
  for (;; at += 2) {
#if defined(__SSE2__)
    at = skip_blocks(at, end, [](__m128i block) {
      return _mm_or_si128(_mm_cmpeq_epi8(block, _mm_set1_epi8('"')),
                          _mm_cmpeq_epi8(block, _mm_set1_epi8('\\')));
    });
#endif
    while (at < end && *at != '"' && *at != '\\') ++at;
    if (at >= end) return end;
    if (*at == '"') return at + 1;
  }
}

const char* after_scalar(const char* at, const char* end) {
  const char* after = nullptr;
  if (*at == '-' || is_digit(*at)) {
    after = after_number(at, end);
  } else {
    const std::string_view text(at, static_cast<std::size_t>(end - at));
    if (starts_with_literal(text, "true") || starts_with_literal(text, "null"))
      after = at + 4;
    else if (starts_with_literal(text, "false"))
      after = at + 5;
  }
  if (after == nullptr || (after != end && !ends_a_scalar(*after))) return nullptr;
  return after;
}

}  // namespace karmad
