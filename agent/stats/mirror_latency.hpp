#pragma once

#include <array>
#include <atomic>
#include <cstddef>
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

/// Latencies of queries at one mirror of one set, per block: the input of its karma (HA-005,
/// HA-027). Searches only, no pings; for a failure the caller passes the time that it counts as.
/// One cell per worker, on its own cache lines.
class PeriodLatency {
 public:
  /// `period` must be positive.
  PeriodLatency(unsigned workers, Micros period) : period_(period), cells_(workers) {}

  /// Called only by the worker with that index; a few nanoseconds, allocates nothing.
  void add(unsigned worker, TimePoint now, Micros took) noexcept;

  BlockNumber block_of(TimePoint now) const noexcept { return karmad::block_of(now, period_); }

  struct Sum {
    std::uint64_t count = 0;
    Micros time{};
    std::optional<Micros> mean() const { return mean_time(time, count); }
  };
  /// Any thread. Over these blocks; exact for the two blocks before the current one.
  Sum sum(BlockNumber first, BlockNumber last) const;
  /// Any thread. Over the current block and the one before it.
  Sum running(TimePoint now) const { return sum(block_of(now) - 1, block_of(now)); }

 private:
  struct Sums {
    SingleWriter<std::uint64_t> count;
    SingleWriter<std::int64_t> time;
    void clear() noexcept;
  };
  struct alignas(64) Cell {
    BlockOfNow block_of_now;     // written by its worker only
    PeriodRing<Sums, 3> blocks;  // current, closed, and one more for late readers
  };

  Micros period_;
  std::vector<Cell> cells_;
};

/// The end of one search at a mirror.
struct RecentAnswer {
  Micros age{};   ///< since it ended
  Micros took{};  ///< or longer, if it was cut off
};

/// Durations of the recent searches of a mirror, each with its time, to compare mirrors by. A
/// worker keeps at most one in kApart: a mirror that pauses for a moment and then gives many slow
/// answers at once shows that by few of them. 2 KiB per worker that has asked the mirror, on its
/// own cache lines.
class RecentAnswers {
 public:
  static constexpr std::size_t kKept = 256;  ///< of each worker
  static constexpr Micros kApart = std::chrono::milliseconds(50);

  explicit RecentAnswers(unsigned workers) : cells_(workers) {}

  /// Called only by the worker with that index; a few nanoseconds. The first call allocates. A
  /// duration above 4000 s counts as 4000 s.
  void add(unsigned worker, TimePoint now, Micros took) noexcept;

  /// Any thread. Appends those that ended at most `oldest` ago, in any order. An answer that is
  /// written at the same moment may be missing.
  void append(TimePoint now, Micros oldest, std::vector<RecentAnswer>& to) const;

 private:
  struct alignas(64) Cell {
    std::int64_t last = 0;      ///< when it was last written, µs of the process's clock
    std::uint64_t written = 0;  ///< entries since the start
    /// End in ms and duration in µs, 32 bits each; 0: none.
    std::array<SingleWriter<std::uint64_t>, kKept> entries;
  };
  std::vector<OnFirstUse<Cell>> cells_;
};

}  // namespace karmad
