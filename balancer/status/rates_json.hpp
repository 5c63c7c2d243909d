#pragma once

#include <vector>

#include "balancer/status/admission_json.hpp"

namespace karmad {

/// Statistics of the rate limiters for `GET /admission`, with the names of AC-044 and AC-055:
/// `queues`, `connections`, `metrics` and `network`.
std::vector<GateText> rate_texts(const Worker& worker);

}  // namespace karmad
