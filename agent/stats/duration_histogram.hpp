#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "agent/stats/single_writer.hpp"
#include "strategies/time.hpp"

namespace karmad {

/// The highest duration of each bucket, as a monitoring system reads them: from 0.5 ms to 30 s.
inline constexpr std::array<Micros, 15> kDurationBounds{
    Micros{500},      Micros{1'000},    Micros{2'500},    Micros{5'000},      Micros{10'000},
    Micros{25'000},   Micros{50'000},   Micros{100'000},  Micros{250'000},    Micros{500'000},
    Micros{1000'000}, Micros{2500'000}, Micros{5000'000}, Micros{10'000'000}, Micros{30'000'000}};

/// The bucket of that duration; the last one has all durations above the bounds.
constexpr std::size_t duration_bucket(Micros took) noexcept {
  std::size_t bucket = 0;
  while (bucket < kDurationBounds.size() && took > kDurationBounds[bucket]) ++bucket;
  return bucket;
}

/// Durations counted by bucket, and their sum.
struct Durations {
  std::array<std::uint64_t, kDurationBounds.size() + 1> counts{};
  Micros sum{};
};

/// The same counts, written by one thread. Adding takes a few nanoseconds.
class OwnedDurations {
 public:
  void add(Micros took) noexcept {
    counts_[duration_bucket(took)].add(1);
    sum_.add(took.count());
  }
  void add_to(Durations& durations) const;

 private:
  std::array<SingleWriter<std::uint64_t>, kDurationBounds.size() + 1> counts_;
  SingleWriter<std::int64_t> sum_;
};

}  // namespace karmad
