#pragma once

#include <utility>
#include <vector>

#include "agent/transport/loop/loop.hpp"

namespace karmad {

/// The loops of all workers, by their index; worker 0 has the pingers. Filled before anything is
/// posted, and never changed while anything runs. Without a loop everything happens at once, in the
/// thread that asks for it.
struct Loops {
  std::vector<Loop*> of;

  /// Runs `job` on a worker, later; from any thread.
  template <class Job>
  void post(unsigned worker, Job job) const {
    if (of.empty()) return job();
    of[worker]->post(std::move(job));
  }
};

}  // namespace karmad
