#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/mirrors/agent.hpp"
#include "agent/mirrors/mirror_set.hpp"
#include "agent/stats/history.hpp"
#include "agent/stats/stats_writer.hpp"
#include "balancer/core/worker.hpp"
#include "balancer/discovery/source_status.hpp"
#include "balancer/rules/admission/rate_limiter.hpp"
#include "balancer/rules/retry_budget.hpp"
#include "balancer/topology/topology.hpp"
#include "balancer/watch/mirror_watch.hpp"

namespace karmad {

/// The current state of an agent: numbers that are not sums over periods (those are in History).
struct AgentNumbers {
  std::uint32_t errors_in_a_row = 0;
  std::optional<Micros> ping_trip;    ///< of the last answered ping
  std::optional<Micros> last_query;   ///< time since the last request was sent, pings included
  std::optional<Micros> last_answer;  ///< time since an attempt or ping ended
  std::optional<Micros> last_period;  ///< duration of that attempt or ping
  std::uint32_t in_flight = 0;
  std::uint32_t max_in_flight = 0;   ///< 0: unlimited
  std::uint64_t over_in_flight = 0;  ///< attempts above the limit while it was not enforced
  std::uint32_t open_connections = 0;
  std::uint32_t waiting = 0;  ///< attempts that wait for a connection
};

/// Any thread. The numbers are from about the same moment.
AgentNumbers numbers_of(const Agent& agent, TimePoint now);

/// Has answered at least once (if it is pinged) and is not dead (HA-022).
bool live(const Agent& agent, const HealthSettings& settings);

// Four parts, because rows and documents show them in different orders.
void write_errors(StatsWriter& out, const AgentNumbers& agent);
void write_ping(StatsWriter& out, const AgentNumbers& agent);
void write_load(StatsWriter& out, const AgentNumbers& agent);
void write_times(StatsWriter& out, const AgentNumbers& agent);

/// The numbers of periods that the status shows (HA-024).
inline constexpr std::array<unsigned, 3> kShownPeriods{1, 5, 15};

/// One agent, common to all tables that use it.
struct AgentStatus {
  std::string address;      ///< `host:port` or the socket's path
  unsigned references = 0;  ///< number of mirror entries in all tables with this address
  bool pinged = false;
  bool has_pool = false;      ///< in an `agent_persistent` line
  bool need_resolve = false;  ///< its name is looked up for every request
  bool alive = true;          ///< not dead (HA-022)
  std::string last_error;     ///< empty: no error since its last success
  WallTime last_error_at{};   ///< of `last_error`, if there is one
  AgentNumbers numbers;
  std::array<Totals, kShownPeriods.size()> periods;  ///< as History::over
  Quantiles latency;                                 ///< as History::quantiles
};

/// The state of a mirror in its set, from pings and errors.
struct Standing {
  std::string role;
  std::string tags;                 ///< `name:value,name:value`
  std::optional<Micros> staleness;  ///< of a replica that reports its freshness
  std::optional<std::uint64_t> generation;
  std::optional<Micros> rtt;        ///< smoothed round trip of pings
  std::optional<Micros> least_rtt;  ///< of the last ten; empty with fewer than two
  std::optional<double> load;       ///< as the mirror reports it
  std::string unsuitable;           ///< why it gets no searches of the table now; else empty
};

void write(StatsWriter& out, const Standing& standing);

/// What strategies that react at once know of a mirror (MirrorSignals).
struct SignalStatus {
  std::optional<Micros> duration;  ///< usual duration of a search; none: unknown
  Micros penalty{};                ///< what its recent failures add to it
  double started = 1;              ///< part of its weight in slow start
};
void write(StatsWriter& out, const SignalStatus& signals);

/// The outliers of a mirror set.
struct OutlierStatus {
  std::size_t ejected = 0;      ///< mirrors that are ejected now
  std::uint64_t ejections = 0;  ///< since the start
  bool panic = false;           ///< ejections do not count now
  std::uint64_t panics = 0;     ///< since the start
};
void write(StatsWriter& out, const OutlierStatus& outliers);

/// One mirror of one shard.
struct MirrorStatus {
  std::size_t agent = 0;  ///< position in Snapshot::agents
  std::vector<std::string> tables;
  double weight = 0;       ///< its share of the set's karma: 0 to 1
  double probability = 0;  ///< that its strategy would choose it now: 0 to 1
  bool persistent = false;
  bool blackhole = false;
  MirrorService service;
  Standing standing;
  SignalStatus signals;
  std::uint64_t attempts = 0;  ///< started since the start of the process, with any outcome
  Totals since_start;
  MirrorReport report;
};
void write_shares(StatsWriter& out, const MirrorStatus& mirror);
void write_since_start(StatsWriter& out, const MirrorStatus& mirror);

struct ShardStatus {
  std::string strategy;
  std::vector<MirrorStatus> mirrors;
  std::string kind;      ///< of the mirror set
  std::string criteria;  ///< of a search whose request has no read preference
  RetryBudgetStatus budget;
  WaitQueue::Status line;                 ///< queries that waited because all mirrors were full
  std::optional<OutlierStatus> outliers;  ///< none: `outlier` is off
  bool mixed = false;                     ///< some mirrors report roles and some do not
};

struct TableStatus {
  std::string name;
  std::string dialect;
  std::vector<ShardStatus> shards;
  std::vector<ShardStatus> blackholes;
  std::optional<RateCounts> requests;  ///< of its rate limiter
  TableTotals totals;
  std::string trouble = {};  ///< MirrorWatch::trouble()
};

struct ProcessStatus {
  Micros uptime{};
  std::string version;
  std::chrono::system_clock::time_point started_at{};
  unsigned workers = 0;
  std::optional<Micros> certificate_time;        ///< until the first one for clients expires
  std::uint64_t connections = 0;                 ///< of clients, accepted since the start
  std::vector<RecordedStat> counters;            ///< all others
  std::map<std::string, SourceNumbers> sources;  ///< of mirrors
};
// In two parts: rows show the version between them.
void write_begin(StatsWriter& out, const ProcessStatus& process);
void write_counters(StatsWriter& out, const ProcessStatus& process);
/// For metrics, with the name that all Prometheus clients use.
void write_start(StatsWriter& out, const ProcessStatus& process);

/// All data of the status at one moment. Plain copied values.
struct Snapshot {
  Micros period{};
  unsigned stored_periods = kStoredPeriods;
  ProcessStatus process;
  std::vector<AgentStatus> agents;
  std::vector<TableStatus> tables;
};
void write_periods(StatsWriter& out, const Snapshot& snapshot);

/// Reads the data of the status, except the histories of agents: the topology of this worker and
/// the counters of all. No worker waits; the numbers are from about the same moment.
Snapshot collect(Worker& worker);

/// Adds the histories of all agents: their last periods and latencies. `topology` is the one that
/// the snapshot was collected from. Any thread: with many agents this is most of the work.
void add_histories(Snapshot& snapshot, const Topology& topology);

}  // namespace karmad
