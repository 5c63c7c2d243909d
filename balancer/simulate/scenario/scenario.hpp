#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "balancer/simulate/scenario/mirror_profile.hpp"
#include "balancer/simulate/simulation_result.hpp"
#include "config/text/located.hpp"

namespace karmad {

struct Replay;

inline constexpr unsigned kMostSimulatedMirrors = 1000;
inline constexpr unsigned kMostSimulatedMasters = 100;
inline constexpr double kMostSimulatedRequests = 1e9;

/// Mirrors from `first` to `last`, counted from 1. Last 0: all.
struct MirrorRange {
  unsigned first = 1;
  unsigned last = 0;
  bool is_all() const { return last == 0; }
  bool operator==(const MirrorRange&) const = default;
};

/// Keys and values for assign(), which has accepted them.
using Assignments = std::vector<std::pair<std::string, std::string>>;

/// Properties of some mirrors, from the beginning or from a time on.
struct MirrorStatement {
  MirrorRange mirrors;
  Assignments profile;
  std::optional<unsigned> weight;
  Place at;
};

struct MirrorChange : MirrorStatement {
  Micros time{};  ///< since the start of the measurement
  std::string text;
};

struct RateChange {
  Micros time{};
  double rate = 0;
};

/// One line of the settings section.
struct SettingLine {
  std::string text;
  Place at;
};

/// What is simulated: mirrors, load, changes, and settings of karmad.
struct Scenario {
  std::string name;
  std::string about;
  unsigned mirrors = 4;
  unsigned masters = 1;
  double rate = 3000;     ///< requests per second of all masters together
  double duration = 12;   ///< s that are measured
  double warmup = 2;      ///< s before
  double slo = 200;       ///< ms within which an answer counts as good
  double timeout = 3000;  ///< ms after which a client gives up
  Assignments profile;    ///< of all mirrors
  std::vector<MirrorStatement> mirror_statements;
  std::vector<MirrorChange> changes;     ///< in order of time
  std::vector<RateChange> rate_changes;  ///< likewise
  std::vector<SettingLine> settings;
  /// The access log that arrivals and mirrors come from; null: they come from the members above.
  std::shared_ptr<const Replay> replay;
  std::vector<unsigned> set_sizes;        ///< of mirror sets; empty: as equal as possible
  std::vector<std::string> mirror_names;  ///< for charts; empty: m1, m2 …
};

/// Values that replace those of the scenario.
struct ScenarioOverrides {
  std::optional<double> rate;  ///< changes of the rate are scaled with it
  std::optional<double> duration;
  std::optional<unsigned> mirrors;
  std::optional<unsigned> masters;
  std::vector<std::string> settings;
};

/// Reads a scenario. `file`: its name in messages; the scenario gets `name`.
std::expected<Scenario, Problems> parse_scenario(std::string_view text, const std::string& file,
                                                 std::string name);

/// Applies the overrides and checks the whole.
std::expected<Scenario, Problems> with_overrides(Scenario scenario,
                                                 const ScenarioOverrides& overrides);

/// The names of the first mirrors, at most `most`, for charts.
std::vector<std::string> first_mirror_names(const Scenario& scenario, std::size_t most);

/// The changes of mirrors, for charts.
std::vector<SimulatedChange> simulated_changes(const Scenario& scenario);

/// A scenario of the library; nullptr: unknown.
const Scenario* library_scenario(std::string_view name);
/// All of the library, in the order of their names.
const std::vector<Scenario>& scenario_library();

}  // namespace karmad
