#include "balancer/probe/probe_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace karmad {
namespace {

std::string line_of(const ProbeTarget& target, const AgentReport& report) {
  std::string out = fmt::format("    {}", target.name());
  if (!target.is_routed) out += fmt::format(" ({})", fmt::join(target.tables, ", "));
  std::vector<std::string> facts;
  if (!report.engine.empty()) facts.push_back(report.engine);
  if (report.trip)
    facts.push_back(fmt::format("{:.1f} ms", static_cast<double>(report.trip->count()) / 1000));
  if (report.clock) facts.push_back(fmt::format("clock {:+} s", report.clock->count()));
  if (!report.columns.empty()) facts.push_back(fmt::format("{} columns", report.columns.size()));
  out += fmt::format(": {}", report.problems.empty() ? "ok" : "PROBLEM");
  if (!facts.empty()) out += fmt::format("; {}", fmt::join(facts, ", "));
  out += '\n';
  for (const auto& problem : report.problems) out += fmt::format("      {}\n", problem);
  for (const auto& note : report.notes) out += fmt::format("      note: {}\n", note);
  return out;
}

}  // namespace

std::string probe_text(std::span<const ProbeTarget> targets, std::span<const AgentReport> reports) {
  std::string out;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const auto& target = targets[i];
    const bool new_table = i == 0 || targets[i - 1].table != target.table;
    if (new_table) out += fmt::format("table {}\n", target.table);
    if (new_table || targets[i - 1].part != target.part) out += fmt::format("  {}\n", target.part);
    out += line_of(target, reports[i]);
  }
  const auto wrong = std::ranges::count_if(
      reports, [](const AgentReport& report) { return !report.problems.empty(); });
  out += wrong == 0 ? fmt::format("probe: {} agents, no problems\n", reports.size())
                    : fmt::format("probe: {} of {} agents have problems\n", wrong, reports.size());
  return out;
}

}  // namespace karmad
