#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "balancer/topology/topology.hpp"
#include "tests/config/written.hpp"

namespace karmad {

inline constexpr Micros kPeriod = std::chrono::seconds(60);

/// Topologies made of configurations, one after the other, as at a start and its reloads.
struct Built {
  AgentRegistry registry{2, kPeriod};
  Loops loops;
  Problems problems;
  Dialects known = dialects();
  std::shared_ptr<const Topology> now;

  std::shared_ptr<const Topology> build(const std::string& text) {
    auto loaded = load_text(text);
    for (const auto& problem : loaded.problems) ADD_FAILURE() << karmad::text(problem);
    if (!loaded.settings) return nullptr;
    problems.clear();
    auto next = Topology::build(
        *loaded.settings, {.registry = registry, .workers = 2, .loops = loops, .dialects = known},
        now.get(), problems);
    if (!next) return nullptr;
    next->take_over();
    now = next;
    return next;
  }
};

}  // namespace karmad
