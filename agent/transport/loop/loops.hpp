#pragma once

#include <utility>
#include <vector>

#include "agent/transport/loop/loop.hpp"

namespace karmad {

/// The loops of all workers by index; worker 0 runs the pingers. Filled before the first post, then
/// constant. Without loops (in tests), jobs run at once on the calling thread.
struct Loops {
  std::vector<Loop*> of;

  /// Runs `job` later on that worker; from any thread.
  template <class Job>
  void post(unsigned worker, Job job) const {
    if (of.empty()) return job();
    of[worker]->post(std::move(job));
  }
};

}  // namespace karmad
