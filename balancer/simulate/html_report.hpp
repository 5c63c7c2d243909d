#pragma once

#include <string>

#include "balancer/simulate/simulation_result.hpp"

namespace karmad {

/// The report as one page of HTML that needs no other file: a table of all strategies and charts
/// for each scenario, which Chart.js draws. The same input yields the same bytes.
std::string html_report(const HtmlReport& report);

}  // namespace karmad
