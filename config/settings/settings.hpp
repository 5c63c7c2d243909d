#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/settings/address_range.hpp"
#include "config/text/source_text.hpp"

namespace karmad {

using Micros = std::chrono::microseconds;
using namespace std::chrono_literals;

/// That many per period, evenly spaced. 0: unlimited.
struct Rate {
  unsigned count = 0;
  Micros per{1s};

  bool limits() const { return count != 0; }
  /// Number in a time: `2s` at 5/s gives 10.
  double in(Micros time) const {
    return count * (static_cast<double>(time.count()) / static_cast<double>(per.count()));
  }
  bool operator==(const Rate&) const = default;
};

/// Prefixes of application names; none is empty.
using AppNames = std::vector<std::string>;

/// Origins of web pages, as browsers write them: `https://app.example.org`.
struct Origins {
  bool any = false;
  std::vector<std::string> list;

  bool empty() const { return !any && list.empty(); }
  bool operator==(const Origins&) const = default;
};

/// An end point of a connection: host and port, or the path of a unix socket (empty host).
struct Address {
  std::string host;
  std::uint16_t port = 0;
  std::string unix_path;

  bool is_unix() const { return !unix_path.empty(); }
  auto operator<=>(const Address&) const = default;
};

/// `host:port`, `[v6]:port` or the path.
std::string text(const Address& address);

/// Name servers: IP addresses with ports.
using DnsServers = std::vector<Address>;

/// How the servers of a source are reached.
struct SourceAccess {
  bool tls = false;         ///< their URLs begin with `https:`; the rest is for TLS alone
  std::string ca;           ///< file with roots; empty: those of the system
  std::string certificate;  ///< file with what is shown to the servers, and its key; empty: none
  std::string token;        ///< file with a bearer token, or a user of etcd; empty: none is sent

  auto operator<=>(const SourceAccess&) const = default;
};

/// From where the mirrors of a table are read while karmad runs (`discovery`).
struct DiscoverySource {
  enum class Kind : std::uint8_t { file, etcd, kubernetes };
  Kind kind = Kind::file;
  std::vector<Address> servers;  ///< `etcd`: its endpoints; `kubernetes`: of the API, one
  std::string name;  ///< path of the file, prefix of the keys with its `/`, or NAMESPACE/SERVICE
  std::string port;  ///< `kubernetes`: name of the port; empty: the first one
  SourceAccess access;

  auto operator<=>(const DiscoverySource&) const = default;
};

/// The kind of credentials that clients must send, and the file with those that are known.
struct ClientAuth {
  enum class Kind : std::uint8_t { basic, bearer };
  Kind kind = Kind::basic;
  std::string file;

