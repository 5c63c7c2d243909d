#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "agent/stats/single_writer.hpp"
#include "strategies/time.hpp"

namespace karmad {

/// Latencies are counted in buckets whose width grows with the value: 16 per doubling, so a
/// bucket's middle differs at most 1/32 (3.2 %) from the measured value. Below 16 us buckets are
/// exact; the last bucket has everything from 2^27 us (134 s) on.
inline constexpr std::size_t kLatencyBuckets = 384;

constexpr std::size_t latency_bucket(Micros took) noexcept {
  if (took.count() < 16) return took.count() < 0 ? 0 : static_cast<std::size_t>(took.count());
  const auto value = static_cast<std::uint64_t>(took.count());
  const auto doubling = static_cast<unsigned>(std::bit_width(value)) - 5;  // 0: from 16 to 31
  const auto bucket = 16 * (1 + std::size_t{doubling}) + ((value >> doubling) & 15);
  return bucket < kLatencyBuckets ? bucket : kLatencyBuckets - 1;
}

/// The middle of the bucket's range.
constexpr Micros latency_of_bucket(std::size_t bucket) noexcept {
  if (bucket < 16) return Micros{bucket};
  const auto doubling = bucket / 16 - 1;
  const auto lower = (16 + bucket % 16) << doubling;
  return Micros{lower + ((std::size_t{1} << doubling) - 1) / 2};
}

/// The lowest latency that at least the share `q` in (0, 1] of the counted ones does not exceed,
/// within a bucket's width; empty if nothing was counted. `counts` has one number per bucket.
std::optional<Micros> quantile(std::span<const std::uint64_t, kLatencyBuckets> counts, double q);

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
