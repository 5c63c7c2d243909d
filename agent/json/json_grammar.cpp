#include "agent/json/json_grammar.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
/// Marks a function that may be called only if `Avx2Block::is_here()`.
#define KARMAD_AVX2 [[gnu::target("avx2,bmi,bmi2,pclmul")]]
#endif

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
/// One bit per byte of a block.
using Bits = std::uint64_t;
constexpr auto kAll = ~Bits{0};
constexpr auto kLast = Bits{1} << (kBlock - 1);
/// The bit in which `[` differs from `{`, and `]` from `}`.
constexpr unsigned char kFold = 0x20;

/// Positions of the characters of JSON in a block. Those of text in strings are among them.
struct Marks {
  Bits opening, closing;  ///< braces and square brackets
  Bits commas, colons, points, minuses;
  Bits spaces, zeros, digits;
};

/// A block of 64 bytes and the positions of classes of bytes in it, found with instructions that
/// every machine has.
class AnyBlock {
 public:
  explicit AnyBlock(const char* bytes) : bytes_(bytes) {}

  Bits is(unsigned char c) const {
    return where([=](Vector bytes) { return bytes == c; });
  }
  /// The same for a character with bit 5, and for that without it.
  Bits is_folded(unsigned char c) const {
    return where([=](Vector bytes) { return (bytes | kFold) == c; });
  }
  Bits between(unsigned char first, unsigned char last) const {
    const auto most = static_cast<unsigned char>(last - first);
    return where([=](Vector bytes) { return bytes - first <= most; });
  }
  /// Whether there is a backslash, a control character or a byte beyond ASCII.
  bool has_rare() const { return (is('\\') | ~between(' ', 0x7F)) != 0; }
  Marks marks() const {
    return {.opening = is_folded('{'),
            .closing = is_folded('}'),
            .commas = is(','),
            .colons = is(':'),
            .points = is('.'),
            .minuses = is('-'),
            .spaces = is(' '),
            .zeros = is('0'),
            .digits = between('0', '9')};
  }

  /// Sets each bit for which the number of `bits` up to it, itself included, is odd.
  static Bits odd_up_to(Bits bits) {
    for (int by = 1; by < kBlock; by *= 2) bits ^= bits << by;
    return bits;
  }

 private:
  using Vector [[gnu::vector_size(16)]] = unsigned char;
  using Found [[gnu::vector_size(16)]] = signed char;

  template <class Wanted>
  Bits where(Wanted wanted) const {
    Bits bits = 0;
    for (int at = 0; at < kBlock; at += 16) {
      Vector bytes;
      std::memcpy(&bytes, bytes_ + at, sizeof bytes);
      const Found found = wanted(bytes);
#if defined(__SSE2__)
      bits |= static_cast<Bits>(_mm_movemask_epi8(reinterpret_cast<__m128i>(found))) << at;
#else
      for (int i = 0; i < 16; ++i) bits |= static_cast<Bits>(found[i] & 1) << (at + i);
#endif
    }
    return bits;
  }

  const char* bytes_;
};

#if defined(__SSE2__)
/// The same with AVX2 and BMI (processors since 2013): half the steps.
class Avx2Block {
 public:
  static bool is_here() {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("pclmul");
  }
  KARMAD_AVX2 explicit Avx2Block(const char* bytes) {
    std::memcpy(&low_, bytes, sizeof low_);
    std::memcpy(&high_, bytes + sizeof low_, sizeof high_);
  }
  KARMAD_AVX2 Bits is(unsigned char c) const { return bits_of(low_ == c, high_ == c); }
  KARMAD_AVX2 Bits between(unsigned char first, unsigned char last) const {
    const auto most = static_cast<unsigned char>(last - first);
    return bits_of(low_ - first <= most, high_ - first <= most);
  }
  KARMAD_AVX2 bool has_rare() const {
    // Bytes beyond ASCII are negative as signed numbers.
    const auto controls =
        (reinterpret_cast<Found>(low_) < ' ') | (reinterpret_cast<Found>(high_) < ' ');
    return mask_of(controls | (low_ == '\\') | (high_ == '\\')) != 0;
  }
  KARMAD_AVX2 Marks marks() const {
    const auto low = classes_of(low_);
    const auto high = classes_of(high_);
    const auto spaces_and_zeros = members_of<kSpaceOrZero>(low, high);
    const auto digits = members_of<kDigit>(low, high);
    return {.opening = members_of<kOpening>(low, high),
            .closing = members_of<kClosing>(low, high),
            .commas = members_of<kComma>(low, high),
            .colons = members_of<kColon>(low, high),
            .points = members_of<kPoint>(low, high),
            .minuses = members_of<kMinus>(low, high),
            .spaces = spaces_and_zeros & ~digits,
            .zeros = spaces_and_zeros & digits,
            .digits = digits};
  }
  KARMAD_AVX2 static Bits odd_up_to(Bits bits) {
    const auto product = _mm_clmulepi64_si128(_mm_set_epi64x(0, static_cast<std::int64_t>(bits)),
                                              _mm_set1_epi8(-1), 0);
    return static_cast<Bits>(_mm_cvtsi128_si64(product));
  }

