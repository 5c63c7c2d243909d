#pragma once

#include <string>

#include "balancer/status/snapshot.hpp"

namespace karmad {

/// Appends the document of `GET /status`: the rows of SHOW STATUS as one object, with numbers as
/// JSON numbers.
void append_status_json(std::string& out, const Snapshot& snapshot);

}  // namespace karmad
