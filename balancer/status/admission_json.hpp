#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "balancer/core/worker.hpp"

namespace karmad {

/// A gate with its own JSON format: its name and object.
struct GateText {
  std::string_view name;
  std::string json;
};

/// Appends the document of `GET /admission`: every gate in the order of the pipeline with settings
/// and statistics (AC-015), the probing with its last decision (AC-027), the counters. `in_front`:
/// the gates before the tickets. docs/admission.md describes every name.
void append_admission_json(std::string& out, const Worker& worker,
                           std::span<const GateText> in_front = {});

/// Statistics of the rate limiters for `GET /admission`, with the names of AC-044 and AC-055:
/// `queues`, `connections`, `metrics` and `network`.
std::vector<GateText> rate_texts(const Worker& worker);

}  // namespace karmad