  bool operator==(const ClientAuth&) const = default;
};

/// What a listener is for, and what its clients speak.
struct ListenerKind {
  bool admin = false;      ///< for the operator: admin calls and the status, no queries
  bool mysql = false;      ///< speaks the MySQL protocol instead of HTTP
  bool read_only = false;  ///< with `mysql`: refuses statements that change data
  bool tls = false;        ///< `https`: HTTP in TLS
  bool proxy = false;      ///< connections begin with a header of the PROXY protocol
  bool no_auth = false;    ///< its clients need no credentials
  std::shared_ptr<const ClientAuth> auth{};  ///< in place of `auth`; null: that applies
};

/// One `listen` line; `*` or no host means every address.
struct Listen : ListenerKind {
  Address address;
  Place at;
};
/// As a line of the configuration.
std::string text(const Listen& listen);

enum class PartialResults : std::uint8_t { allow, deny };
enum class Collation : std::uint8_t { libc_ci, libc_cs, binary };
enum class LookUp : std::uint8_t { at_load, on_request };
/// What the name of an agent stands for: one mirror with all its addresses, a mirror for each
/// address, or a mirror for each target of its SRV records.
enum class Resolve : std::uint8_t { one, all, srv };
/// Whether connections to an agent use TLS; `unverified`: with any certificate.
enum class AgentTls : std::uint8_t { no, yes, unverified };
enum class Updates : std::uint8_t { primary, any, all };
/// Which methods of requests reach the mirrors of an HTTP server.
enum class Methods : std::uint8_t { known, any };
/// How the shard of a document is found: not at all, or by a hash of its id.
enum class ShardBy : std::uint8_t { none, id };
enum class Consistency : std::uint8_t { any, quorum };
enum class LogLevel : std::uint8_t { debug, info, warning, error };
enum class LogFormat : std::uint8_t { json, text };
/// What the listeners for queries tell about karmad itself: all, only its health, or nothing.
enum class StatusOnQueryPort : std::uint8_t { yes, health, no };
/// Which requests have an id: all, or those whose client sent one.
enum class RequestIds : std::uint8_t { make, accept };
enum class AdmissionMode : std::uint8_t { enforce, monitor, off };
enum class QueueOrder : std::uint8_t { fifo, lifo, codel };
enum class TicketResize : std::uint8_t { gradual, immediate };
/// Whether `/readyz` needs the table.
enum class Required : std::uint8_t { yes, no };
/// Whether the agents of a table get the `Authorization` of clients.
enum class PassAuthorization : std::uint8_t { yes, no };
/// How answers to clients are compressed; `zstd`: or with gzip, as the client wants.
enum class Compress : std::uint8_t { off, gzip, zstd };
/// What ejects a mirror from its set; `on`: failures and latency.
enum class Outlier : std::uint8_t { off, failures, latency, on };

/// Whether a mirror takes part (`state`): `drain`: it gets no new searches, and is pinged; `maint`:
/// it gets nothing at all.
enum class ServiceState : std::uint8_t { ready, drain, maint };

/// Settings of `searchd` that a table, and a mirror in brackets, may override.
struct InheritedByMirrors {
  Located<std::string> max_in_flight{"unlimited", {}};  ///< checked when the topology is built
  Located<Resolve> resolve{Resolve::one, {}};
  Located<AgentTls> agent_tls{AgentTls::no, {}};
  std::optional<Located<std::string>> agent_tls_name;  ///< unset: the agent's host
};

/// Settings of `searchd` that a table and an agent line may override.
struct InheritedByLines {
  /// Unset: `leastops` if a read preference is configured, else `random`.
  std::optional<Located<std::string>> ha_strategy;
  Located<std::string> ping_type{"http", {}};     ///< checked when the topology is built
  std::optional<Located<std::string>> ping_path;  ///< unset: the kind's default
};

/// What agents are told of the client's request. A table may override it.
struct ForwardingSettings {
  std::optional<Located<bool>> forwarded_headers;  ///< unset: with dialect `http`
  Located<bool> keep_host{false, {}};
};

/// Settings of `searchd` that a table may override.
struct InheritedByTables : InheritedByLines, InheritedByMirrors, ForwardingSettings {
  std::optional<Located<std::string>> read_preference;  ///< checked when the topology is built
  std::optional<Located<std::string>> tag_sets;         ///< likewise
  std::optional<Located<Micros>> max_staleness;         ///< 0 (written -1): no limit
  Located<Micros> agent_connect_timeout{1s, {}};
  Located<Micros> agent_query_timeout{3s, {}};
  /// Unset: each other mirror once. Also set by `mirror_retry_count`.
  std::optional<Located<unsigned>> agent_retry_count;
  std::optional<Located<Micros>> agent_first_byte_timeout;      ///< unset: none
  std::optional<Located<std::vector<Micros>>> search_timeouts;  ///< of attempt 1, 2, … (CO-044)
  std::optional<Located<unsigned>> max_attempts;
  Located<unsigned> retry_budget_percent{20, {}};
  Located<std::string> hedge{"off", {}};      ///< checked when the topology is built (CO-080)
  std::optional<Located<Micros>> hedge_step;  ///< unset: equal to the threshold
  Located<unsigned> hedge_max{1, {}};         ///< attempts in addition to the first
  Located<bool> breaker{false, {}};           ///< CO-090
  Located<Outlier> outlier{Outlier::off, {}};
  std::optional<Located<unsigned>> choices;  ///< unset: 2 with `adaptive`, 3 with `prequal`
  /// Unset: kSlowStart with `adaptive`, `prequal` and `ars`, else none.
  std::optional<Located<Micros>> slow_start;
  Located<PartialResults> partial_results{PartialResults::allow, {}};
  std::optional<Located<std::string>> agent_tls_ca;  ///< file of roots; unset: the system's
  /// File with a certificate for agents, and its key. Unset: none is shown.
  std::optional<Located<std::string>> agent_tls_certificate;
};

/// One mirror of an agent line. `tables`: its names of the table, never empty.
struct MirrorSettings : InheritedByMirrors {
  Address address;
  std::vector<std::string> tables;
  std::optional<Located<std::string>> role;  ///< checked when the topology is built
  std::optional<Located<std::string>> tags;  ///< `name:value;name:value`, checked likewise
  Located<unsigned> weight{1, {}};           ///< 0: only if no other mirror suits
  Located<ServiceState> state{ServiceState::ready, {}};
  Place at;
};

/// One agent line: a shard, and the mirrors that hold it.
struct ShardSettings : InheritedByLines {
  std::vector<MirrorSettings> mirrors;
  /// Absolute number of retries; overrides the table's count, which is per mirror.
  std::optional<unsigned> retry_count;
  bool persistent = false;
  bool blackhole = false;
  std::optional<Located<std::string>> set_name;  ///< mirrors that report another name are excluded
  std::string line;                              ///< as written
  Place at;
};

/// The number of tickets of a pool: fixed, found by probing, or unlimited.
struct TicketCount {
  enum class Kind : std::uint8_t { fixed, automatic, unlimited };
  Kind kind = Kind::unlimited;
  unsigned count = 0;

