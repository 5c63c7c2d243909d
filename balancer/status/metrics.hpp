#pragma once

#include <string>

#include "balancer/status/snapshot.hpp"

namespace karmad {

/// Appends every number of the snapshot in the Prometheus text format, sorted by name. Names start
/// with `karmad_`; times are in seconds, counters end in `_total`. Values not measured are omitted;
/// an unlimited limit is `+Inf`.
void append_metrics(std::string& out, const Snapshot& snapshot);

}  // namespace karmad
