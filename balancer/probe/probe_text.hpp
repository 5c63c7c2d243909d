#pragma once

#include <span>
#include <string>

#include "balancer/probe/judge_probe.hpp"

namespace karmad {

/// The report for people: each table and shard with its agents, problems last.
std::string probe_text(std::span<const ProbeTarget> targets, std::span<const AgentReport> reports);

}  // namespace karmad