  bool operator==(const TicketCount&) const = default;
};

/// A limit of memory: bytes (0: unlimited), or a part of the available memory.
struct MemorySize {
  bool automatic = true;
  std::uint64_t bytes = 0;

  bool operator==(const MemorySize&) const = default;
};

/// Permissions of a file: the lowest nine bits of its mode.
struct FileMode {
  unsigned bits = 0;

  bool operator==(const FileMode&) const = default;
};

/// What the agents of a table get in the field `Authorization`.
struct CredentialSettings {
  /// Unset: `yes` with a dialect that passes fields on, unless the next or `auth` is set.
  std::optional<Located<PassAuthorization>> pass_authorization;
  std::optional<Located<std::string>> credentials;  ///< path of a file with a secret; unset: none
  std::string authorization;  ///< value of the field, read from it by the server; no key
};

/// A source of mirrors, and the files that TLS to its servers needs.
struct DiscoverySettings {
  std::optional<Located<DiscoverySource>> discovery;
  std::optional<Located<std::string>> discovery_ca;
  std::optional<Located<std::string>> discovery_certificate;
  std::optional<Located<std::string>> discovery_token;
};

/// A distributed table.
struct TableSettings : InheritedByTables, CredentialSettings, DiscoverySettings {
  std::string name;
  Place at;
  Located<std::string> dialect{"manticore", {}};  ///< checked when the topology is built
  Located<std::string> route;                     ///< dialect `http`: prefix of its paths, `/x`
  std::optional<Located<std::string>> path;       ///< dialect `http`: replaces the prefix
  std::vector<std::string> reads;                 ///< dialect `http`: paths that may be retried
  Place reads_at;
  Located<Methods> methods{Methods::known, {}};  ///< dialect `http`
  Located<bool> upgrades{false, {}};             ///< dialect `http`
  Located<Rate> request_rate;
  Located<Micros> request_burst{1s, {}};
  Located<Updates> updates{Updates::primary, {}};
  Located<ShardBy> shard_by{ShardBy::none, {}};
  Located<Consistency> consistency{Consistency::any, {}};  ///< CO-070
  Located<Required> required{Required::yes, {}};
  std::vector<ShardSettings> shards;  ///< agent lines, then agent_persistent lines
  std::vector<ShardSettings> blackholes;
};

/// Where clients connect, and where a successor asks for the listeners.
struct ListenerSettings {
  std::vector<Listen> listen;  ///< never empty after reading: 127.0.0.1:9308 by default
  Located<FileMode> listen_socket_mode{{0666}, {}};         ///< of unix sockets; so is the next
  std::optional<Located<std::string>> listen_socket_owner;  ///< unset: the process's
  Located<unsigned> listen_backlog{511, {}};
  std::optional<Located<std::string>> takeover_socket;  ///< path of a unix socket; unset: none
};

/// What clients that use TLS get, and need.
struct ClientTlsSettings {
  std::optional<Located<AppNames>> tls_certificate;  ///< files; chosen by SNI
  std::optional<Located<AppNames>> tls_key;          ///< one per certificate; unset: the same files
  std::optional<Located<std::string>> tls_client_ca;
  std::optional<Located<AppNames>> tls_client_names;
};

/// Clients that come by other proxies, and web pages.
struct EdgeSettings {
  Located<AddressRanges> trusted_proxies;
  Located<Origins> allow_origin;
  Located<Compress> compress{Compress::off, {}};
  Located<std::size_t> compress_min_size{1u << 10, {}};
  Located<unsigned> compress_level{1, {}};
  Located<double> compress_share{0.25, {}};
};

/// What the operator may do and see, and where.
struct AdminSettings {
  /// File with the token that admin calls need. Unset: none is needed.
  std::optional<Located<std::string>> admin_token_file;
  std::string admin_token;  ///< read from that file by the server; no key
  Located<bool> admin_on_query_port{false, {}};
  Located<StatusOnQueryPort> status_on_query_port{StatusOnQueryPort::yes, {}};
  Located<unsigned> max_admin_connections{64, {}};
  Located<unsigned> max_event_streams{64, {}};  ///< 0: none
  Located<unsigned> explain_requests{64, {}};   ///< 0: none
  /// File with what the operator changed at run time. Unset: it is lost at the end.
  std::optional<Located<std::string>> state_file;
};

/// A line of the file of a ClientAuth.
struct KnownClient {
  std::string user;  ///< empty with `bearer`
  /// Of the password, for crypt(3), or `*` and the bytes of that of mysql_native_password; with
  /// `bearer` the SHA-256 of the token.
  std::string hash;

