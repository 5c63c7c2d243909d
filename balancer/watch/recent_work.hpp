#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "strategies/time.hpp"

namespace karmad {

/// Attempts of one mirror.
struct RecentWork {
  std::uint64_t attempts = 0;  ///< started
  std::uint64_t failures = 0;  ///< ended in an error of the mirror
  std::uint64_t queries = 0;   ///< answered
  Micros query_time{};         ///< sum for the answered ones
  std::uint64_t connects = 0;
  Micros connect_time{};

  RecentWork operator-(const RecentWork& other) const {
    return {attempts - other.attempts, failures - other.failures,
            queries - other.queries,   query_time - other.query_time,
            connects - other.connects, connect_time - other.connect_time};
  }
  /// Mean time of an answered query.
  std::optional<Micros> mean() const { return over(query_time, queries); }
  std::optional<Micros> mean_connect() const { return over(connect_time, connects); }

 private:
  static std::optional<Micros> over(Micros sum, std::uint64_t count) {
    if (count == 0) return std::nullopt;
    return sum / static_cast<std::int64_t>(count);
  }
};

/// The work of the last seconds, from sums since the start that are sampled at equal intervals.
class WorkWindow {
 public:
  static constexpr std::size_t kSamples = 20;  ///< 10 s at two samples per second
  static constexpr std::size_t kFewest = 4;
  static constexpr std::size_t kSecond = 2;
  static constexpr std::uint64_t kEnough = 20;

  void add(const RecentWork& since_start) {
    samples_[added_ % samples_.size()] = since_start;
    ++added_;
  }

  /// The work of the last 2 s.
  RecentWork latest() const { return since(kFewest); }
  /// The work of the last 10 s.
  RecentWork longest() const { return since(kSamples); }
  /// The work of the last second; nothing before it was watched for so long.
  RecentWork last_second() const { return added_ > kSecond ? since(kSecond) : RecentWork(); }

  /// The work of the last 2 s; with fewer than 20 attempts in them, of up to 10 s.
  RecentWork recent() const {
    RecentWork work;
    for (std::size_t back = 1; back < std::min(added_, samples_.size()); ++back) {
      work = at(0) - at(back);
      if (back >= kFewest && work.attempts >= kEnough) break;
    }
    return work;
  }

 private:
  RecentWork since(std::size_t samples) const {
    if (added_ < 2) return {};
    return at(0) - at(std::min(added_ - 1, samples));
  }
  const RecentWork& at(std::size_t back) const {
    return samples_[(added_ - 1 - back) % samples_.size()];
  }

  std::array<RecentWork, kSamples + 1> samples_;
  std::size_t added_ = 0;
};

}  // namespace karmad
