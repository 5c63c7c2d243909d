#pragma once

#include <string>

#include "agent/dialect/kinds/dialect_kind.hpp"
#include "config/settings/settings.hpp"

namespace karmad {

struct ProbeResult {
  bool good = false;
  std::string text;  ///< for people
};

/// Asks every agent of a configuration without problems what it is and whether it fits. Blocks for
/// kProbeTime at most; agents that were not asked in time have a problem.
ProbeResult probe(const Settings& settings, Dialects dialects);

}  // namespace karmad
