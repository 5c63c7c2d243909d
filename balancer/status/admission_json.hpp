#pragma once

#include <span>
#include <string>
#include <string_view>

#include "balancer/core/worker.hpp"

namespace karmad {

/// A gate that has its own words for what it does: its JSON object, by its name.
struct GateText {
  std::string_view name;
  std::string json;
};

/// Appends the document of `GET /admission`: every gate in the order a request meets them, with its
/// settings and statistics (AC-015), the probing and what it decided last (AC-027), the counters.
/// `in_front` are the gates a request meets before it needs tickets. docs/admission.md has every
/// name.
void append_admission_json(std::string& out, const Worker& worker,
                           std::span<const GateText> in_front = {});

}  // namespace karmad
