#include "balancer/memory.hpp"

#include <cstddef>

/// jemalloc's, in programs that are linked with it.
extern "C" int mallctl(const char* name, void* old, std::size_t* old_size, void* value,
                       std::size_t value_size) __attribute__((weak));

namespace karmad {

void give_back_memory() {
  // 4096 stands for all arenas (MALLCTL_ARENAS_ALL); how long "a while" is says dirty_decay_ms.
  if (mallctl != nullptr) mallctl("arena.4096.decay", nullptr, nullptr, nullptr, 0);
}

}  // namespace karmad
