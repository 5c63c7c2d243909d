#pragma once

#include <memory>

#include "agent/mirrors/agent.hpp"

namespace karmad {

/// An agent that worked until it closed the connection of a query without an answer.
struct CrashSuspicion {
  std::shared_ptr<Agent> agent;
  bool refused = false;  ///< and then refused a connection
};

}  // namespace karmad
