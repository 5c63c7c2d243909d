#pragma once

#include <span>
#include <string>
#include <string_view>

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

}  // namespace karmad
