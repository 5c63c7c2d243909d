#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iostream>
#include <system_error>

#include "balancer/client/commands.hpp"
#include "balancer/simulate/engine/html_report.hpp"
#include "balancer/simulate/replay/access_trace.hpp"
#include "balancer/simulate/replay/replay.hpp"
#include "config/text/closest.hpp"
#include "config/text/environment.hpp"
#include "config/text/source_text.hpp"
#include "strategies/kinds/registry.hpp"

namespace karmad {
namespace {

using namespace simulate;

constexpr std::size_t kLargestScenario = 1 << 20;

Problems problem(std::string message) {
  return {{{}, std::move(message)}};
}

int report_problems(const Problems& problems) {
  for (const auto& problem : problems) std::cerr << "karmad simulate: " << text(problem) << '\n';
  return 2;
}

/// A name with a slash or a dot is a file.
bool is_file(const std::string& name) {
  return name.find_first_of("/.") != std::string::npos;
}

std::string base_of(const std::string& path) {
  return path.substr(path.find_last_of('/') + 1);
}

std::expected<std::vector<Scenario>, Problems> find_scenarios_named(const std::string& name) {
  if (name == "all") return scenario_library();
  if (is_file(name)) {
    const auto text = real_environment().read_file(name, kLargestScenario, FileKind::any);
    if (!text) return std::unexpected(problem(fmt::format("{}: {}", name, text.error())));
    const auto base = base_of(name);
    auto read = parse_scenario(*text, name, base.substr(0, base.rfind('.')));
    if (!read) return std::unexpected(std::move(read.error()));
    return std::vector{*std::move(read)};
  }
  if (const auto* const found = library_scenario(name)) return std::vector{*found};
  std::vector<std::string_view> names;
  for (const auto& scenario : scenario_library()) names.push_back(scenario.name);
  return std::unexpected(problem(fmt::format(
      "there is no scenario {}{}; karmad simulate --list names them, and a file has a dot or a "
      "slash in its name",
      in_quotes(name), suggestion(name, names))));
}

/// Prints notes on what is not replayed.
std::expected<Scenario, Problems> read_trace(const SimulateOptions& options) {
  const auto& path = options.trace;
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return std::unexpected(
        problem(fmt::format("{}: {}", path, std::generic_category().message(errno))));
  auto trace = read_access_trace(file);
  if (!trace) return std::unexpected(problem(fmt::format("{}: {}", path, trace.error())));
  const auto notes = notes_on(trace->counts);
  auto replay = make_replay(*std::move(trace), options.seed);
  if (!replay) return std::unexpected(problem(fmt::format("{}: {}", path, replay.error())));
  for (const auto& note : notes) std::cerr << fmt::format("karmad simulate: {}: {}\n", path, note);
  if (const auto left_out = (*replay)->left_out_mirrors; left_out > 0)
    std::cerr << fmt::format(
        "karmad simulate: {}: {} with the fewest attempts left out: a shard has at most 64\n", path,
        counted_noun(left_out, "mirror"));
  return with_overrides(replay_scenario(base_of(path), *std::move(replay)),
                        {.settings = options.settings});
}

std::expected<std::vector<Scenario>, Problems> find_scenarios(const SimulateOptions& options) {
  std::vector<Scenario> scenarios;
  if (!options.trace.empty()) {
    auto scenario = read_trace(options);
    if (!scenario) return std::unexpected(std::move(scenario.error()));
    scenarios.push_back(*std::move(scenario));
    return scenarios;
  }
  const ScenarioOverrides overrides{.rate = options.rate,
                                    .duration = options.duration,
                                    .mirrors = options.mirrors,
                                    .masters = options.masters,
                                    .settings = options.settings};
  for (const auto& name : options.scenarios) {
    auto found = find_scenarios_named(name);
    if (!found) return std::unexpected(std::move(found.error()));
    for (auto& scenario : *found) {
      auto changed = with_overrides(std::move(scenario), overrides);
      if (!changed) return std::unexpected(std::move(changed.error()));
      scenarios.push_back(*std::move(changed));
    }
  }
  return scenarios;
}

/// False: the file cannot be written; the reason is printed.
bool write_html(const SimulateOptions& options, const std::vector<Report>& reports) {
  std::ofstream file(options.html);
  file << html_report(reports, options.seed);
  if (file.flush()) return true;
  std::cerr << "karmad simulate: " << options.html << " cannot be written\n";
  return false;
}

/// The simulated masters log as the server does, with the real time: that would mix with the
/// output.
class QuietLog {
 public:
  QuietLog() { spdlog::set_level(spdlog::level::off); }
  QuietLog& operator=(QuietLog&&) = delete;
  ~QuietLog() { spdlog::set_level(before_); }

 private:
  const spdlog::level::level_enum before_ = spdlog::get_level();
};

void print_library() {
  std::size_t width = 0;
  for (const auto& scenario : scenario_library()) width = std::max(width, scenario.name.size());
  for (const auto& scenario : scenario_library())
    std::cout << fmt::format("{:<{}}  {}\n", scenario.name, width, scenario.about);
}

}  // namespace

int run_simulate(const SimulateOptions& options) {
  const QuietLog quiet;
  if (options.list || std::ranges::find(options.scenarios, "list") != options.scenarios.end()) {
    print_library();
    return 0;
  }
  if (options.scenarios.empty() && options.trace.empty())
    return report_problems(
        problem("give --scenario NAME or --trace FILE; --list prints the names of scenarios"));
  const auto scenarios = find_scenarios(options);
  if (!scenarios) return report_problems(scenarios.error());
  auto strategies = options.strategies;
  if (strategies.empty()) strategies.assign(strategy_names().begin(), strategy_names().end());
  std::vector<Report> reports;
  for (const auto& scenario : *scenarios) {
    auto results = compare(scenario, strategies, options.seed);
    if (!results) return report_problems(results.error());
    reports.push_back({scenario, *std::move(results)});
    if (options.json || options.csv) continue;
    std::cout << (reports.size() == 1 ? "" : "\n") << report_table(reports.back(), options.seed)
              << std::flush;
  }
  if (options.json) std::cout << report_json(reports, options.seed);
  if (options.csv) std::cout << report_csv(reports);
  if (!options.html.empty() && !write_html(options, reports)) return 1;
  return std::cout.flush() ? 0 : 1;
}

}  // namespace karmad
