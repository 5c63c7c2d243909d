#pragma once

#include <algorithm>
#include <cstdint>

#include "agent/stats/single_writer.hpp"
#include "strategies/time.hpp"

namespace karmad {

/// How late a loop comes to its work, by its clock tick: how much later than it was due a tick ran.
/// A turn that takes long delays everything else by as much. It is told the time; the tick reads
/// the clock anyway, so this costs nothing. The loop's thread notes, any thread reads.
class LoopDelay {
 public:
  /// Later than this is counted.
  static constexpr Micros kLate{5'000};
  /// longest() is over the current window and the one before.
  static constexpr Micros kWindow{60'000'000};

  /// A tick ran at `now`, `late` after it was due.
  void note(TimePoint now, Micros late) {
    if (now - began_ >= kWindow) {
      before_.set(now - began_ < 2 * kWindow ? current_.get() : 0);
      current_.set(0);
      began_ = now;
    }
    if (late.count() > current_.get()) current_.set(late.count());
    if (late > kLate) late_.add(1);
  }

  /// Of the last one to two minutes; without ticks, of those before: an idle loop has none.
  Micros longest() const { return Micros{std::max(current_.get(), before_.get())}; }
  /// Ticks later than kLate, since the start.
  std::uint64_t late() const { return late_.get(); }

 private:
  TimePoint began_{};
  SingleWriter<Micros::rep> current_;
  SingleWriter<Micros::rep> before_;
  SingleWriter<std::uint64_t> late_;
};

}  // namespace karmad
