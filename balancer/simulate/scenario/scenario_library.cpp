#include <algorithm>
#include <cassert>

#include "balancer/simulate/scenario/scenario.hpp"

// Made from the files of scenarios/ by embed.cmake.
extern "C" const char karmad_scenarios[];
extern "C" const char karmad_scenarios_end[];

namespace karmad {
namespace {

constexpr std::string_view kTitle = "scenario ";

std::vector<Scenario> read_library() {
  std::vector<Scenario> library;
  std::string_view all(karmad_scenarios,
                       static_cast<std::size_t>(karmad_scenarios_end - karmad_scenarios));
  while (all.starts_with(kTitle)) {
    const auto line_end = all.find('\n');
    const std::string name(all.substr(kTitle.size(), line_end - kTitle.size()));
    const auto next = all.find("\nscenario ", line_end);
    const auto text = all.substr(line_end + 1, next == all.npos ? all.npos : next - line_end);
    auto scenario = parse_scenario(text, name + ".scn", name);
    assert(scenario);  // a test reads them all
    library.push_back(*std::move(scenario));
    all.remove_prefix(next == all.npos ? all.size() : next + 1);
  }
  return library;
}

}  // namespace

const std::vector<Scenario>& scenario_library() {
  static const auto library = read_library();
  return library;
}

const Scenario* library_scenario(std::string_view name) {
  const auto& all = scenario_library();
  const auto found = std::ranges::find(all, name, &Scenario::name);
  return found == all.end() ? nullptr : &*found;
}

}  // namespace karmad