 private:
  using Vector [[gnu::vector_size(32)]] = unsigned char;
  using Found [[gnu::vector_size(32)]] = signed char;

  enum Class { kOpening, kClosing, kComma, kColon, kPoint, kMinus, kSpaceOrZero, kDigit };
  using ByHalf = std::array<unsigned char, 16>;
  /// The classes, a bit each, of bytes whose lower half is the index, and of those with that upper
  /// half. Those that both halves have are the byte's.
  static constexpr auto kByHalves = [] {
    constexpr std::string_view kMembers[] = {"{[", "}]", ",", ":", ".", "-", " 0", "0123456789"};
    std::array<ByHalf, 2> classes{};
    for (unsigned of = kOpening; of <= kDigit; ++of)
      for (const unsigned char c : kMembers[of])
        for (auto* const half : {&classes[0][c & 15], &classes[1][c >> 4]})
          *half = static_cast<unsigned char>(*half | 1U << of);
    return classes;
  }();

  KARMAD_AVX2 static __m256i found_in(const ByHalf& table, const Vector& halves) {
    const auto* const bytes = reinterpret_cast<const __m128i*>(table.data());
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128(bytes)),
                               reinterpret_cast<__m256i>(halves));
  }
  /// A bit for each class in each byte. None beyond ASCII, where the shuffle gives 0.
  KARMAD_AVX2 static __m256i classes_of(const Vector& bytes) {
    return found_in(kByHalves[0], bytes) & found_in(kByHalves[1], bytes >> 4);
  }
  template <Class kClass>
  KARMAD_AVX2 static Bits members_of(const __m256i& low, const __m256i& high) {
    constexpr int kShift = kDigit - kClass;
    return bits_of(reinterpret_cast<Found>(_mm256_slli_epi16(low, kShift)),
                   reinterpret_cast<Found>(_mm256_slli_epi16(high, kShift)));
  }
  KARMAD_AVX2 static std::uint32_t mask_of(const Found& found) {
    return static_cast<std::uint32_t>(_mm256_movemask_epi8(reinterpret_cast<__m256i>(found)));
  }
  KARMAD_AVX2 static Bits bits_of(const Found& low, const Found& high) {
    return mask_of(low) | Bits{mask_of(high)} << 32;
  }

  Vector low_, high_;
};
#endif

/// Checks UTF-8 (RFC 3629) from block to block.
template <class Block>
class Utf8 {
 public:
  /// Invalid bytes among those in `high` and those that must continue a sequence.
  Bits wrong_in(const Block& block, const char* bytes, Bits high) {
    if (high == 0 && due_ == 0) return 0;
    const auto of_three = block.between(0xE0, 0xFF);  // first bytes of sequences of at least three
    const auto of_four = block.between(0xF0, 0xFF);
    const auto never = block.between(0xC0, 0xC1) | block.between(0xF5, 0xFF);
    // First bytes that restrict the second one.
    const auto narrow = block.is(0xE0) | block.is(0xED) | block.is(0xF0) | block.is(0xF4);
    const auto following = block.between(0x80, 0xBF);
    const auto leads = high & ~following;
    const auto due = due_ | leads << 1 | of_three << 2 | of_four << 3;
    due_ = leads >> 63 | of_three >> 62 | of_four >> 61;
    return (due ^ following) | never | (narrow == 0 && lead_ == 0 ? 0 : wrong_pairs(bytes, narrow));
  }

