#include "balancer/core/memory.hpp"

#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <limits>
#include <span>
#include <string_view>

#include "config/text/number_in.hpp"

/// A function of jemalloc; null in programs without it.
extern "C" int mallctl(const char* name, void* old, std::size_t* old_size, void* value,
                       std::size_t value_size) __attribute__((weak));

namespace karmad {
namespace {

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

/// The number in a file of a control group; `max` or a missing file means no limit.
std::uint64_t limit_in(const std::filesystem::path& file) {
  std::string text;
  std::ifstream(file) >> text;
  return number_in<std::uint64_t>(text).value_or(kNoLimit);
}

/// The lowest limit of a group and the groups around it. In a container the path may be that of the
/// host, and the files are at the top.
std::uint64_t least_limit(const std::filesystem::path& top, std::string_view group,
                          std::string_view name) {
  auto least = limit_in(top / name);
  for (auto path = std::filesystem::path(group).relative_path(); !path.empty();
       path = path.parent_path())
    least = std::min(least, limit_in(top / path / name));
  return least;
}

std::uint64_t physical_memory() {
  const auto pages = ::sysconf(_SC_PHYS_PAGES);
  const auto size = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0
             ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(size)
             : kNoLimit;
}

/// Pages that were never written: writable segments hold relocated addresses and variables.
int unmap_read_only_segments(dl_phdr_info* object, std::size_t, void*) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  for (const auto& segment : std::span(object->dlpi_phdr, object->dlpi_phnum)) {
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const auto begin = (object->dlpi_addr + segment.p_vaddr) / page * page;
    const auto end = object->dlpi_addr + segment.p_vaddr + segment.p_memsz;
    auto* const first = reinterpret_cast<void*>(begin);  // NOLINT: the linker gives numbers
    ::madvise(first, end - begin, MADV_DONTNEED);
  }
  return 0;
}

/// The part below this function.
void release_stack() {
  constexpr std::uintptr_t kUnused = 8 << 10;
  pthread_attr_t attributes;
  void* lowest = nullptr;
  std::size_t size = 0;
  if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return;
  const bool known = ::pthread_attr_getstack(&attributes, &lowest, &size) == 0;
  ::pthread_attr_destroy(&attributes);
  const auto begin = reinterpret_cast<std::uintptr_t>(lowest);
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const auto end = here / kUnused * kUnused - kUnused;  // what it calls needs less
  // A part of the range may not be mapped yet; the call skips it.
  if (known && begin < end) ::madvise(lowest, end - begin, MADV_DONTNEED);
}

}  // namespace

std::uint64_t memory_available(const std::string& root) {
  auto least = physical_memory();
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // `number:controllers:path`
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const auto controllers = ',' + line.substr(first + 1, second - first - 1) + ',';
    const auto path = line.substr(second + 1);
    if (controllers == ",,")
      least = std::min(least, least_limit(root + "/sys/fs/cgroup", path, "memory.max"));
    else if (controllers.find(",memory,") != controllers.npos)
      least = std::min(least,
                       least_limit(root + "/sys/fs/cgroup/memory", path, "memory.limit_in_bytes"));
  }
  return least == kNoLimit ? 0 : least;
}

std::uint64_t memory_limit_of(MemorySize setting, std::uint64_t available) {
  return setting.automatic ? available / 2 : setting.bytes;
}

void give_back_memory() {
  // 4096 means all arenas (MALLCTL_ARENAS_ALL); dirty_decay_ms sets the time.
  if (mallctl != nullptr) mallctl("arena.4096.decay", nullptr, nullptr, nullptr, 0);
}

void release_memory_of_start() {
  ::dl_iterate_phdr(unmap_read_only_segments, nullptr);
  release_stack();
  if (mallctl != nullptr) mallctl("thread.tcache.flush", nullptr, nullptr, nullptr, 0);
}

}  // namespace karmad
