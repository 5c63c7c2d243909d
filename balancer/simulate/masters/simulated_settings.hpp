#pragma once

#include <expected>
#include <string_view>

#include "balancer/simulate/scenario/scenario.hpp"
#include "config/settings/settings.hpp"

namespace karmad {

/// The configuration of every simulated master: the scenario's settings, and one table for each set
/// of mirrors. It is a text that the reader of real configurations reads and checks.
std::expected<Settings, Problems> simulated_settings(const Scenario& scenario,
                                                     std::string_view strategy);

}  // namespace karmad
