#pragma once

#include <functional>

namespace karmad {

/// Runs `job`, which may block for long and cannot be cancelled (a look-up of a name), on a thread
/// that is never joined. The job must own all its data. At most 32 run at the same time; further
/// ones queue. Any thread.
void run_detached(std::move_only_function<void()> job);

}  // namespace karmad
