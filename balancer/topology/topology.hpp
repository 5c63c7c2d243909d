#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/kinds/dialect_kind.hpp"
#include "agent/health/state.hpp"
#include "agent/mirrors/mirror_set.hpp"
#include "agent/ping_kinds/ping_kinds.hpp"
#include "agent/stats/histogram.hpp"
#include "agent/stats/stats_writer.hpp"
#include "agent/transport/http/http_syntax.hpp"
#include "balancer/rules/admission/rate_limiter.hpp"
#include "balancer/rules/hedge_plan.hpp"
#include "balancer/rules/protection.hpp"
#include "balancer/rules/retry_plan.hpp"
#include "config/settings/settings.hpp"
#include "strategies/estimates/karma_weights.hpp"
#include "strategies/estimates/slow_start.hpp"
#include "strategies/kinds/registry.hpp"
#include "strategies/random_source.hpp"

namespace karmad {

/// The most names and wildcards in one list, and the most tables that a list may stand for.
inline constexpr std::size_t kMaxListedTables = 256;

/// A table that a list may name.
struct ListableTable {
  std::string_view name;
  std::string_view dialect;  ///< name of its dialect
};

/// True for a text that stands for several tables: names with commas, `_all`, or a wildcard (`*`
/// stands for any number of characters).
bool is_table_list(std::string_view text);

/// Whether the text, a name or a list, names one of these tables at least, of that dialect.
bool names_any(std::string_view text, std::span<const ListableTable> tables,
               std::string_view dialect);

/// The positions of the named tables of that dialect: in the order of the list, a wildcard's in
/// their own order, without duplicates. White space around names and empty pieces are ignored;
/// names are case-insensitive. 404 for a name or a wildcard without a table, 400 for a list that is
/// empty or too long. `shows_known`: the error names the other tables.
std::expected<std::vector<std::size_t>, ClientError> listed_tables(
    std::string_view text, std::span<const ListableTable> tables, std::string_view dialect,
    bool shows_known = true);

/// The error for an unknown name of a table; lists up to 20 of the known ones, if there are any.
std::string unknown_table(std::string_view name, std::span<const std::string_view> known);

/// The status codes that are counted apart; all others are counted together.
inline constexpr std::array<int, 25> kCountedCodes{101, 200, 201, 204, 206, 301, 302, 304, 400,
                                                   401, 403, 404, 405, 408, 409, 413, 415, 429,
                                                   449, 499, 500, 501, 502, 503, 504};

/// Sums over the requests of a table since the start.
struct TableTotals {
  std::array<std::uint64_t, kCountedCodes.size() + 1> responses{};  ///< the last one: other codes
  Durations requests;  ///< from the complete request to its answer
  Durations attempts;  ///< that ended with a reply, an error or a timeout
};
void write(StatsWriter& out, const TableTotals& totals);

/// Counts the requests of a table. Every worker writes its own cell of 512 bytes. Survives reloads.
class TableTally {
 public:
  explicit TableTally(unsigned workers) : cells_(workers) {}

  // Called only by the worker with that index; a few nanoseconds, allocate nothing.
  /// 499: the client has left.
  void responded(unsigned worker, int code, Micros took) noexcept;
  void attempted(unsigned worker, Micros took) noexcept { cells_[worker].attempts.add(took); }

  /// Any thread.
  TableTotals totals() const;

 private:
  struct alignas(64) Cell {
    std::array<SingleWriter<std::uint64_t>, kCountedCodes.size() + 1> responses;
    OwnedDurations requests;
    OwnedDurations attempts;
  };
  std::vector<Cell> cells_;
};

/// How the mirrors of a shard are pinged; without a kind they are not.
struct ShardPings {
  const PingKind* kind = nullptr;
  std::string path;     ///< empty: the kind's default
  bool always = false;  ///< also while queries show that the mirror is alive (X-6)
  bool operator==(const ShardPings&) const = default;
};

/// All settings of a mirror set. A reload that leaves them equal keeps the set.
struct MirrorSetRules {
  /// One mirror: its address, and its names of the table.
  struct Holder {
    Address address;
    std::vector<std::string> tables;
    bool operator==(const Holder&) const = default;
  };

  std::vector<Holder> holders;
  std::vector<Member> members;  ///< configured properties, one per holder
  std::string strategy;
  StrategySettings strategy_settings;
  KarmaRules karma;
  SlowStartRules slow_start;
  SetSettings state;
  ShardPings pings;
  /// True if pings distinguish the mirrors by roles, tags, or the state of their copies. Then
  /// searches without a read preference also need a suitable mirror.
  bool tracks_state = false;
  bool operator==(const MirrorSetRules&) const = default;
};

/// What the agents of a shard get in the field `Authorization`.
struct AgentCredentials {
  std::string own;              ///< that of `credentials`; empty: none
  bool passes_clients = false;  ///< that of the client comes first, if there is one
  /// Whether it differs from what the dialect sends anyway: the client's fields, or none of them.
  bool differs = false;

