#pragma once

namespace karmad {

/// Lets the allocator give back to the system what has been unused for a while. jemalloc does that
/// by itself only when it is asked for memory, which whoever uses his own again never does. Call it
/// every second or so, from any thread; costs microseconds, and milliseconds after large answers.
/// Without jemalloc nothing happens.
void give_back_memory();

}  // namespace karmad
