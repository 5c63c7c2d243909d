#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/stats/history.hpp"
#include "strategies/time.hpp"

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
  std::uint32_t errors_in_a_row = 0;
  std::string last_error;             ///< empty: none since its last success
  std::optional<Micros> last_query;   ///< how long ago something was sent, pings included
  std::optional<Micros> last_answer;  ///< how long ago an attempt or ping ended
  std::optional<Micros> last_period;  ///< what that attempt or ping took
  std::optional<Micros> ping_trip;    ///< of the last answered ping
  std::uint32_t in_flight = 0;
  std::uint32_t max_in_flight = 0;   ///< 0: any number
  std::uint64_t over_in_flight = 0;  ///< attempts above it, while it was not enforced
  std::uint32_t open_connections = 0;
  std::uint32_t waiting = 0;                         ///< attempts that wait for a connection
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

/// How far the retry budget of a mirror set is used (RetryBudget).
struct BudgetStatus {
  std::uint32_t live = 0;    ///< requests under way
  std::uint32_t extras = 0;  ///< retries and hedges queued or under way
  std::uint32_t saved = 0;   ///< further ones that quiet times have saved up
  std::uint64_t given = 0;   ///< since the start
  std::uint64_t refused = 0;
};

/// Queries that waited because all mirrors of a shard were full (SeatLine).
struct LineStatus {
  std::uint32_t waiting = 0;
  std::uint64_t waited = 0;
  std::uint64_t refused = 0;
  Micros time{};  ///< that those waited that are done
};

struct ShardStatus {
  std::string strategy;
  std::vector<MirrorStatus> mirrors;
  std::string kind;      ///< of the mirror set
  std::string criteria;  ///< what a search needs when the request gives no read preference
  BudgetStatus budget;
  LineStatus line;
  bool mixed = false;  ///< some mirrors report roles and some do not
};

struct TableStatus {
  std::string name;
  std::string dialect;
  std::vector<ShardStatus> shards;
  std::vector<ShardStatus> blackholes;
};

/// One number of the process: its name, its value as it is shown, and what it means.
struct CounterRow {
  std::string name;
  std::string help;
  std::string value;
};

struct ProcessStatus {
  Micros uptime{};
  std::string version;
  unsigned workers = 0;
  std::uint64_t connections = 0;  ///< of clients, accepted since the start
  std::vector<CounterRow> counters;
};

/// Everything the status can tell, at one moment. Plain values: nothing here is connected to what
/// it was read from.
struct Snapshot {
  Micros period{};
  unsigned stored_periods = kStoredPeriods;
  ProcessStatus process;
  std::vector<AgentStatus> agents;
  std::vector<TableStatus> tables;
};

}  // namespace karmad
