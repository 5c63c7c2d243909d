#pragma once

#include <cstdint>
#include <string>

#include "config/settings.hpp"

namespace karmad {

/// The memory that this process may have: the least of what its control group (version 2 or 1), the
/// groups around it and the machine allow; 0 if unknown. `root`: stands before the paths of files.
std::uint64_t memory_available(const std::string& root = {});

/// What `memory_limit` comes to, in bytes; 0: no limit.
std::uint64_t memory_limit_of(MemorySize setting, std::uint64_t available);

/// Lets the allocator give back to the system what has been unused for a while. jemalloc does that
/// by itself only when it is asked for memory, which a worker that reuses its own never does. Call
/// it about every second, from any thread. It takes microseconds, after large answers milliseconds.
/// Without jemalloc nothing happens.
void give_back_memory();

}  // namespace karmad
