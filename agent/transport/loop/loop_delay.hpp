#pragma once

#include <algorithm>
#include <cstdint>

#include "agent/stats/single_writer.hpp"
#include "strategies/time.hpp"

namespace karmad {

/// Measures how late a loop runs: the delay of its clock tick. A long turn delays all other work as
/// much. The tick passes the time that it reads anyway, so this costs nothing. The loop's thread
/// writes, any thread reads.
class LoopDelay {
 public:
  /// Delays above this are counted.
  static constexpr Micros kLate{5'000};
  /// Length of the windows of longest(), which covers the current and the last one.
  static constexpr Micros kWindow{60'000'000};

  /// A tick ran at `now`, `late` after its due time.
  void note(TimePoint now, Micros late) {
    if (now - began_ >= kWindow) {
      before_.set(now - began_ < 2 * kWindow ? current_.get() : 0);
      current_.set(0);
      began_ = now;
    }
    if (late.count() > current_.get()) current_.set(late.count());
    if (late > kLate) late_.add(1);
  }

  /// Of the last one to two minutes; an idle loop has no ticks and keeps its last value.
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
