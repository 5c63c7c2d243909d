#pragma once

#include <algorithm>
#include <chrono>

#include "strategies/time.hpp"

namespace karmad {

/// Keeps some kind of work of a thread to a part of its time, on average over a second, and to
/// times at which the thread keeps up. Pure; one thread.
class TimeShare {
 public:
  /// So long after the thread was late the work leaves it alone: the queries that waited meanwhile
  /// come first.
  static constexpr std::chrono::milliseconds kCalm{200};

  /// Whether work of that kind may begin now. `share`: 0 … 1; 1: always. `last_late`: when the
  /// thread was late the last time.
  bool allows(double share, TimePoint now, TimePoint last_late) {
    const auto since = std::chrono::duration<double>(now - looked_).count();
    looked_ = now;
    owed_ = std::max(0.0, owed_ - since * share);
    return share >= 1 || (owed_ < share && now - last_late >= kCalm);
  }
  /// The work has taken that long.
  void took(TimePoint::duration time) { owed_ += std::chrono::duration<double>(time).count(); }

 private:
  TimePoint looked_{};
  double owed_ = 0;  ///< seconds of work that the share has not paid for yet
};

}  // namespace karmad
