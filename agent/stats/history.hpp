#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "agent/stats/latency_histogram.hpp"
#include "agent/stats/outcome.hpp"
#include "agent/stats/period_ring.hpp"
#include "agent/stats/single_writer.hpp"
#include "agent/stats/stats_writer.hpp"
#include "strategies/time.hpp"

namespace karmad {

/// How many blocks are kept for inspection (HA-011).
inline constexpr unsigned kStoredPeriods = 15;

/// One thing that happened with an agent: an attempt ended, or a ping.
struct Event {
  Counter counter = Counter::none;
  bool ping = false;              ///< counted as success or error, never as latency (X-7, HA-025)
  Micros took{};                  ///< from sending to the end of the reply
  std::optional<Micros> connect;  ///< how long connecting took, if it was done and succeeded
};

/// Sums of what happened.
struct Totals {
  std::array<std::uint64_t, kCounters> counts{};  ///< by Counter, pings included
  std::uint64_t queries = 0;                      ///< those that succeeded, without pings
  Micros query_time{};                            ///< of these queries together
  std::uint64_t connects = 0;
  Micros connect_time{};
  Micros connect_max{};

  std::uint64_t count(Counter counter) const { return counts[static_cast<std::size_t>(counter)]; }
  bool operator==(const Totals&) const = default;
};

/// Mean time of the succeeded queries, without pings; empty when there were none.
std::optional<Micros> mean_query_time(const Totals& totals);
std::optional<Micros> mean_connect_time(const Totals& totals);

/// What Totals are over: the last periods, or all the time.
enum class Over : std::uint8_t { periods, life };
void write(StatsWriter& out, const Totals& totals, Over over);

/// What `noerrors` judges by: the first seven counters are critical (HA-023).
struct ErrorSums {
  std::uint64_t successes = 0;
  std::uint64_t warnings = 0;
  std::uint64_t critical = 0;

  bool operator==(const ErrorSums&) const = default;
};
ErrorSums error_sums(const Totals& totals);

struct Quantiles {
  std::optional<Micros> p50;
  std::optional<Micros> p95;
  std::optional<Micros> p99;
};
void write(StatsWriter& out, const Quantiles& quantiles);

/// What Totals is read from: the same sums, of one worker.
class OwnedTotals {
 public:
  void add(const Event& event) noexcept;  ///< owner only
  void clear() noexcept;                  ///< owner only
  void add_to(Totals& totals) const;

 private:
  std::array<SingleWriter<std::uint64_t>, kCounters> counts_;
  SingleWriter<std::uint64_t> queries_;
  SingleWriter<std::int64_t> query_time_;
  SingleWriter<std::uint64_t> connects_;
  SingleWriter<std::int64_t> connect_time_;
  SingleWriter<std::int64_t> connect_max_;
};

/// Sums since the start without any history: what is kept per table, shard and mirror. 128 bytes
/// per worker. Threads as in History.
class Tally {
 public:
  explicit Tally(unsigned workers) : cells_(workers) {}
  void add(unsigned worker, const Event& event) noexcept { cells_[worker].totals.add(event); }
  /// An attempt begins.
  void attempted(unsigned worker) noexcept { cells_[worker].attempts.add(1); }
  Totals totals() const;
  std::uint64_t attempts() const;

 private:
  struct alignas(64) Cell {
    OwnedTotals totals;
    SingleWriter<std::uint64_t> attempts;
  };
  std::vector<Cell> cells_;
};

/// What an agent did in the last periods, and since the start. Every worker writes to its own cell
/// (about 5 KiB, on its own cache lines); a reader adds the cells up. Nothing here waits.
class History {
 public:
  /// `period` must be positive.
  History(unsigned workers, Micros period) : period_(period), cells_(workers) {}

  /// Called by the worker of that index only. A few nanoseconds, allocates nothing; the first call
  /// in a block also wipes what was there 15 periods ago.
  void add(unsigned worker, TimePoint now, const Event& event) noexcept;

  /// Any thread. The current block and those before it, `periods` in all and one more as long as
  /// the current one is younger than half a period (HA-010), at most the stored ones.
  Totals over(unsigned periods, TimePoint now) const;

  /// Any thread. Latencies of succeeded queries in the window of one period.
  Quantiles quantiles(TimePoint now) const;

  /// Any thread.
  Totals since_start() const;

  Micros period() const { return period_; }

 private:
  struct Latencies {
    std::array<SingleWriter<std::uint32_t>, kLatencyBuckets> counts;
    void clear() noexcept;
  };
  struct alignas(64) Cell {
    BlockOfNow block_of_now;  // its owner's
    OwnedTotals since_start;
    PeriodRing<OwnedTotals, kStoredPeriods> blocks;
    PeriodRing<Latencies, 2> latencies;  // what the window of one period can ask for
  };

  Micros period_;
  std::vector<Cell> cells_;
};

}  // namespace karmad