  bool operator==(const KnownClient&) const = default;
};

/// Who is known by that file.
struct KnownClients {
  ClientAuth by;
  std::vector<KnownClient> all;

  bool operator==(const KnownClients&) const = default;
};

/// Which clients may ask.
struct AuthSettings {
  std::optional<Located<ClientAuth>> auth;       ///< unset: all, but where a listener has its own
  std::vector<KnownClients> known_clients;       ///< read from the files by the server; no key
  Located<unsigned> auth_remembered{1000, {}};   ///< verified passwords per worker
  Located<Rate> auth_failure_rate{{1, 1s}, {}};  ///< per address
  Located<Micros> auth_failure_burst{10s, {}};

  /// What clients of such a listener must send; null: nothing.
  const ClientAuth* auth_of(const ListenerKind& listener) const {
    if (listener.admin || listener.no_auth) return nullptr;
    if (listener.auth) return listener.auth.get();
    return auth ? &auth->value : nullptr;
  }
  /// Empty where its file is not one of these settings: then no client is served.
  std::span<const KnownClient> known_by(const ClientAuth& by) const {
    for (const auto& known : known_clients)
      if (known.by == by) return known.all;
    return {};
  }
};

/// How scroll tokens are signed.
struct ScrollSettings {
  /// File with the key that signs scroll tokens. Unset: a random one of this process.
  std::optional<Located<std::string>> scroll_key_file;
  std::string scroll_key;  ///< read from that file by the server; no key
};

/// Threads and memory of the process.
struct ResourceSettings {
  Located<unsigned> workers{0, {}};            ///< 0: one per usable core
  Located<unsigned> long_work_threads{0, {}};  ///< 0: as many as workers
  Located<unsigned> long_work_queue{1000, {}};
  Located<std::size_t> long_work_size{256u << 10, {}};
  Located<MemorySize> memory_limit;
  Located<std::size_t> buffer_keep_up_to{1u << 20, {}};
};

/// When a mirror counts as alive.
struct HealthSettings {
  Located<Micros> ha_ping_interval{1s, {}};       ///< 0: no pings
  std::optional<Located<Micros>> ping_timeout;    ///< unset: the interval, at least 500 ms (SD-007)
  Located<unsigned> dead_after{3, {}};            ///< errors in a row that are tolerated (HA-022)
  Located<bool> interrupt_unreachable{true, {}};  ///< SD-008
};

/// How a mirror is chosen, and how long a query waits for a suitable one.
struct SelectionSettings {
  Located<Micros> ha_period_karma{60s, {}};
  Located<bool> karma_compound{false, {}};
  Located<Micros> local_threshold{15ms, {}};  ///< width of the latency window (SS-010)
  Located<bool> tags_in_flat{false, {}};
  Located<Micros> selection_timeout{30s, {}};          ///< 0: do not wait (SS-013, SS-015)
  Located<unsigned> max_waiting_selections{1024, {}};  ///< 0: none may wait (SS-113)
  Located<LogLevel> selection_log_level{LogLevel::info, {}};
};

/// Which attempts are repeated, how often and when.
struct RepeatSettings {
  Located<Micros> agent_retry_delay{500ms, {}};
  Located<bool> retry_reads{true, {}};               ///< BP-006
  Located<bool> retry_writes{true, {}};              ///< BP-006
  Located<unsigned> overload_max_retries{5, {}};     ///< BP-004
  Located<Micros> overload_backoff_base{100ms, {}};  ///< BP-007
  Located<Micros> overload_backoff_cap{10s, {}};     ///< BP-007
  Located<bool> overload_retarget{true, {}};         ///< BP-008
  Located<bool> adaptive_retries{false, {}};         ///< BP-020
  Located<unsigned> throttle_max_retries{9, {}};     ///< CO-020
  Located<Micros> throttle_max_wait{3s, {}};         ///< CO-021
  Located<Micros> unavailable_for{5min, {}};         ///< CO-033
  Located<unsigned> zone_max_retries{3, {}};         ///< CO-031
  Located<unsigned> retry_budget_min{3, {}};
};

/// When hedging stops for all tables.
struct HedgeSettings {
  Located<bool> hedge_disabled{false, {}};            ///< switches hedging off for all (CO-085)
  Located<unsigned> hedge_max_load_percent{200, {}};  ///< 0: at any load
};

/// When the breaker of a shard avoids a mirror.
struct BreakerSettings {
  Located<unsigned> breaker_reads{10, {}};  ///< failures that are tolerated
  Located<unsigned> breaker_writes{5, {}};  ///< likewise
  Located<Micros> breaker_window{5min, {}};
};

/// When a mirror is ejected from its set.
struct OutlierSettings {
  Located<unsigned> outlier_failures{5, {}};          ///< in a row
  Located<unsigned> outlier_failure_percent{50, {}};  ///< of at least 20 attempts
  Located<double> outlier_latency_factor{3, {}};
  Located<Micros> outlier_time{10s, {}};  ///< of the first ejection
  Located<Micros> outlier_longest_time{5min, {}};
  Located<unsigned> outlier_most_percent{50, {}};  ///< of the mirrors of a set
  /// Of the mirrors of a set; if fewer are usable, ejections do not count.
  Located<unsigned> outlier_panic_percent{50, {}};
};

/// Connections to one agent, and attempts in flight at it.
struct AgentLimitSettings {
  Located<unsigned> agent_max_connections{100, {}};  ///< to one agent; 0: unlimited
  Located<unsigned> agent_max_connecting{2, {}};     ///< connects in progress; 0: unlimited
  std::optional<Located<unsigned>> persistent_connections_limit;  ///< unset: 100 per agent (X-17)
  Located<unsigned> max_in_flight_min{4, {}};  ///< of `auto`; so are the next four
  Located<unsigned> max_in_flight_max{200, {}};
  Located<unsigned> max_in_flight_initial{20, {}};
  Located<unsigned> max_in_flight_slack{4, {}};
  Located<unsigned> max_in_flight_smoothing{20, {}};  ///< percent
  Located<unsigned> max_in_flight_queue{4, {}};       ///< waiting queries per slot; 0: none
};

/// How names of hosts are resolved.
struct NameSettings {
  Located<LookUp> hostname_lookup{LookUp::at_load, {}};
  Located<Micros> dns_refresh{30s, {}};  ///< 0: only after failed connects and at a reload
  Located<DnsServers> dns_servers;       ///< empty: those of the system
  Located<Micros> dns_timeout{2s, {}};   ///< of the first try; doubled for each further one
  Located<unsigned> dns_tries{2, {}};    ///< per name server
};

/// How many requests are worked on at once, and how the others wait.
struct TicketSettings {
  Located<AdmissionMode> admission{AdmissionMode::enforce, {}};
  Located<unsigned> ingress_tickets{1'000'000, {}};  ///< 0: no request that needs one (AC-060)
  Located<TicketCount> search_tickets;
  Located<TicketCount> update_tickets;
  std::optional<Located<unsigned>> ticket_queue_depth;  ///< unset: four times the pool (AC-011)
  std::optional<Located<Micros>> ticket_queue_timeout;  ///< unset: the request's deadline
  Located<QueueOrder> ticket_queue_discipline{QueueOrder::lifo, {}};
  Located<Micros> ticket_queue_target{20ms, {}};
  Located<Micros> ticket_queue_interval{200ms, {}};
  Located<bool> low_priority{false, {}};                           ///< AC-007
  Located<unsigned> low_priority_tickets{4, {}};                   ///< 0: none is admitted
  Located<TicketResize> ticket_resize{TicketResize::gradual, {}};  ///< AC-012
  Located<Micros> ticket_delinquent_after{30ms, {}};               ///< AC-015
  Located<Micros> throughput_probing_stall_detection_timeout{60s, {}};
};

/// How the number of tickets is found by probing.
struct ProbingSettings {
  Located<unsigned> throughput_probing_initial_concurrency{0, {}};  ///< 0: twice the cores
  Located<unsigned> throughput_probing_min_concurrency{4, {}};      ///< per pool
  Located<unsigned> throughput_probing_max_concurrency{128, {}};    ///< per pool
  Located<double> throughput_probing_read_write_ratio{0.5, {}};
  Located<double> throughput_probing_concurrency_moving_average_weight{0.2, {}};
  Located<double> throughput_probing_step_multiple{0.1, {}};
  Located<unsigned> throughput_probing_evidence{100, {}};  ///< 0: one measurement decides
  Located<double> throughput_probing_evidence_step{0.2, {}};
  Located<double> throughput_probing_evidence_gain{0.15, {}};
  Located<Micros> throughput_probing_concurrency_adjustment_interval{100ms, {}};
};

/// How many connections and requests are admitted in a time.
struct RateSettings {
  Located<Rate> ingress_connection_rate;  ///< AC-041
  Located<Micros> ingress_connection_burst{1s, {}};
  Located<unsigned> ingress_connection_queue{0, {}};
  Located<AddressRanges> ingress_connection_bypass;
  Located<Rate> ingress_request_rate;  ///< AC-052
  Located<Micros> ingress_request_burst{1s, {}};
  Located<AddressRanges> ingress_request_exempt;
  Located<AppNames> ingress_request_exempt_apps;  ///< AC-056
  Located<Rate> client_request_rate;
  Located<Micros> client_request_burst{1s, {}};
  Located<unsigned> client_request_remembered{10'000, {}};
  std::optional<Located<std::string>> client_request_header;  ///< unset: clients by address
};

/// What one request may contain and how long it may take.
struct RequestSettings {
  Located<Micros> request_timeout{10s, {}};
  Located<unsigned> max_hops{3, {}};
  Located<std::size_t> max_packet_size{128u << 20, {}};
  Located<std::size_t> reply_buffer_size{1u << 20, {}};
  Located<std::size_t> request_buffer_size{64u << 10, {}};
  Located<std::size_t> max_header_size{16u << 10, {}};
  Located<unsigned> max_header_count{100, {}};
  Located<unsigned> max_json_depth{128, {}};
  Located<Collation> collation{Collation::libc_ci, {}};
};

/// How many connections of clients there are, and how long one may be idle or slow.
struct ConnectionSettings {
  Located<unsigned> max_connections{0, {}};  ///< 0: as many as the file limit allows
  Located<unsigned> max_tunnels{1000, {}};
  Located<Micros> client_timeout{300s, {}};
  Located<Micros> half_close_wait{100ms, {}};  ///< 0: a client that ends its half has left
  Located<Micros> network_timeout{5s, {}};
  /// Between two bytes of an answer without a length, or of a tunnel.
  Located<Micros> stream_timeout{60s, {}};
};

/// How the process ends.
struct ShutdownSettings {
  Located<Micros> drain_delay{0s, {}};
  Located<Micros> shutdown_timeout{60s, {}};
  Located<Micros> shutdown_linger{1s, {}};
};

/// What is logged, and where.
struct LogSettings {
  Located<LogLevel> log_level{LogLevel::info, {}};
  Located<LogFormat> log_format{LogFormat::text, {}};
  Located<RequestIds> request_id{RequestIds::make, {}};
  /// `stdout` or `-`; `syslog` or `syslog:PATH`; else a file. Unset: none.
  std::optional<Located<std::string>> access_log;
  Located<LogFormat> access_log_format{LogFormat::json, {}};
  Located<double> access_log_sample{1, {}};
  Located<Micros> access_log_slow{1s, {}};
};

/// All settings of `searchd`: the defaults of tables, and a part for each thing that reads them.
/// All defaults are defined here. A function takes the part that it needs.
struct InstanceSettings : InheritedByTables,
                          ListenerSettings,
                          ClientTlsSettings,
                          EdgeSettings,
                          AdminSettings,
                          AuthSettings,
                          ScrollSettings,
                          ResourceSettings,
                          HealthSettings,
                          SelectionSettings,
                          RepeatSettings,
                          HedgeSettings,
                          BreakerSettings,
                          OutlierSettings,
                          AgentLimitSettings,
                          NameSettings,
                          TicketSettings,
                          ProbingSettings,
                          RateSettings,
                          RequestSettings,
                          ConnectionSettings,
                          ShutdownSettings,
                          LogSettings {};

/// The duration of slow start with strategies that react at once, if `slow_start` is not set.
inline constexpr Micros kSlowStart = 10s;

/// The defaults. Rules that are made from settings take their defaults from here.
inline const InstanceSettings kDefaultSettings;

/// A configuration that has been read and checked.
struct Settings {
  InstanceSettings searchd;
  std::vector<TableSettings> tables;
  /// Settings that karmad does not use, or has corrected; logged once.
  Problems notices;
};

}  // namespace karmad
