#pragma once

#include <algorithm>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/text/source_text.hpp"
#include "strategies/random_source.hpp"
#include "strategies/time.hpp"

namespace karmad::simulate {

/// The distribution of service times.
struct ServiceTime {
  enum class Kind : std::uint8_t { none, fixed, exponential, lognormal, two };
  Kind kind = Kind::none;
  double ms = 0;        ///< the time, the mean, or the median
  double sigma = 0;     ///< of the logarithm, for lognormal
  double other_ms = 0;  ///< of some searches, for two; the next is their part
  double other_part = 0;

  /// A random time in µs.
  double draw(SeededRandom& random) const;
  double mean_micros() const;
  bool operator==(const ServiceTime&) const = default;
};

/// The behaviour of a simulated mirror.
struct MirrorProfile {
  enum class Mode : std::uint8_t {
    ok,
    refuse,     ///< its port is closed; its connections are reset
    blackhole,  ///< reads requests and never answers
    freeze,     ///< holds its answers until the mode is ok again
  };

  ServiceTime service;
  double slow = 1;                 ///< factor of service times
  unsigned servers = 0;            ///< 0: unlimited
  std::optional<unsigned> queue;   ///< longest queue; none: unlimited
  double rate = 0;                 ///< of a token bucket, requests/s; 0: none
  unsigned overload_status = 503;  ///< of the answer beyond queue or rate
  unsigned retry_after = 1;        ///< s, in that answer and in error answers; 0: none
  double errors = 0;               ///< share of error answers
  unsigned error_status = 500;     ///< their status
  Micros error_delay{};            ///< time until they are sent
  double resets = 0;               ///< share of requests answered by a reset connection
  Micros stall_every{};            ///< period of pauses; 0: none
  Micros stall_for{};              ///< length of the pause at the end of each period
  Mode mode = Mode::ok;            ///< state of its process
  bool pings_see_errors = false;   ///< pings get the error answers too
  bool reports_load = false;       ///< its answers tell the part of its servers that is busy
  double cold_factor = 1;          ///< factor of service times with a cold cache
  unsigned cold_requests = 0;      ///< requests until the cache is warm
  std::uint32_t cold_starts = 0;   ///< how often `cold` was set; each starts a cold cache
  Micros network = Micros{100};    ///< delay of each direction
  bool operator==(const MirrorProfile&) const = default;
};

/// Sets one property from text, such as `svc` and `exp:5`; or says why not.
std::expected<void, std::string> assign(MirrorProfile& profile, std::string_view key,
                                        std::string_view value);

/// Reads a finite decimal number from `least` to `most`.
std::optional<double> parse_number(std::string_view text, double least, double most);

struct Replay;

inline constexpr unsigned kMostMirrors = 1000;
inline constexpr unsigned kMostMasters = 100;
inline constexpr double kMostRequests = 1e9;

/// Mirrors from `first` to `last`, counted from 1. Last 0: all.
struct MirrorRange {
  unsigned first = 1;
  unsigned last = 0;
  bool is_all() const { return last == 0; }
  /// `mirror` is counted from 0.
  bool contains(unsigned mirror) const {
    return is_all() || (first <= mirror + 1 && mirror < last);
  }
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

/// The name of a mirror, counted from 0, for charts.
std::string mirror_name(const Scenario& scenario, std::size_t mirror);

/// A change of the simulated mirrors, for charts.
struct ReportedChange {
  Micros at{};
  std::string text;  ///< such as `m2 slow=10`
};

/// All changes in the order of time.
std::vector<ReportedChange> reported_changes(const Scenario& scenario);

/// A scenario of the library; nullptr: unknown.
const Scenario* library_scenario(std::string_view name);
/// All of the library, in the order of their names.
const std::vector<Scenario>& scenario_library();

/// How simulated mirrors are divided into sets of at most 64. Mirrors and sets are counted from 0.
class SetLayout {
 public:
  static constexpr unsigned kMostInSet = 64;

  /// Sets as equal as possible.
  explicit SetLayout(unsigned mirrors) {
    const auto sets = (mirrors + kMostInSet - 1) / kMostInSet;
    for (unsigned set = 0; set <= sets; ++set) firsts_.push_back(set * mirrors / sets);
  }
  /// Sets of these sizes, none of which is 0.
  explicit SetLayout(const std::vector<unsigned>& sizes) : firsts_{0} {
    for (const auto size : sizes) firsts_.push_back(firsts_.back() + size);
  }
  unsigned mirrors() const { return firsts_.back(); }
  unsigned sets() const { return static_cast<unsigned>(firsts_.size() - 1); }
  /// The first mirror of a set; for `sets()` the number of mirrors.
  unsigned first(unsigned set) const { return firsts_[set]; }
  unsigned size(unsigned set) const { return first(set + 1) - first(set); }
  unsigned set_of(unsigned mirror) const {
    return static_cast<unsigned>(std::ranges::upper_bound(firsts_, mirror) - firsts_.begin()) - 1;
  }

 private:
  std::vector<unsigned> firsts_;
};

inline SetLayout layout_of(const Scenario& scenario) {
  return scenario.set_sizes.empty() ? SetLayout(scenario.mirrors) : SetLayout(scenario.set_sizes);
}

/// What the random numbers of a simulation are for.
enum class RandomStream : std::uint8_t {
  arrivals,
  service,
  faults,
  master,
  oracle,
  recorded_arrivals,
};

/// An independent sequence for each purpose and index, so that the decisions of a strategy do not
/// change the load or the service times of another one.
inline SeededRandom random_stream(std::uint64_t seed, RandomStream what, std::uint64_t index) {
  constexpr std::uint64_t kOdd = 0xd1342543de82ef95;
  const auto purpose = static_cast<std::uint64_t>(what) + 1;
  return SeededRandom((seed * kOdd + purpose) * kOdd + index);
}

}  // namespace karmad::simulate
