#pragma once

#include <cstdint>
#include <string>

#include "config/settings.hpp"

namespace karmad {

/// The memory that this process may have: the least of what its control group (version 2 or 1), the
/// groups around it and the machine allow. `root`: stands before the paths of files. 0: nobody
/// says.
std::uint64_t memory_available(const std::string& root = {});

/// What `memory_limit` comes to, in bytes; 0: no limit.
std::uint64_t memory_limit_of(MemorySize setting, std::uint64_t available);

/// Lets the allocator give back to the system what has been unused for a while. jemalloc does that
/// by itself only when it is asked for memory, which whoever uses his own again never does. Call it
/// every second or so, from any thread; costs microseconds, and milliseconds after large answers.
/// Without jemalloc nothing happens.
void give_back_memory();

}  // namespace karmad
