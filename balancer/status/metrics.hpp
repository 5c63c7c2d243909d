#pragma once

#include <string>
#include <string_view>

#include "balancer/status/process_numbers.hpp"
#include "balancer/status/snapshot.hpp"

namespace karmad {

/// The media type of the Prometheus text format.
inline constexpr std::string_view kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

/// Appends every number of the snapshot in the Prometheus text format, sorted by name. Names start
/// with `karmad_`, those of `system` with `process_`; times are in seconds, counters end in
/// `_total`. Values not measured are omitted; a limit that is not set is `+Inf`.
void append_metrics(std::string& out, const Snapshot& snapshot, const ProcessNumbers& system);

}  // namespace karmad