  /// The value for a request whose client sent that one; empty: the agent gets none.
  std::string_view for_client(std::string_view sent) const {
    return passes_clients && !sent.empty() ? sent : std::string_view(own);
  }
  bool operator==(const AgentCredentials&) const = default;
};

/// All settings of a shard. A reload that leaves them equal keeps the shard.
struct ShardDefinition : MirrorSetRules {
  AgentCredentials credentials;
  ProtectionRules protection_rules;
  std::optional<unsigned> retry_count;  ///< absolute (HA-026)
  bool persistent = false;
  bool operator==(const ShardDefinition&) const = default;
};

/// All agents in use, by address: tables that name the same host share its statistics. Used by the
/// thread that builds topologies.
class AgentRegistry {
 public:
  AgentRegistry(unsigned workers, Micros period, DnsSettings dns = {})
      : workers_(workers),
        period_(period),
        dns_(std::make_shared<const DnsSettings>(std::move(dns))) {}
  std::shared_ptr<Agent> at(const Address& address);

 private:
  unsigned workers_;
  Micros period_;
  const std::shared_ptr<const DnsSettings> dns_;
  std::map<Address, std::weak_ptr<Agent>> agents_;
  std::size_t sweep_at_ = 64;  ///< number of entries at which those of former agents are removed
  std::size_t next_id_ = 0;
};

/// One part of a table: its mirrors, and its settings.
struct Shard : ShardDefinition {
  std::shared_ptr<MirrorSet> mirrors;
  std::unique_ptr<Protection> protection;
};

/// An agent that gets a copy of every query and whose answers are dropped.
struct Blackhole {
  std::shared_ptr<Agent> agent;
  std::vector<std::string> tables;
  std::size_t line = 0;  ///< number of its `agent_blackhole` line in the table
  AgentCredentials credentials;
};

/// How long one attempt may take.
struct AttemptTimeouts {
  Micros connect{};
  Micros query{};
  std::optional<Micros> first_byte;
  std::vector<Micros> searches;  ///< of attempt 1, 2, …; empty: `query` for all

  /// Of a search after so many attempts: the last entry of `searches` counts for all later ones
  /// (CO-044).
  Micros of_search(unsigned attempts_before) const {
    if (searches.empty()) return query;
    return searches[std::min<std::size_t>(attempts_before, searches.size() - 1)];
  }
};

/// When the searches of a table are hedged, and how often.
struct TableHedging {
  HedgeSetting after;          ///< of `hedge`
  std::optional<Micros> step;  ///< between hedges; unset: as long as until the first
  unsigned max{};
};

/// What agents are told of the client's request.
struct ForwardingRules {
  bool forwards_headers = false;
  bool keeps_host = false;
  bool passes_upgrades = false;
};

struct Table : ForwardingRules {
  std::string name;
  DialectKind dialect;
  std::string route;
  std::shared_ptr<Dialect> routed;  ///< parses requests to its route; null: it has none
  AttemptTimeouts timeouts;
  std::optional<unsigned> retry_count;  ///< per mirror; unset: X-15
  RetryRules retry_rules;
  TableHedging hedging;
  PartialResults partial_results{};
  std::optional<ReadPreference> preference;  ///< of the table or the instance (SS-080)
  Updates updates{};
  ShardBy shard_by{};
  Consistency consistency{};
  bool required = true;                   ///< by `/readyz`
  std::shared_ptr<RateLimiter> requests;  ///< null: no `request_rate`, or admission is disabled
  std::shared_ptr<TableTally> tally;
  BucketRule request_rule;  ///< applied to `requests` when this topology is adopted
  std::vector<std::shared_ptr<Shard>> shards;
  std::vector<Blackhole> blackholes;
  std::vector<const Table*> members;  ///< the tables of a list; empty: it is a configured one

  /// Whether one agent gets a request's body, byte by byte.
  bool takes_streams() const {
    return dialect.capabilities.passes_fields && shards.size() == 1 && blackholes.empty() &&
           updates != Updates::all && consistency != Consistency::quorum;
  }
};

/// The configured table of each shard, of a list the first one that has it.
std::vector<std::string_view> tables_of_shards(const Table& table);

/// The path as endpoints have it: one with a segment that begins with `_` may end with a slash, as
/// in Elasticsearch.
std::string_view endpoint_path(std::string_view path);

/// A path served by a dialect, and the object that handles its requests.
struct ServedPath {
  const DialectKind& kind;
  const DialectEndpoint& endpoint;
  std::unique_ptr<Dialect> dialect;
};

/// Tables, shards and mirror sets with their settings. Immutable; kept alive while a query uses it.
class Topology {
 public:
  /// All that the building of mirror sets needs besides the configuration.
  struct Environment {
    AgentRegistry& registry;
    unsigned workers = 1;
    const Loops& loops;
    Selector selector{};  ///< of the application, if any (SS-020)
    Dialects dialects = karmad::dialects();
  };

