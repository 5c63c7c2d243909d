#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "strategies/time.hpp"

namespace karmad::simulate {

/// Latencies of simulated requests. Exact to 3.2 % (the buckets of agent/stats/histogram.hpp).
struct Latency {
  Micros p50{};
  Micros p90{};
  Micros p99{};
  Micros p999{};
  Micros longest{};
  bool operator==(const Latency&) const = default;
};

/// One mirror in one interval of a simulation.
struct MirrorInterval {
  std::uint64_t attempts = 0;   ///< that reached it, hedges and retries included
  std::uint32_t in_flight = 0;  ///< at the end of the interval, over all masters
  double share = 0;             ///< of the attempts of its set in this interval: 0 to 1
  bool operator==(const MirrorInterval&) const = default;
};

/// All requests that arrived in one interval. Intervals follow each other without gaps.
struct Interval {
  Micros from{};  ///< since the start of the measurement
  std::uint64_t requests = 0;
  std::uint64_t errors = 0;
  Latency latency;                      ///< of answered requests
  std::vector<MirrorInterval> mirrors;  ///< at most the first 64 of the simulation
  bool operator==(const Interval&) const = default;
};

/// What karmad would have told the operator of a mirror: a log line, an event, a state on its
/// pages.
struct MirrorNews {
  Micros at{};          ///< since the start of the measurement
  unsigned mirror = 0;  ///< in the simulation, from 1
  std::string state;
  std::string former_state;
  std::string reason;
  bool operator==(const MirrorNews&) const = default;
};

/// The result of one scenario with one strategy.
struct Result {
  std::string scenario;
  std::string strategy;  ///< as given, or `oracle`
  std::uint64_t requests = 0;
  std::uint64_t answered = 0;
  std::uint64_t errors = 0;
  std::uint64_t attempts = 0;
  std::uint64_t hedges = 0;
  std::uint64_t retries = 0;
  Latency latency;     ///< of answered requests
  double goodput = 0;  ///< answers within the scenario's `slo` per second
  double skew = 0;     ///< busiest mirror's part of the work over an even part
  double extra = 0;    ///< hedges and retries per request
  /// From the first change of the scenario until the changed mirror's share has fallen below half
  /// of an even share, or, where it gains, reached it; negative: never, or there is no change.
  Micros noticed{-1};
  /// From the last change of the scenario until its share is at least three quarters of an even
  /// share again; negative: never, or there is no change, or the first one was not noticed.
  Micros recovered{-1};
  double regret = 0;  ///< p99 divided by that of the oracle; 0: unknown
  Micros interval{};  ///< length of each of `intervals`
  std::vector<Interval> intervals;
  std::vector<MirrorNews> news;  ///< of the first master; at most kMostNews
  bool operator==(const Result&) const = default;
};

/// A change of the simulated mirrors, for charts.
struct ReportedChange {
  Micros at{};
  std::string text;  ///< such as `m2 slow=10`
};

/// One scenario with all strategies that were simulated.
struct ScenarioReport {
  std::string name;
  std::string description;
  std::vector<Result> results;  ///< one per strategy; the oracle or the recorded one, if any, last
  std::vector<ReportedChange> changes;
  std::vector<std::string> mirrors;  ///< names, in the order of Interval::mirrors
};

struct HtmlReport {
  std::string title;
  std::string description;  ///< such as the command, the seed and the version
  std::vector<ScenarioReport> scenarios;
};

/// Name of the strategy that knows the true state of all mirrors.
inline constexpr std::string_view kOracleName = "oracle";

/// In place of a strategy: what an access log tells.
inline constexpr std::string_view kRecordedName = "recorded";

/// Not a strategy, but what strategies are compared with.
inline bool is_reference(std::string_view strategy) {
  return strategy == kOracleName || strategy == kRecordedName;
}

}  // namespace karmad::simulate