 private:
  /// Those of `narrow` whose second byte may not follow.
  [[gnu::noinline]] Bits wrong_pairs(const char* bytes, Bits narrow) {
    const auto byte = [bytes](int at) { return static_cast<unsigned char>(bytes[at]); };
    Bits wrong = may_follow(lead_, byte(0)) ? 0 : 1;
    lead_ = (narrow & kLast) != 0 ? byte(kBlock - 1) : 0;
    for (auto left = narrow & ~kLast; left != 0; left &= left - 1) {
      const auto place = std::countr_zero(left);
      if (!may_follow(byte(place), byte(place + 1))) wrong |= Bits{1} << place;
    }
    return wrong;
  }

  Bits due_ = 0;            ///< positions in the next block that must continue a sequence
  unsigned char lead_ = 0;  ///< last byte of the block if it restricts the next byte, else 0
};

/// Skips the character after a backslash; for `u` also four hexadecimal digits.
const char* after_escape(const char* at, const char* end, bool plain) {
  if (at == end) return nullptr;
  if (*at != 'u') return std::string_view("\"\\/bfnrt").contains(*at) ? at + 1 : nullptr;
  if (plain || end - at < 5) return nullptr;
  for (int i = 1; i <= 4; ++i)
    if (!is_digit(at[i]) && !((at[i] | 0x20) >= 'a' && (at[i] | 0x20) <= 'f')) return nullptr;
  return at + 5;
}

const char* after_digits(const char* at, const char* end) {
  const auto* const first = at;
  while (at != end && is_digit(*at)) ++at;
  return at == first ? nullptr : at;
}

const char* after_number(const char* at, const char* end, bool plain) {
  if (*at == '-') ++at;
  const bool zero = at != end && *at == '0';
  const auto* const integer = at;
  at = after_digits(at, end);
  if (at == nullptr || (zero && at != integer + 1)) return nullptr;
  if (at != end && *at == '.' && (at = after_digits(at + 1, end)) == nullptr) return nullptr;
  if (at == end || (*at != 'e' && *at != 'E')) return at;
  if (plain) return nullptr;
  ++at;
  if (at != end && (*at == '+' || *at == '-')) ++at;
  return after_digits(at, end);
}

constexpr auto kEndsAScalar = [] {
  std::array<bool, 256> ends{};
  for (unsigned char c = 0; c <= ' '; ++c) ends[c] = true;
  for (const unsigned char c : std::string_view(",]}:[{\"")) ends[c] = true;
  return ends;
}();
bool ends_a_scalar(char c) {
  return kEndsAScalar[static_cast<unsigned char>(c)];
}

/// Finds the bytes inside strings, keeping the state between blocks.
template <class Block>
class Strings {
 public:
  struct Found {
    Bits quotes;   ///< those that open or close a string
    Bits inside;   ///< strings, with the opening quote and without the closing one
    Bits escaped;  ///< bytes that a backslash stands before
  };
  Found take(Bits quotes, Bits backslashes) {
    Found found;
    found.escaped = backslashes != 0 || escape_ ? escaped(backslashes) : 0;
    found.quotes = quotes & ~found.escaped;
    found.inside = Block::odd_up_to(found.quotes) ^ open_;
    open_ = (found.inside & kLast) != 0 ? kAll : 0;
    return found;
  }

 private:
  [[gnu::noinline]] Bits escaped(Bits backslashes) {
    Bits found = escape_ ? 1 : 0;
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

  Bits open_ = 0;        ///< all: a string is
  bool escape_ = false;  ///< the last block ended in a backslash that counts
};

/// The open brackets.
class Nesting {
 public:
  explicit Nesting(std::size_t deepest) : deepest_(deepest) {}

  bool empty() const { return depth_ == 0; }
  /// Whether a brace is the innermost one. Not if there is none.
  bool in_object() const { return open_[depth_ - 1] == '{'; }

  /// False: it opens too deep, or closes another bracket.
  bool take(char bracket) {
    if (bracket != '{' && bracket != '[') return open_[--depth_] == bracket - 2;  // in ASCII
    if (depth_ == deepest_) return false;
    open_[depth_++] = bracket;
    return true;
  }

 private:
  const std::size_t deepest_;
  std::array<char, kMaxSkippedDepth> open_;
  std::size_t depth_ = 0;
};

/// Finds the bytes that follow marked bytes, across blocks.
class Following {
 public:
  /// `first`: the first byte of the first block follows a marked one.
  explicit Following(bool first = false) : carry_(Bits{first}) {}

