#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "agent/stats/single_writer.hpp"
#include "strategies/time.hpp"

namespace karmad {

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
