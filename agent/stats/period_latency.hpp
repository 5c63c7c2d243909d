#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "agent/stats/period_ring.hpp"
#include "agent/stats/single_writer.hpp"
#include "strategies/time.hpp"

namespace karmad {

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

  /// Any thread. Exact for the two blocks before the current one; empty for other blocks and for
  /// blocks without samples.
  std::optional<Micros> mean_of_closed_block(BlockNumber number) const;

  /// Any thread. Number of samples in such a block.
  std::uint64_t count_of_closed_block(BlockNumber number) const;

  /// Any thread. Mean over the current block and the one before it.
  std::optional<Micros> running_mean(TimePoint now) const;

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

  struct Sum {
    std::uint64_t count = 0;
    Micros time{};
  };
  Sum sum(BlockNumber first, BlockNumber last) const;
  std::optional<Micros> mean(BlockNumber first, BlockNumber last) const;

  Micros period_;
  std::vector<Cell> cells_;
};

}  // namespace karmad
