#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "balancer/probe/probe_plan.hpp"
#include "strategies/time.hpp"

namespace karmad {

/// The answer to one request of a probe, or why there is none.
struct ProbeAnswer {
  std::string failure;  ///< empty: an HTTP answer came
  int status = 0;
  std::string body;
  std::string server;  ///< field `Server`
  std::string date;    ///< field `Date`
  Micros trip{};       ///< from sending until the first byte
  std::chrono::system_clock::time_point at{};
};

struct ProbeExchange {
  ProbeRequest request;
  ProbeAnswer answer;
};

/// What the exchanges with one target say.
struct AgentReport {
  std::string engine;  ///< with its version; empty: unknown
  std::optional<Micros> trip;
  std::optional<std::chrono::seconds> clock;  ///< its clock minus ours; nothing: it tells no time
  /// Name and type of each column of its tables; empty: not told.
  std::map<std::string, std::string> columns;
  std::vector<std::string> problems;
  std::vector<std::string> notes;
};

/// The largest difference of clocks that is no problem. `Date` has whole seconds.
inline constexpr std::chrono::seconds kClockTolerance{2};

/// The engine that a banner names.
Engine engine_in(std::string_view banner);

/// Judges the exchanges with one target. The answers may contain anything.
AgentReport judge_probe(const ProbeTarget& target, std::span<const ProbeExchange> exchanges);

/// Adds a problem to each report of one shard whose columns differ from those of the first.
/// `targets` and `reports` have the same order.
void compare_columns(std::span<const ProbeTarget> targets, std::span<AgentReport> reports);

}  // namespace karmad
