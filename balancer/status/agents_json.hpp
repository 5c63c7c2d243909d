#pragma once

#include <string>

#include "balancer/status/snapshot.hpp"

namespace karmad {

/// The mirrors of a shard, counted by what they can do.
SetCount count_of(const ShardStatus& shard);

/// How a shard is: the number of its ready mirrors and the diagnosis of the worst one.
std::string diagnosis(const Snapshot& snapshot, const ShardStatus& shard);

/// How the whole process is, in one line: `all well`, or the worst shard or mirror and the number
/// of others in trouble. A shard without a mirror that can be asked is worst.
std::string verdict(const Snapshot& snapshot);

/// Appends the document of `GET /agents`: the state of each mirror, by table and shard; null for
/// values not measured. docs/status.md describes every name.
void append_agents_json(std::string& out, const Snapshot& snapshot);

}  // namespace karmad
