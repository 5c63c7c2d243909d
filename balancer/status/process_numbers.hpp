#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "agent/stats/stats_writer.hpp"

namespace karmad {

/// What the system says of the process; empty: it does not say.
struct ProcessNumbers {
  Micros cpu{};  ///< of all threads, since the start
  std::optional<std::uint64_t> resident_memory;
  std::optional<std::uint64_t> virtual_memory;
  std::optional<std::uint64_t> open_fds;
  std::optional<std::uint64_t> max_fds;
};

/// Reads the numbers. Takes about a microsecond for each open descriptor.
ProcessNumbers process_numbers();

/// With the names that all Prometheus clients use, behind `process_`.
void write(StatsWriter& out, const ProcessNumbers& process);

}  // namespace karmad
