#include "agent/dialect/manticore_json/json_nesting.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

namespace karmad {

namespace {

constexpr std::ptrdiff_t kBlock = 64;

/// Where in a block of 64 bytes they stand, one bit each.
struct Marks {
  std::uint64_t quotes = 0;
  std::uint64_t backslashes = 0;
  std::uint64_t brackets = 0;  ///< braces too
};

#if defined(__SSE2__)
std::uint64_t bits_of(__m128i found) {
  return static_cast<std::uint32_t>(_mm_movemask_epi8(found));
}

Marks marks_of(const char* block) {
  Marks marks;
  for (int at = 0; at < kBlock; at += 16) {
    const auto bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + at));
    // `[` and `{`, `]` and `}` differ in bit 5 only.
    const auto folded = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
    marks.quotes |= bits_of(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'))) << at;
    marks.backslashes |= bits_of(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'))) << at;
    marks.brackets |= bits_of(_mm_or_si128(_mm_cmpeq_epi8(folded, _mm_set1_epi8('{')),
                                           _mm_cmpeq_epi8(folded, _mm_set1_epi8('}'))))
                      << at;
  }
  return marks;
}
#else
Marks marks_of(const char* block) {
  Marks marks;
  for (int at = 0; at < kBlock; ++at) {
    const auto bit = std::uint64_t{1} << at;
    const char folded = static_cast<char>(block[at] | 0x20);
    if (block[at] == '"') marks.quotes |= bit;
    if (block[at] == '\\') marks.backslashes |= bit;
    if (folded == '{' || folded == '}') marks.brackets |= bit;
  }
  return marks;
}
#endif

/// Knows from block to block whether a string is open.
class Strings {
 public:
  /// Brackets outside of strings, and backslashes, which have no business there.
  std::uint64_t outside(const Marks& marks) {
    const auto quotes = marks.quotes & ~escaped(marks.backslashes);
    auto inside = quotes;  // every bit: whether an odd number of quotes stands up to it
    for (int by = 1; by < kBlock; by *= 2) inside ^= inside << by;
    inside ^= open_;
    open_ = (inside >> 63) != 0 ? ~std::uint64_t{0} : 0;
    return (marks.brackets | marks.backslashes) & ~inside;
  }

 private:
  /// The bytes that a backslash before them takes the meaning from.
  std::uint64_t escaped(std::uint64_t backslashes) {
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

/// Which brackets are open: the 64 innermost as bits of one word (1: a brace), the others laid by.
class Nesting {
 public:
  bool closed() const { return depth_ == 0; }

  /// False: what `c` stands for may not come here.
  bool take(char c) {
    switch (c) {
      case '{':
        return open(1);
      case '[':
        return open(0);
      case '}':
        return close(1);
      case ']':
        return close(0);
      default:
        return false;
    }
  }

 private:
  bool open(std::uint64_t brace) {
    if (depth_ % 64 == 0 && depth_ != 0) {
      if (depth_ == kMaxSkippedDepth) return false;
      outer_[depth_ / 64 - 1] = innermost_;
    }
    innermost_ = innermost_ << 1 | brace;
    ++depth_;
    return true;
  }

  bool close(std::uint64_t brace) {
    if ((innermost_ & 1) != brace) return false;
    innermost_ >>= 1;
    --depth_;
    if (depth_ % 64 == 0 && depth_ != 0) innermost_ = outer_[depth_ / 64 - 1];
    return true;
  }

  static_assert(kMaxSkippedDepth % 64 == 0);
  std::array<std::uint64_t, kMaxSkippedDepth / 64 - 1> outer_;
  std::uint64_t innermost_ = 0;
  std::size_t depth_ = 0;
};

}  // namespace

const char* after_nested(const char* at, const char* end) {
  Strings strings;
  Nesting nesting;
  for (; at < end; at += kBlock) {
    const auto* block = at;
    std::array<char, kBlock> last;
    if (end - at < kBlock) {
      last.fill(' ');
      std::memcpy(last.data(), at, static_cast<std::size_t>(end - at));
      block = last.data();
    }
    for (auto stops = strings.outside(marks_of(block)); stops != 0; stops &= stops - 1) {
      const auto place = std::countr_zero(stops);
      if (!nesting.take(block[place])) return nullptr;
      if (nesting.closed()) return at + place + 1;
    }
    if (end - at < kBlock) break;
  }
  return nullptr;
}

}  // namespace karmad