  /// For each marked byte the next byte.
  Bits operator()(Bits marked) {
    const auto next = marked << 1 | carry_;
    carry_ = marked >> 63;
    return next;
  }
  /// The same, the next byte that is not in `passed`.
  Bits operator()(Bits marked, Bits passed) {
    Bits sum = 0;  // the carry of an addition runs through the passed bits
    const bool runs_out = __builtin_add_overflow(marked << 1 | carry_, passed, &sum);
    carry_ = marked >> 63 | Bits{runs_out};
    return sum & ~passed;
  }

 private:
  Bits carry_;
};

/// Validates a nested value by blocks: the positions allowed by RFC 8259 are checked for all bytes
/// of a block at once; only brackets are handled one by one.
template <class Block>
class Grammar {
 public:
  Grammar(const char* end, ValueLimits limits)
      : end_(end), plain_(limits.plain), nesting_(limits.deepest) {}

  bool closed() const { return nesting_.empty(); }
  /// Number of bytes of the last block that belong to the value.
  std::ptrdiff_t size_in_last() const { return kBlock - std::countl_zero(mine_); }

  /// Checks the next block, which is at `at` in the text (`bytes` may be a copy). False: its part
  /// of the value is malformed.
  bool take(const char* bytes, const char* at) {
    const Block block(bytes);
    Bits backslashes = 0, controls = 0, high = 0, never = 0;
    if (block.has_rare()) {
      backslashes = block.is('\\');
      controls = block.between(0, ' ' - 1);
      high = block.between(0x80, 0xFF);
      never = controls & ~(block.is('\t') | block.is('\n') | block.is('\r'));
    }
    const auto text = strings_.take(block.is('"'), backslashes);
    auto wrong = never | (controls & text.inside) | utf8_.wrong_in(block, bytes, high);
    if (text.inside != kAll || text.quotes != 0) {
      const auto marks = block.marks();
      Parts parts;
      parts.opening = marks.opening & ~text.inside;
      parts.closing = marks.closing & ~text.inside;
      if (!walk(bytes, parts)) return false;
      parts.commas = marks.commas & ~text.inside;
      parts.colons = marks.colons & ~text.inside;
      parts.strings = text.quotes & text.inside;
      const auto blanks = (marks.spaces | controls) & ~text.inside;
      parts.scalars = ~(text.inside | text.quotes | parts.stops() | blanks);
      const auto after_scalars = after_scalar_(parts.scalars);
      parts.scalar_begins = parts.scalars & ~after_scalars;
      wrong |= blanks == 0 ? misplaced(parts) : misplaced(parts, blanks);
      if ((parts.scalars | after_scalars) != 0) {
        Bits others = 0;
        wrong |= wrong_in_numbers(marks, parts, others);
        if (others != 0 && !are_scalars(others & mine_, at)) return false;
      }
    }
    if (text.escaped != 0 && !are_escapes(text.escaped & mine_, at)) return false;
    return wrong == 0 || (wrong & mine_) == 0;
  }

 private:
  /// The bytes outside strings by class.
  struct Parts {
    Bits in_object = 0;  ///< a brace is the innermost bracket before the byte
    Bits opening = 0, closing = 0, commas = 0, colons = 0;
    Bits strings = 0;  ///< their opening quotes
    Bits scalars = 0, scalar_begins = 0;

    Bits stops() const { return opening | closing | commas | colons; }
  };

  /// Handles the brackets one by one, up to the value's end. False: they do not match.
  bool walk(const char* bytes, Parts& parts) {
    parts.in_object = in_object_;
    for (auto left = parts.opening | parts.closing; left != 0; left &= left - 1) {
      if (!nesting_.take(bytes[std::countr_zero(left)])) return false;
      const auto up_to = left ^ (left - 1);
      if (nesting_.empty()) {
        mine_ = up_to;
        return true;
      }
      in_object_ = nesting_.in_object() ? kAll : 0;
      parts.in_object = (parts.in_object & up_to) | (in_object_ & ~up_to);
    }
    return true;
  }

  /// The bytes that may not follow their predecessor. `blanks`: white space, which is ignored.
  /// Between the quote before a key and the next colon there are no stops, and colons stand only at
  /// the end of such a part: keys and colons toggle it.
  template <class... Blanks>
  Bits misplaced(const Parts& parts, Blanks... blanks) {
    const auto separators = parts.commas | parts.colons;
    const auto after_separator = after_separator_(separators, blanks...);
    const auto for_item = for_item_(parts.opening | parts.commas, blanks...);
    const auto for_value = after_separator | for_item;
    const auto for_key = for_item & parts.in_object;
    const auto keys = parts.strings & for_key;
    const auto in_key = Block::odd_up_to(keys | parts.colons) ^ in_key_;
    in_key_ = (in_key & kLast) != 0 ? kAll : 0;
    return ((parts.strings | parts.opening | parts.scalar_begins) & ~for_value) |
           (parts.commas & for_value) | (parts.closing & after_separator) |
           ((parts.opening | parts.scalars) & for_key) | (parts.stops() & in_key);
  }

