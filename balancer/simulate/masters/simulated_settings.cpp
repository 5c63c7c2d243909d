#include "balancer/simulate/masters/simulated_settings.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "balancer/simulate/scenario/set_layout.hpp"
#include "balancer/topology/topology.hpp"
#include "config/load.hpp"

namespace karmad {
namespace {

constexpr auto kFile = "simulated.conf";
constexpr unsigned kFirstSettingLine = 4;

std::string key_of(std::string_view setting) {
  auto key = setting.substr(0, setting.find('='));
  key = key.substr(0, key.find_last_not_of(" \t") + 1);
  std::string lower(key.substr(std::min(key.find_first_not_of(" \t"), key.size())));
  std::ranges::transform(lower, lower.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  return lower;
}

/// The problem of a setting, at the place where the user wrote it.
Problem problem_of(const SettingLine& setting, std::string message) {
  if (setting.at.file == "--set")
    return {{}, fmt::format("--set {}: {}", in_quotes(setting.text), message)};
  return {setting.at, std::move(message)};
}

/// The last line of each key.
std::vector<SettingLine> lines_in_force(const Scenario& scenario, Problems& problems) {
  std::vector<SettingLine> lines;
  for (const auto& setting : scenario.settings) {
    const auto key = key_of(setting.text);
    if (key.empty() || setting.text.find_first_of("=") == std::string::npos ||
        setting.text.find_first_of("\n\r{}") != std::string::npos) {
      problems.push_back(problem_of(setting, "expected KEY = VALUE in one line"));
      continue;
    }
    if (key == "ha_strategy" || key == "listen") {
      problems.push_back(problem_of(setting, key == "listen"
                                                 ? "listen has no meaning in a simulation"
                                                 : "give the strategies with --strategy"));
      continue;
    }
    std::erase_if(lines, [&](const SettingLine& other) { return key_of(other.text) == key; });
    lines.push_back(setting);
  }
  return lines;
}

std::vector<unsigned> weights_of(const Scenario& scenario) {
  std::vector<unsigned> weights(scenario.mirrors, 1);
  for (const auto& statement : scenario.mirror_statements) {
    if (!statement.weight) continue;
    const auto& range = statement.mirrors;
    for (unsigned i = 0; i < weights.size(); ++i)
      if (range.is_all() || (i + 1 >= range.first && i < range.last))
        weights[i] = *statement.weight;
  }
  return weights;
}

std::string config_text(const Scenario& scenario, std::string_view strategy,
                        const std::vector<SettingLine>& lines) {
  auto text = fmt::format("searchd {{\nlisten = 127.0.0.1:9308\nha_strategy = {}\n", strategy);
  for (const auto& line : lines) text += line.text + '\n';
  text += "}\n";
  const auto weights = weights_of(scenario);
  const auto layout = layout_of(scenario);
  for (unsigned set = 0; set < layout.sets(); ++set) {
    text += fmt::format("table set{} {{\ntype = distributed\nagent = ", set + 1);
    for (auto i = layout.first(set); i < layout.first(set + 1); ++i) {
      if (i != layout.first(set)) text += '|';
      // Nothing connects to these addresses. They are numeric, so that no name is looked up.
      text += fmt::format("10.0.{}.{}:9306:t", i / 250, i % 250 + 1);
      if (weights[i] != 1) text += fmt::format("[weight={}]", weights[i]);
    }
    text += "\n}\n";
  }
  return text;
}

}  // namespace

std::expected<Settings, Problems> simulated_settings(const Scenario& scenario,
                                                     std::string_view strategy) {
  Problems problems;
  const auto lines = lines_in_force(scenario, problems);
  if (!problems.empty()) return std::unexpected(std::move(problems));
  const auto text = config_text(scenario, strategy, lines);
  const Environment environment{
      .read_file = [&](const std::string&, std::size_t,
                       FileKind) -> std::expected<std::string, std::string> { return text; },
      .glob = [](const std::string&) { return std::vector<std::string>(); },
      .variable = [](const std::string&) { return std::optional<std::string>(); }};
  const auto judge = [](const Settings& settings, Problems& found, Problems& notices) {
    Topology::judge(settings, dialects(), found, notices);
  };
  auto loaded = load(kFile, environment, FileKind::any, judge);
  for (const auto& problem : loaded.problems) {
    const auto line = problem.at.line;
    if (line >= kFirstSettingLine && line < kFirstSettingLine + lines.size())
      problems.push_back(problem_of(lines[line - kFirstSettingLine], problem.message));
    else
      problems.push_back(problem);
  }
  if (!problems.empty()) return std::unexpected(std::move(problems));
  const auto& ping_type = loaded.settings->searchd.ping_type;
  if (ping_type.value != "http" && ping_type.value != "none") {
    const auto index = ping_type.at.line - kFirstSettingLine;
    return std::unexpected(Problems{
        problem_of(lines.at(index), "simulated mirrors answer pings of the type http only")});
  }
  return *std::move(loaded.settings);
}

}  // namespace karmad
