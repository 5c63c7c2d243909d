#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "agent/stats/histogram.hpp"
#include "agent/stats/period_ring.hpp"
#include "agent/stats/single_writer.hpp"
#include "strategies/time.hpp"

namespace karmad {

/// Latencies of the recent answers of a mirror set, over all its mirrors.
struct RecentLatency {
  std::uint64_t samples = 0;
  std::optional<Micros> p95;  ///< empty without samples
  std::optional<Micros> p99;
  bool operator==(const RecentLatency&) const = default;
};

/// Numbers of latencies by bucket.
using LatencyCounts = std::array<std::uint64_t, kLatencyBuckets>;
RecentLatency recent_latency_of(const LatencyCounts& counts);

/// Recent latencies of a mirror, of which those of its set are made (CO-080), over the last 30 to
/// 60 s: long enough for a hundred answers of a small set, short enough to follow when all its
/// mirrors get slower. 3 KiB per worker that has asked the mirror, on its own cache lines.
class LatencyQuantiles {
 public:
  explicit LatencyQuantiles(unsigned workers) : cells_(workers) {}

  /// Called only by the worker with that index; a few nanoseconds. The first call allocates.
  void add(unsigned worker, TimePoint now, Micros took) noexcept;

  /// Adds latencies that a former process recorded. Before the workers run.
  void restore(TimePoint now, const LatencyCounts& counts) noexcept;

  /// Any thread. Sums over the current block and the one before it.
  RecentLatency over_recent(TimePoint now) const;
  /// Adds them to the counts of other mirrors.
  void add_recent(TimePoint now, LatencyCounts& sum) const;

 private:
  static constexpr Micros kBlock = std::chrono::seconds(30);
  struct Counts {
    std::array<SingleWriter<std::uint32_t>, kLatencyBuckets> of_bucket;
    void clear() noexcept;
  };
  struct alignas(64) Cell {
    BlockOfNow block_of_now;  // written by its worker only
    PeriodRing<Counts, 2> blocks;
  };

  std::vector<OnFirstUse<Cell>> cells_;
};

/// The last result of LatencyQuantiles, for readers on any thread. A reader may get numbers of two
/// consecutive results, which is harmless.
class PublishedLatency {
 public:
  void set(const RecentLatency& recent) noexcept;
  RecentLatency get() const noexcept;

 private:
  std::atomic<std::uint64_t> samples_{0};
  std::atomic<std::int64_t> p95_{-1};  // negative: none
  std::atomic<std::int64_t> p99_{-1};
};

}  // namespace karmad
