#pragma once

#include <algorithm>
#include <chrono>

#include "strategies/time.hpp"

namespace karmad {

/// Keeps some kind of work of a thread to a part of its time: on average, over a second. Pure; one
/// thread.
class TimeShare {
 public:
  /// Whether work of that kind may begin now. `share`: 0 … 1; 1: always.
  bool allows(double share, TimePoint now) {
    const auto since = std::chrono::duration<double>(now - looked_).count();
    looked_ = now;
    owed_ = std::max(0.0, owed_ - since * share);
    return share >= 1 || owed_ < share;
  }
  /// The work has taken that long.
  void took(TimePoint::duration time) { owed_ += std::chrono::duration<double>(time).count(); }

 private:
  TimePoint looked_{};
  double owed_ = 0;  ///< seconds of work that the share has not paid for yet
};

}  // namespace karmad