  /// Checks what only this library can judge (strategies, dialects, routes, read preferences,
  /// pings), and warns of settings without effect. Builds nothing, so the settings may have other
  /// problems.
  static void judge(const Settings& settings, Dialects dialects, Problems& problems,
                    Problems& notices);

  /// Builds a topology; nullptr if judge() finds a problem. Mirror sets unchanged since `previous`
  /// are reused. In changed sets the data of each mirror is kept if the table had it before, at the
  /// same address and under the same names; its state from pings follows with take_over(). Limits
  /// of agents take effect with apply_limits().
  static std::shared_ptr<const Topology> build(const Settings& settings,
                                               const Environment& environment,
                                               const Topology* previous, Problems& problems);

  /// Applies the agents' limits of this topology (`max_in_flight`, `agent_max_connections` …), and
  /// the weights and states of its mirrors; on worker 0, or before the workers run.
  void apply_limits(TimePoint now) const;

  /// Moves the state from pings of retained mirrors to their new sets; on worker 0, before any
  /// worker uses this topology.
  void take_over() const;

  /// The table of that name, in any case; null: there is none.
  const Table* find(std::string_view name) const;
  /// The table that a list (is_table_list()) of tables of that dialect stands for: the configured
  /// one if there is only one, else one made of all their shards, named `a,b`. Its settings are
  /// those of the first table; partial results are denied if any table denies them. Valid as long
  /// as this topology. The error is the client's (listed_tables()). Any thread.
  std::expected<std::shared_ptr<const Table>, ClientError> combined(std::string_view list,
                                                                    const DialectKind& kind) const;
  /// unknown_table() for a name that find() does not know; the known ones where clients may know of
  /// karmad (`status_on_query_port`).
  std::string unknown(std::string_view name) const;
  /// The table with the longest route that covers the path; null: there is none.
  const Table* route(std::string_view path) const;
  /// The endpoint at exactly this path, else the first one whose pattern the path matches, with the
  /// name of a table of its dialect or a list with such a name; null: there is none.
  const ServedPath* endpoint_at(std::string_view path) const;
  /// The first endpoint with such a pattern, whatever table the path names; null: there is none.
  /// Patterns of a dialect without tables are not served.
  const ServedPath* pattern_of(std::string_view path) const;

  InstanceSettings settings;
  bool limits_connections = false;             ///< a rate is set, and admission is not off
  bool limits_requests = false;                ///< likewise, for all requests or for clients
  bool notes_clients = false;                  ///< `trusted_proxies` or `allow_origin` is set
  HedgeSetting hedge;                          ///< the default if neither request nor table set it
  std::vector<std::unique_ptr<Table>> tables;  ///< in the order of the file
  std::vector<std::shared_ptr<Agent>> agents;  ///< in the order of first use
  std::map<const Agent*, AgentSlotRules> slots;  ///< agents with a limit
  /// Weights and states of the mirrors of each set; they change without a new set.
  std::vector<std::pair<std::shared_ptr<MirrorSet>, std::vector<MirrorService>>> services;
  std::vector<std::shared_ptr<Agent>> pinged_agents;             ///< agents that are pinged
  std::map<const Agent*, std::shared_ptr<const TlsClient>> tls;  ///< agents with TLS
  std::shared_ptr<TlsServer> client_tls;  ///< for clients with TLS; null: there is none

 private:
  /// Once all tables are known.
  void add_endpoints(Dialects dialects, const DialectSettings& with);

  /// Names of tables are case-insensitive, as in the search server.
  std::map<std::string, const Table*, wire::WordLess> by_name_;
  std::vector<const Table*> routes_;     ///< longest first
  std::vector<ServedPath> endpoints_;    ///< few: a linear search is faster than a hash
  std::vector<ServedPath> patterns_;     ///< endpoints whose path is a pattern
  std::vector<ListableTable> listable_;  ///< one for each table, in the same order

  /// Tables of lists that clients have named, by their names; at most a few.
  struct CombinedTables {
    std::mutex mutex;
    std::map<std::string, std::shared_ptr<const Table>> tables;
  };
  mutable CombinedTables combined_;
};

/// Reads the certificates for clients, or takes those of `previous` if it has the same settings.
/// Null: there are none, or one cannot be read.
std::shared_ptr<TlsServer> read_client_tls(const ClientTlsSettings& settings,
                                           const Topology* previous, Problems& problems);

/// Looks for outliers among the mirrors of a shard (OutlierEjection), and starts those slowly that
/// are admitted again. Nothing without `outlier`. Worker 0 calls it about ten times a second.
void watch_outliers(const Shard& shard, TimePoint now, RandomSource& random);

}  // namespace karmad
