#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "balancer/simulate/replay/access_trace.hpp"
#include "balancer/simulate/scenario/scenario.hpp"

namespace karmad::simulate {

/// Longest access log that is replayed. Pings and other periodic work are simulated in gaps too.
inline constexpr Micros kLongestReplay = std::chrono::days(7);

/// A mirror of a replay. Mirrors are numbered through all sets.
struct ReplayedMirror {
  std::string name;  ///< its address; of several sets with table and shard
  const RecordedMirror* recorded = nullptr;
};

/// An access log as input of a simulation: one mirror set for each recorded shard of each table.
struct Replay {
  struct TableSets {
    unsigned first = 0;  ///< position of its first set in `trace.sets`
    unsigned count = 0;
  };

  Replay() = default;
  Replay(const Replay&) = delete;  // `mirrors` point into `trace`
  Replay& operator=(const Replay&) = delete;

  AccessTrace trace;                      ///< its arrivals are moved to `arrivals`
  std::vector<RecordedArrival> arrivals;  ///< all, sorted by time
  std::vector<TableSets> tables;          ///< in the order of `trace.tables`
  std::vector<unsigned> set_sizes;        ///< in the order of `trace.sets`
  std::vector<ReplayedMirror> mirrors;    ///< of the sets in their order
  std::uint64_t left_out_mirrors = 0;     ///< of sets that have more than 64
  std::uint64_t requests = 0;             ///< shard requests that the arrivals cause
  Micros length{};                        ///< arrivals and recorded attempts are before it
};

/// The seed is for arrivals that a sample left out. The error says what is too large.
std::expected<std::shared_ptr<const Replay>, std::string> make_replay(AccessTrace trace,
                                                                      std::uint64_t seed);

/// Settings are left to with_overrides().
Scenario replay_scenario(std::string name, std::shared_ptr<const Replay> replay);

}  // namespace karmad::simulate
