#pragma once

#include <functional>

namespace karmad {

/// Runs `job`, which may block for long and cannot be broken off (a look-up of a name), on a thread
/// that is never joined, not even at the end of the process. The job must own what it uses. At most
/// 32 run at a time; further ones wait for their turn. From any thread.
void run_detached(std::move_only_function<void()> job);

}  // namespace karmad
