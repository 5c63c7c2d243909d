#include "balancer/status/process_numbers.hpp"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

namespace karmad {
namespace {

using enum StatKind;

Micros micros_of(const timeval& time) {
  return std::chrono::seconds(time.tv_sec) + Micros{time.tv_usec};
}

std::optional<std::uint64_t> count_descriptors() {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc/self/fd"), ::closedir);
  if (!folder) return std::nullopt;
  std::uint64_t entries = 0;
  while (::readdir(folder.get()) != nullptr) ++entries;
  constexpr std::uint64_t kOthers = 3;  // `.`, `..` and the folder itself
  return entries - kOthers;
}

void read_memory(ProcessNumbers& numbers) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(::fopen("/proc/self/statm", "re"), ::fclose);
  unsigned long long size = 0;
  unsigned long long resident = 0;
  if (!file || ::fscanf(file.get(), "%llu %llu", &size, &resident) != 2) return;
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  numbers.virtual_memory = size * page;
  numbers.resident_memory = resident * page;
}

}  // namespace

ProcessNumbers process_numbers() {
  ProcessNumbers numbers;
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) == 0)
    numbers.cpu = micros_of(usage.ru_utime) + micros_of(usage.ru_stime);
  read_memory(numbers);
  numbers.open_fds = count_descriptors();
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) numbers.max_fds = files.rlim_cur;
  return numbers;
}

void write(StatsWriter& out, const ProcessNumbers& process) {
  out.add({"cpu", "processor time of all threads", counter, Unit::seconds}, process.cpu);
  out.add({"resident_memory", "memory in use", gauge, Unit::bytes}, process.resident_memory);
  out.add({"virtual_memory", "address space in use", gauge, Unit::bytes}, process.virtual_memory);
  out.add({"open_fds", "open file descriptors", gauge}, process.open_fds);
  out.add({"max_fds", "most file descriptors at a time", gauge}, process.max_fds);
}

}  // namespace karmad