  /// The wrong bytes of numbers of digits with at most a sign and a point. `others`: bytes of other
  /// scalars, in which not all is found.
  Bits wrong_in_numbers(const Marks& marks, const Parts& parts, Bits& others) {
    const auto digits = marks.digits & parts.scalars;
    const auto points = marks.points & parts.scalars;
    const auto signs = marks.minuses & parts.scalar_begins;
    others = parts.scalars & ~(digits | points | signs);
    const auto first_digits = (parts.scalar_begins & ~signs) | after_sign_(signs);
    const auto after_integer = after_integer_(first_digits, digits);
    const auto after_zero = after_zero_(first_digits & marks.zeros);
    return (((first_digits & ~others) | after_point_(points)) & ~digits) | (after_zero & digits) |
           (points & ~after_integer);
  }

  /// Checks the scalars with the bytes `others`. They may begin before the block, which is at `at`.
  [[gnu::noinline]] bool are_scalars(Bits others, const char* at) const {
    for (std::ptrdiff_t passed = 0; passed < kBlock && (others & kAll << passed) != 0;) {
      const auto* begin = at + std::countr_zero(others & kAll << passed);
      while (!ends_a_scalar(begin[-1])) --begin;
      const auto* const after = after_scalar(begin, end_, plain_);
      if (after == nullptr) return false;
      passed = after - at;
    }
    return true;
  }

  [[gnu::noinline]] bool are_escapes(Bits escaped, const char* at) const {
    for (; escaped != 0; escaped &= escaped - 1)
      if (after_escape(at + std::countr_zero(escaped), end_, plain_) == nullptr) return false;
    return true;
  }

  const char* const end_;
  const bool plain_;
  Strings<Block> strings_;
  Utf8<Block> utf8_;
  Nesting nesting_;
  Following for_item_{true}, after_separator_, after_scalar_;
  Following after_sign_, after_integer_, after_zero_, after_point_;
  Bits in_object_ = 0;  ///< all: the last block ended in an object
  Bits in_key_ = 0;     ///< all: the last block ended between the quote before a key and the colon
  Bits mine_ = kAll;    ///< the bytes of the last block that belong to the value
};

template <class Block>
const char* after_nested_on(const char* at, const char* end, ValueLimits limits) {
  Grammar<Block> grammar(end, limits);
  for (;; at += kBlock) {
    const auto* bytes = at;
    const auto left = end - at;
    std::array<char, kBlock> last;
    if (left < kBlock) {
      if (left <= 0) return nullptr;
      last.fill(' ');
      std::memcpy(last.data(), at, static_cast<std::size_t>(left));
      bytes = last.data();
    }
    if (!grammar.take(bytes, at)) return nullptr;
    if (grammar.closed()) return at + grammar.size_in_last();
  }
}

#if defined(__SSE2__)
KARMAD_AVX2 [[gnu::flatten]] const char* after_nested_with_avx2(const char* at, const char* end,
                                                                ValueLimits limits) {
  return after_nested_on<Avx2Block>(at, end, limits);
}
#endif

}  // namespace

const char* after_nested(const char* at, const char* end, ValueLimits limits) {
#if defined(__SSE2__)
  static const bool with_avx2 = Avx2Block::is_here();
  if (with_avx2) return after_nested_with_avx2(at, end, limits);
#endif
  return after_nested_on_any_machine(at, end, limits);
}

const char* after_nested_on_any_machine(const char* at, const char* end, ValueLimits limits) {
  return after_nested_on<AnyBlock>(at, end, limits);
}

const char* after_string(const char* at, const char* end, bool plain) {
  for (;;) {
    at = find_special(at, end);
    if (at == end) return nullptr;
    if (*at == '"') return at + 1;
    if (*at == '\\') {
      at = after_escape(at + 1, end, plain);
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

const char* after_scalar(const char* at, const char* end, bool plain) {
  const char* after = nullptr;
  if (*at == '-' || is_digit(*at)) {
    after = after_number(at, end, plain);
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
