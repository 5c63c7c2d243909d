#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/mirrors/mirror_set.hpp"
#include "balancer/admission/admission.hpp"
#include "balancer/rules/protection.hpp"
#include "balancer/topology/topology.hpp"

namespace karmad {

/// What was learned of a mirror of a shard. Times are relative, so the clocks of the two processes
/// need not agree.
struct LearnedMirror {
  std::string address;
  std::vector<std::string> tables;  ///< the table's names at this mirror
  MirrorLearnedState memory;
  UnavailableMarks::Rest rest;
  Breaker::Memories failures{};
  struct Ejection {
    bool ejected = false;
    unsigned times = 0;
    Micros rest{};  ///< until it may be admitted again
    std::string reason;
    bool operator==(const Ejection&) const = default;
  };
  Ejection ejection;
  MirrorHealth standing;
  bool operator==(const LearnedMirror&) const = default;
};

using LearnedShard = std::vector<LearnedMirror>;

struct LearnedTable {
  std::string name;
  std::vector<LearnedShard> shards;
  bool operator==(const LearnedTable&) const = default;
};

/// What was learned of an agent, with all tables that use it.
struct LearnedAgent {
  std::string address;
  std::uint32_t errors_in_a_row = 0;
  bool answered = false;
  Micros ping_trip{};
  std::optional<ConcurrencyLimit::Learned> limit;  ///< of `max_in_flight = auto`
  std::string last_error;
  Micros last_error_at{};  ///< since 1970: both processes run on this machine; 0: unknown
  bool operator==(const LearnedAgent&) const = default;
};

/// The tickets that throughput probing has found.
struct LearnedTickets {
  double concurrency = 0;
  double throughput = 0;
  bool operator==(const LearnedTickets&) const = default;
};

/// Everything that a process hands over to its successor, except its sockets. A value.
struct Learned {
  std::vector<LearnedTable> tables;
  std::vector<LearnedAgent> agents;
  std::optional<LearnedTickets> tickets;  ///< none: no pool is probed
  std::string overrides;                  ///< changes at run time, as JSON; passed on unread
  bool operator==(const Learned&) const = default;
};

/// The version of the text below. Another version is not read.
inline constexpr int kLearnedVersion = 1;

/// As JSON, with its version.
std::string to_json(const Learned& learned);
/// Reads that text. Members that are unknown or of a wrong type are ignored, and numbers that make
/// no sense become their defaults: a successor rather learns again than fails. The error says why
/// nothing can be used: no JSON, or another version.
std::expected<Learned, std::string> parse_learned(std::string_view json);

/// Reads what this process has learned. Worker 0 only.
Learned collect_learned(const Topology& topology, const Admission& admission, TimePoint now);

/// Continues with what a former process had learned of the same mirrors: those at the same address
/// with the same names in a table of the same name. Everything else starts anew. Before the workers
/// run, after the limits of the topology were applied. Returns the number of mirrors restored.
std::size_t restore_learned(const Learned& learned, const Topology& topology, Admission& admission,
                            TimePoint now);

/// Shards that had a mirror in the former process and have none here, as `table t, shard 1: why`:
/// no mirror was found, or no name has an address. Tables and shards that the configuration has not
/// any more do not count; a table with `discovery` has its shards from its source.
std::vector<std::string> shards_lost(const Learned& learned, const Topology& topology,
                                     const Settings& settings);

}  // namespace karmad
