#pragma once

#include <string>

#include "balancer/status/snapshot.hpp"

namespace karmad {

/// Appends the document of `GET /agents`: per table, shard and mirror what is known of it, numbers
/// as numbers and null for what was not measured. docs/status.md has every name.
void append_agents_json(std::string& out, const Snapshot& snapshot);

}  // namespace karmad
