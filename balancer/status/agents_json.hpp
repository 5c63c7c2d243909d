#pragma once

#include <string>

#include "balancer/status/snapshot.hpp"

namespace karmad {

/// Appends the document of `GET /agents`: the state of each mirror, by table and shard; null for
/// values not measured. docs/status.md describes every name.
void append_agents_json(std::string& out, const Snapshot& snapshot);

}  // namespace karmad
