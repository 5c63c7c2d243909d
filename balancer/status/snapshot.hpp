#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/mirrors/agent_numbers.hpp"
#include "agent/mirrors/mirror_set.hpp"
#include "agent/stats/history.hpp"
#include "balancer/rules/admission/rate_limiter.hpp"
#include "balancer/rules/retry_budget.hpp"

namespace karmad {

/// The numbers of periods the status tells about (HA-024).
inline constexpr std::array<unsigned, 3> kShownPeriods{1, 5, 15};

/// One agent, as all tables that use it see it.
struct AgentStatus {
  std::string address;      ///< `host:port` or the socket's path
  unsigned references = 0;  ///< mirror entries, over all tables, that are at this address
  bool pinged = false;
  bool has_pool = false;      ///< a line `agent_persistent` names it
  bool need_resolve = false;  ///< its name is looked up at every request
  bool alive = true;          ///< not dead (HA-022)
  std::string last_error;     ///< empty: none since its last success
  AgentNumbers numbers;
  std::array<Totals, kShownPeriods.size()> periods;  ///< as History::over
  Quantiles latency;                                 ///< as History::quantiles
};

/// What the pings of a mirror and the errors met there say of it, as its set sees it.
struct Standing {
  std::string role;
  std::string tags;                 ///< `name:value,name:value`
  std::optional<Micros> staleness;  ///< of a replica that says how fresh it is
  std::optional<std::uint64_t> generation;
  std::optional<Micros> rtt;        ///< smoothed round trip of pings
  std::optional<Micros> least_rtt;  ///< of the last ten; empty until there are two
  std::optional<double> load;       ///< as the mirror reports it
  std::string unsuitable;           ///< why it does not get the table's searches now; empty: it may
};

void write(StatsWriter& out, const Standing& standing);

/// One mirror of one shard.
struct MirrorStatus {
  std::size_t agent = 0;  ///< position in Snapshot::agents
  std::vector<std::string> tables;
  double weight = 0;       ///< karma, as its part of the set's: 0 to 1
  double probability = 0;  ///< with which its strategy would take it now: 0 to 1
  bool persistent = false;
  bool blackhole = false;
  Standing standing;
  std::uint64_t attempts = 0;  ///< begun since the start, whatever became of them
  Totals since_start;
};
void write_shares(StatsWriter& out, const MirrorStatus& mirror);
void write_since_start(StatsWriter& out, const MirrorStatus& mirror);

struct ShardStatus {
  std::string strategy;
  std::vector<MirrorStatus> mirrors;
  std::string kind;      ///< of the mirror set
  std::string criteria;  ///< what a search needs when the request gives no read preference
  RetryBudgetStatus budget;
  WaitQueue::Status line;  ///< queries that waited because all mirrors were full
  bool mixed = false;      ///< some mirrors report roles and some do not
};

struct TableStatus {
  std::string name;
  std::string dialect;
  std::vector<ShardStatus> shards;
  std::vector<ShardStatus> blackholes;
  std::optional<RateCounts> requests;  ///< of its rate limiter
};

struct ProcessStatus {
  Micros uptime{};
  std::string version;
  unsigned workers = 0;
  std::uint64_t connections = 0;       ///< of clients, accepted since the start
  std::vector<RecordedStat> counters;  ///< all others
};
// In two parts: rows have the version between them.
void write_begin(StatsWriter& out, const ProcessStatus& process);
void write_counters(StatsWriter& out, const ProcessStatus& process);

/// Everything the status can tell, at one moment. Plain values: nothing here is connected to what
/// it was read from.
struct Snapshot {
  Micros period{};
  unsigned stored_periods = kStoredPeriods;
  ProcessStatus process;
  std::vector<AgentStatus> agents;
  std::vector<TableStatus> tables;
};
void write_periods(StatsWriter& out, const Snapshot& snapshot);

}  // namespace karmad
