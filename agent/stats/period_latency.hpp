#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "agent/stats/period_ring.hpp"
#include "agent/stats/single_writer.hpp"
#include "strategies/time.hpp"

namespace karmad {

/// How long queries took at one mirror of one set, per block: what its karma is computed from
/// (HA-005, HA-027). Searches only, never pings; a failure is entered by the caller with the time
/// it is to count for. One cell per worker, on its own cache lines.
class PeriodLatency {
 public:
  /// `period` must be positive.
  PeriodLatency(unsigned workers, Micros period) : period_(period), cells_(workers) {}

  /// Called by the worker of that index only; a few nanoseconds, allocates nothing.
  void add(unsigned worker, TimePoint now, Micros took) noexcept;

  BlockNumber block_of(TimePoint now) const noexcept { return karmad::block_of(now, period_); }

  /// Any thread. Exact for a block that is over, as long as it is one of the two before the
  /// current one; empty when nothing was measured in it.
  std::optional<Micros> mean_of_closed_block(BlockNumber number) const;

  /// Any thread. Over the current block and the one before it.
  std::optional<Micros> running_mean(TimePoint now) const;

 private:
  struct Sums {
    SingleWriter<std::uint64_t> count;
    SingleWriter<std::int64_t> time;
    void clear() noexcept;
  };
  struct alignas(64) Cell {
    BlockOfNow block_of_now;     // its owner's
    PeriodRing<Sums, 3> blocks;  // the one being filled, the closed one, one for a late reader
  };

  std::optional<Micros> mean(BlockNumber first, BlockNumber last) const;

  Micros period_;
  std::vector<Cell> cells_;
};

}  // namespace karmad
