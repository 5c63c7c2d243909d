#pragma once

#include <cstdint>
#include <string>

#include "config/settings/settings.hpp"

namespace karmad {

/// The memory available to this process: the lowest limit of its control group (version 2 or 1),
/// the groups around it, and the machine; 0 if unknown. `root`: prefix of all file paths.
std::uint64_t memory_available(const std::string& root = {});

/// The value of `memory_limit` in bytes; 0: unlimited.
std::uint64_t memory_limit_of(MemorySize setting, std::uint64_t available);

/// Makes the allocator release memory that was unused for a while. jemalloc does that itself only
/// in calls for memory, which a worker that reuses its buffers rarely makes. Call about every
/// second, from any thread. Takes microseconds, after large answers milliseconds. Does nothing
/// without jemalloc.
void give_back_memory();

/// Releases the memory that only the start has used: code and constants of the program and its
/// libraries, which come back from the system's cache of files if they are used again; the
/// allocator's cache of the calling thread; and its stack below the caller. From the main thread,
/// some time after the start. Takes less than a millisecond.
void release_memory_of_start();

}  // namespace karmad
