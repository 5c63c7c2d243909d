#pragma once

#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <iterator>

namespace karmad {

/// Positions of mirrors in one mirror set, as bits: a value in a register, so that narrowing
/// allocates nothing. A mirror set therefore has at most 64 members (config checks it).
class Candidates {
 public:
  static constexpr std::size_t kMost = 64;

  /// Visits the positions in ascending order.
  class Iterator {
   public:
    using value_type = std::size_t;
    using difference_type = std::ptrdiff_t;

    constexpr Iterator() = default;
    constexpr explicit Iterator(std::uint64_t left) : left_(left) {}
    constexpr std::size_t operator*() const {
      return static_cast<std::size_t>(std::countr_zero(left_));
    }
    constexpr Iterator& operator++() {
      left_ &= left_ - 1;
      return *this;
    }
    constexpr Iterator operator++(int) {
      const auto before = *this;
      ++*this;
      return before;
    }
    constexpr bool operator==(const Iterator&) const = default;

   private:
    std::uint64_t left_ = 0;
  };

  constexpr Candidates() = default;

  /// The positions 0 … n - 1.
  static constexpr Candidates first(std::size_t n) {
    assert(n <= kMost);
    return Candidates(n == 0 ? 0 : ~std::uint64_t{0} >> (kMost - n));
  }

  /// That position alone.
  static constexpr Candidates only(std::size_t mirror) {
    return Candidates(std::uint64_t{1} << mirror);
  }

  /// The mirrors as bits, for atomics.
  static constexpr Candidates from_bits(std::uint64_t bits) { return Candidates(bits); }
  constexpr std::uint64_t bits() const { return bits_; }

  constexpr std::size_t size() const { return static_cast<std::size_t>(std::popcount(bits_)); }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr bool contains(std::size_t mirror) const {
    return mirror < kMost && ((bits_ >> mirror) & 1) != 0;
  }

  constexpr void insert(std::size_t mirror) {
    assert(mirror < kMost);
    bits_ |= std::uint64_t{1} << mirror;
  }

  /// One more than the last position; 0 if empty.
  constexpr std::size_t bound() const { return static_cast<std::size_t>(std::bit_width(bits_)); }

  /// The `n`th position in ascending order, counted from 0; `n` is below size().
  constexpr std::size_t nth(std::size_t n) const {
    assert(n < size());
    if ((bits_ & (bits_ + 1)) == 0) return n;  // no gaps: the usual case
    auto left = bits_;
    for (; n > 0; --n) left &= left - 1;
    return static_cast<std::size_t>(std::countr_zero(left));
  }

  /// The first position at or after `mirror`, continuing from 0 at the end; the set is not empty.
  constexpr std::size_t next_from(std::size_t mirror) const {
    assert(!empty());
    const auto later = mirror < kMost ? bits_ >> mirror << mirror : 0;
    return static_cast<std::size_t>(std::countr_zero(later != 0 ? later : bits_));
  }

  /// The members that satisfy `wanted`. Calls it for every position below bound(), member or not: a
  /// loop without branches costs half of visiting each bit.
  template <class Wanted>
  constexpr Candidates where(Wanted wanted) const {
    std::uint64_t kept = 0;
    const auto end = bound();
    for (std::size_t mirror = 0; mirror < end; ++mirror)
      kept |= static_cast<std::uint64_t>(wanted(mirror)) << mirror;
    return Candidates(bits_ & kept);
  }

  constexpr Iterator begin() const { return Iterator(bits_); }
  constexpr Iterator end() const { return {}; }

  friend constexpr Candidates operator-(Candidates from, Candidates without) {
    return Candidates(from.bits_ & ~without.bits_);
  }
  friend constexpr Candidates operator&(Candidates a, Candidates b) {
    return Candidates(a.bits_ & b.bits_);
  }
  friend constexpr Candidates operator|(Candidates a, Candidates b) {
    return Candidates(a.bits_ | b.bits_);
  }
  constexpr bool operator==(const Candidates&) const = default;

 private:
  constexpr explicit Candidates(std::uint64_t bits) : bits_(bits) {}

  std::uint64_t bits_ = 0;
};

static_assert(std::forward_iterator<Candidates::Iterator>);

}  // namespace karmad
