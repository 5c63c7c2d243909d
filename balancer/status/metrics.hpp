#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "agent/stats/stats_writer.hpp"
#include "balancer/status/snapshot.hpp"

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

/// The media type of the Prometheus text format.
inline constexpr std::string_view kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

/// Appends every number of the snapshot in the Prometheus text format, sorted by name. Names start
/// with `karmad_`, those of `system` with `process_`; times are in seconds, counters end in
/// `_total`. Values not measured are omitted; a limit that is not set is `+Inf`.
void append_metrics(std::string& out, const Snapshot& snapshot, const ProcessNumbers& system);

}  // namespace karmad
