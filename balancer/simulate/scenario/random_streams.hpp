#pragma once

#include <cstdint>

#include "strategies/random_source.hpp"

namespace karmad {

/// What the random numbers of a simulation are for.
enum class RandomStream : std::uint8_t {
  arrivals,
  service,
  faults,
  master,
  oracle,
  recorded_arrivals,
};

/// An independent sequence for each purpose and index, so that the decisions of a strategy do not
/// change the load or the service times of another one.
inline SeededRandom random_stream(std::uint64_t seed, RandomStream what, std::uint64_t index) {
  constexpr std::uint64_t kOdd = 0xd1342543de82ef95;
  const auto purpose = static_cast<std::uint64_t>(what) + 1;
  return SeededRandom((seed * kOdd + purpose) * kOdd + index);
}

}  // namespace karmad
