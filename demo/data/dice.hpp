#pragma once

#include <cstdint>

namespace karmad::demo {

/// The splitmix64 generator: a seed gives the same numbers on every machine.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() { return mixed(state_ += 0x9e3779b97f4a7c15ULL); }
  /// The finalizer of splitmix64.
  static std::uint64_t mixed(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  /// A number in [0, limit); the bias is below 2^-50 for the small limits used here.
  std::uint64_t below(std::uint64_t limit) { return next() % limit; }
  /// A number in [0, 1).
  double fraction() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

 private:
  std::uint64_t state_;
};

}  // namespace karmad::demo
