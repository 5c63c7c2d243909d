#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "agent/stats/histogram.hpp"
#include "agent/stats/stats_writer.hpp"

namespace karmad {

/// The status codes that are counted apart; all others are counted together.
inline constexpr std::array<int, 25> kCountedCodes{101, 200, 201, 204, 206, 301, 302, 304, 400,
                                                   401, 403, 404, 405, 408, 409, 413, 415, 429,
                                                   449, 499, 500, 501, 502, 503, 504};

/// Sums over the requests of a table since the start.
struct TableTotals {
  std::array<std::uint64_t, kCountedCodes.size() + 1> responses{};  ///< the last one: other codes
  Durations requests;  ///< from the complete request to its answer
  Durations attempts;  ///< that ended with a reply, an error or a timeout
};
void write(StatsWriter& out, const TableTotals& totals);

/// Counts the requests of a table. Every worker writes its own cell of 512 bytes. Survives reloads.
class TableTally {
 public:
  explicit TableTally(unsigned workers) : cells_(workers) {}

  // Called only by the worker with that index; a few nanoseconds, allocate nothing.
  /// 499: the client has left.
  void responded(unsigned worker, int code, Micros took) noexcept;
  void attempted(unsigned worker, Micros took) noexcept { cells_[worker].attempts.add(took); }

  /// Any thread.
  TableTotals totals() const;

 private:
  struct alignas(64) Cell {
    std::array<SingleWriter<std::uint64_t>, kCountedCodes.size() + 1> responses;
    OwnedDurations requests;
    OwnedDurations attempts;
  };
  std::vector<Cell> cells_;
};

}  // namespace karmad
