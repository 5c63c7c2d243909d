#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace karmad {

/// Source of random numbers for decisions. Each worker owns one; tests use one with fixed results.
/// A draw is one virtual call and allocates nothing.
class RandomSource {
 public:
  virtual ~RandomSource() = default;
  /// An integer in [0, n), each with the same probability. `n` must not be 0.
  virtual std::size_t below(std::size_t n) = 0;
  /// A number in [0, 1).
  virtual double uniform() = 0;
};

/// The finalizer of splitmix64: a fixed, public mixing of 64 bits.
constexpr std::uint64_t splitmix64(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// xoshiro256++ (Blackman and Vigna, 2019): a seed gives the same sequence on every machine.
class SeededRandom final : public RandomSource {
 public:
  explicit SeededRandom(std::uint64_t seed) {
    for (auto& word : state_) word = splitmix64(seed += 0x9e3779b97f4a7c15);
  }

  std::size_t below(std::size_t n) override {
    // Lemire's multiplication: the high half is the result; the few products that would favour low
    // results are drawn again.
    auto product = Product{next()} * n;
    if (static_cast<std::uint64_t>(product) < n) {
      const std::uint64_t favoured = (0 - std::uint64_t{n}) % n;
      while (static_cast<std::uint64_t>(product) < favoured) product = Product{next()} * n;
    }
    return static_cast<std::size_t>(product >> 64);
  }

  double uniform() override { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

 private:
  __extension__ using Product = unsigned __int128;

  std::uint64_t next() {
    auto& s = state_;
    const auto result = std::rotl(s[0] + s[3], 23) + s[0];
    const auto shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = std::rotl(s[3], 45);
    return result;
  }

  std::array<std::uint64_t, 4> state_{};
};

}  // namespace karmad
