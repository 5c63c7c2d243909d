#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "agent/stats/histogram.hpp"
#include "agent/stats/outcome.hpp"
#include "agent/stats/period_ring.hpp"
#include "agent/stats/single_writer.hpp"
#include "agent/stats/stats_writer.hpp"
#include "strategies/time.hpp"

namespace karmad {

/// Number of stored blocks (HA-011).
inline constexpr unsigned kStoredPeriods = 15;

/// The end of an attempt at an agent, or of a ping.
struct Event {
  Counter counter = Counter::none;
  bool ping = false;              ///< counted as success or error, never as latency (X-7, HA-025)
  Micros took{};                  ///< from sending the request to the end of the reply
  std::optional<Micros> connect;  ///< duration of connecting, if it succeeded
};

/// Sums over events.
struct Totals {
  std::array<std::uint64_t, kCounters> counts{};  ///< by Counter, pings included
  std::uint64_t queries = 0;                      ///< succeeded queries, without pings
  Micros query_time{};                            ///< sum of their times
  std::uint64_t connects = 0;
  Micros connect_time{};
  Micros connect_max{};

  std::uint64_t count(Counter counter) const { return counts[static_cast<std::size_t>(counter)]; }
  bool operator==(const Totals&) const = default;
};

/// Mean time of the succeeded queries, without pings; empty if there are none.
std::optional<Micros> mean_query_time(const Totals& totals);

/// The time that Totals cover: the last periods, or the life of the process.
enum class Over : std::uint8_t { periods, life };
void write(StatsWriter& out, const Totals& totals, Over over);

/// The input of `noerrors`: the first seven counters are critical (HA-023).
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

/// The same sums as Totals, written by one worker.
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

/// Sums since the start, without history: one per table, shard and mirror. 128 bytes per worker.
/// Threads as in History.
class Tally {
 public:
  explicit Tally(unsigned workers) : cells_(workers) {}
  void add(unsigned worker, const Event& event) noexcept { cells_[worker].totals.add(event); }
  /// Counts the start of an attempt.
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

/// Sums for an agent over the last periods and since the start. Every worker writes its own cell
/// (about 5 KiB, on its own cache lines); a reader adds the cells. No function waits.
class History {
 public:
  /// `period` must be positive.
  History(unsigned workers, Micros period) : period_(period), cells_(workers) {}

  /// Called only by the worker with that index. A few nanoseconds, allocates nothing; the first
  /// call in a block also clears the block that was 15 periods ago.
  void add(unsigned worker, TimePoint now, const Event& event) noexcept;

  /// Any thread. Sums over the current block and those before it, `periods` in all. One more is
  /// added while the current one is younger than half a period (HA-010). At most the stored ones.
  Totals over(unsigned periods, TimePoint now) const;

  /// Any thread. Latencies of succeeded queries, over the same window with one period.
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
    BlockOfNow block_of_now;  // written by its worker only
    OwnedTotals since_start;
    PeriodRing<OwnedTotals, kStoredPeriods> blocks;
    PeriodRing<Latencies, 2> latencies;  // enough for a window of one period
  };

  Micros period_;
  std::vector<Cell> cells_;
};

}  // namespace karmad
