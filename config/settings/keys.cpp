#include "config/settings/keys.hpp"

#include <algorithm>
#include <array>

#include "config/settings/attempts.hpp"

namespace karmad {

namespace {

constexpr Bounds times(Micros bare, Micros lowest, Micros highest) {
  return {.lowest = lowest.count(), .highest = highest.count(), .bare = bare};
}
constexpr Bounds times_or_zero(Micros bare, Micros lowest, Micros highest) {
  auto bounds = times(bare, lowest, highest);
  bounds.zero = true;
  return bounds;
}
constexpr Bounds counts(std::int64_t lowest, std::int64_t highest,
                        std::string_view zero_word = {}) {
  return {.lowest = lowest, .highest = highest, .zero_word = zero_word};
}

constexpr Bounds memory_sizes() {
  auto bounds = counts(std::int64_t{16} << 20, std::int64_t{64} << 40);
  bounds.zero = true;
  return bounds;
}

/// A limit; -1 means none. Seconds without a suffix.
constexpr Bounds limits_or_none(Micros lowest, Micros highest) {
  auto bounds = times_or_zero(1s, lowest, highest);
  bounds.zero_word = "-1";
  bounds.zero_means = "no limit";
  return bounds;
}

constexpr auto kPercent = counts(0, 100);
constexpr auto kAttempts = counts(1, 100);
constexpr auto kHedges = counts(0, 8);
constexpr std::int64_t kMostTickets = 1'000'000'000;

constexpr auto kBurst = times(1s, 1ms, Micros{24h});

constexpr std::int64_t kKilo = 1 << 10;
constexpr std::int64_t kMega = 1 << 20;
constexpr std::int64_t kGiga = 1 << 30;
constexpr auto kDay = Micros{24h};
constexpr auto kYear = 365 * kDay;

// Values of `workers` in files for Sphinx 2.
constexpr std::array<std::string_view, 5> kSphinxWorkers{"threads", "thread_pool", "prefork",
                                                         "fork", "none"};

using I = InstanceSettings;
using T = TableSettings;
// Where else a setting may be given than in `searchd`: in a table, on an agent line, behind a
// mirror.
using ByTables = InheritedByTables;
using ByLines = InheritedByLines;
using ByMirrors = InheritedByMirrors;

/// A key of `searchd`; the struct of its field decides at which other levels it may be given.
template <class Value, class Scope>
consteval Key<I> key(std::string_view name, Value Scope::*field, std::string_view meaning,
                     Bounds bounds = {}, std::string_view unset = {},
                     std::string_view alias_of = {},
                     std::span<const std::string_view> foreign = {}) {
  return {.name = name,
          .field = static_cast<Value I::*>(field),
          .meaning = meaning,
          .bounds = bounds,
          .unset = unset,
          .alias_of = alias_of,
          .foreign = foreign,
          .level = kLevelOf<Scope>};
}

/// Adds the documentation of the key in a table.
consteval Key<I> in_tables(Key<I> key, std::string_view meaning, std::string_view unset = {}) {
  key.meaning_in_table = meaning;
  key.unset_in_table = unset;
  return key;
}

consteval Key<I> beside(std::string_view other, Key<I> key) {
  key.beside = other;
  return key;
}

constexpr std::string_view kUnsetBeside = "that of `searchd`; none with a `read_preference`";

constexpr std::array kSearchdKeys{
    key("listen", &I::listen,
        "Address for clients: `[host:]port[:http]` or the path of a unix socket. May be repeated. "
        "With `:https` at the end clients speak TLS (`tls_certificate`). "
        "No host or `*`: every address, of IPv4 and IPv6; port 0: any free one. With `:mysql` at "
        "the end it is for clients of the MySQL protocol (without a port: 9306), with "
        "`:mysql_readonly` for such that change nothing. With `:admin` at the end it is for the "
        "operator: admin calls and the status, no queries; no host is the loopback address then, "
        "and a public address needs `admin_token_file`. `,proxy` behind the protocol "
        "(`:http,proxy`, "
        "`:mysql,proxy`): each connection must begin with a header of the PROXY protocol, version "
        "1 "
        "or 2, which has the client's address. `,no-auth`: `auth` is not for its clients; "
        "`,users=FILE` or `,tokens=FILE`: that file is, as with `auth = basic` or `bearer`. Lines "
        "for "
        "the search server's other protocols are ignored.",
        {}, "127.0.0.1:9308"),
    key("tls_certificate", &I::tls_certificate,
        "Files in PEM, separated by commas: each a certificate for clients with those between it "
        "and its root, and its private key unless `tls_key` has that. A client gets the one with "
        "the name that it asks for (SNI), else the first. Read again at a reload, and when a file "
        "changes. Clients of the MySQL protocol are offered TLS, too.",
        {}, "no TLS"),
    key("tls_key", &I::tls_key,
        "Files with the private keys of `tls_certificate`, in the same order; without passwords.",
        {}, "the files of `tls_certificate`"),
    key("tls_client_ca", &I::tls_client_ca,
        "File in PEM with roots: clients with TLS must show a certificate that one of them has "
        "signed.",
        {}, "clients need no certificate"),
    key("tls_client_names", &I::tls_client_names,
        "Names, separated by commas, of which a client's certificate must have one: a DNS name or "
        "an IP address.",
        {}, "any name"),
    key("trusted_proxies", &I::trusted_proxies,
        "Proxies that are believed about their clients. The client of their requests is "
        "the last address in `X-Forwarded-For`, or without it in `Forwarded`, that is none of "
        "these. "
        "Listeners with `,proxy` accept connections from them only. Unix sockets are trusted once "
        "it is set.",
        {}, "none: the client is the peer of the connection"),
    key("allow_origin", &I::allow_origin,
        "Web pages that may read answers (CORS): `*`, or a list of origins such as "
        "`https://app.example.org`, which are compared whole. karmad answers the browsers' "
        "preflights then. Not for listeners with `:admin`.",
        {}, "none: nothing is added to answers"),
    key("compress", &I::compress,
        "Whether answers are compressed for clients that ask for it (`Accept-Encoding`). `gzip`; "
        "`zstd`: with it or with gzip, as the client prefers. What an agent has compressed passes "
        "unchanged."),
    key("compress_min_size", &I::compress_min_size, "With `compress`: shorter answers are not.",
        counts(1, kGiga)),
    key("compress_level", &I::compress_level, "With `compress`: 1 is fast, 9 makes answers small.",
        counts(1, 9)),
    key("compress_share", &I::compress_share,
        "With `compress`: largest part of a worker's time for it, 0 … 1; while more would be "
        "needed, and while the worker is late, answers are sent as they are. 1: always compress."),
    key("forwarded_headers", &ByTables::forwarded_headers,
        "1: agents get `X-Forwarded-For`, `X-Forwarded-Proto` and `X-Forwarded-Host`, and "
        "`Forwarded` if the client sent one. What clients send in them counts only if they are "
        "`trusted_proxies`. 0: karmad adds none of them.",
        {}, "1 with dialect `http`, 0 with the others"),
    key("keep_host", &ByTables::keep_host,
        "1: agents get the client's `Host`. 0: they get their own address."),
    key("admin_token_file", &I::admin_token_file,
        "File whose first line is the token that admin calls must send, as `Authorization: Bearer "
        "TOKEN`. Read again at a reload.",
        {}, "admin calls need no token"),
    key("auth", &I::auth,
        "What clients must send in `Authorization`. `basic FILE`: a user and a password of that "
        "file; `bearer FILE`: one of its tokens. Listeners with `:admin`, `/healthz` and `/readyz` "
        "need none, and those with `,users=FILE` or `,tokens=FILE` have their own. Read again at a "
        "reload.",
        {}, "nothing: every client is served"),
    key("auth_remembered", &I::auth_remembered,
        "With `auth = basic`: how many verified passwords each worker remembers, as a keyed hash. "
        "The others are verified again, which takes 50 ms and more.",
        counts(1, 1'000'000)),
    key("auth_failure_rate", &I::auth_failure_rate,
        "With `auth`: highest average rate of refused credentials per address, or per IPv6 /64; "
        "beyond it credentials are refused with 429 and not looked at, except remembered ones."),
    key("auth_failure_burst", &I::auth_failure_burst,
        "Time for which that rate may be saved up during quiet periods and then used at once.",
        kBurst),
    key("scroll_key_file", &I::scroll_key_file,
        "File whose first line is the key that signs the scroll tokens of tables with several "
        "shards. Several karmads with the same key accept each other's tokens. Read again at a "
        "reload.",
        {}, "a random key of this process: its tokens are refused after a restart"),
    key("admin_on_query_port", &I::admin_on_query_port,
        "1: admin calls are also accepted where queries are; needs `admin_token_file`."),
    key("status_on_query_port", &I::status_on_query_port,
        "What clients of queries are told about karmad itself. `yes`: all; `health`: only "
        "`/healthz`, "
        "`/readyz` and `/hello`; `no`: nothing. The rest is kept to the listeners with `:admin`. "
        "Unless it is `yes`, errors name mirrors by number, and requests get no traces."),
    key("max_admin_connections", &I::max_admin_connections,
        "Most connections to the listeners with `:admin`; they do not count for `max_connections`.",
        counts(1, 10'000)),
    key("state_file", &I::state_file,
        "File that keeps what the operator changed at run time (states and weights of mirrors …), "
        "and "
        "the last answers of names and sources of mirrors, over restarts.",
        {}, "it is lost at the end of the process"),
    key("listen_socket_mode", &I::listen_socket_mode,
        "Permissions of the unix sockets in `listen`; if not set, those with `:admin` have 0600. A "
        "client must be allowed to write."),
    key("listen_socket_owner", &I::listen_socket_owner,
        "Owner of the unix sockets in `listen`: `user`, `user:group` or `:group`, each a name or a "
        "number. Another user needs the right to change owners (CAP_CHOWN).",
        {}, "the user and group of the process"),
    key("workers", &I::workers, "Threads that serve queries. `auto`: one per usable core.",
        counts(0, 1024, "auto"), {}, {}, kSphinxWorkers),
    key("ha_strategy", &ByLines::ha_strategy,
        "How a mirror is chosen: `random`, `roundrobin`, `nodeads`, `noerrors`, `leastops`, "
        "`adaptive`, `prequal` or `ars`. Tables and agent lines may override it.",
        {}, "`random`; `leastops` with a read preference"),
    key("ha_period_karma", &I::ha_period_karma,
        "Length of one block of a mirror's history; weights change once per block.",
        times(1s, 1s, kDay)),
    key("ha_ping_interval", &I::ha_ping_interval,
        "An agent without an answer for this long is pinged. 0: no pings. If selection depends on "
        "pings (roles, tags, a read preference, a `ping_type` with a description), agents are "
        "always pinged, and the value must be at least 500ms.",
        times_or_zero(1ms, 10ms, 1h)),
    key("ping_timeout", &I::ping_timeout, "Longest duration of a ping.", times(1ms, 1ms, 1h),
        "`ha_ping_interval`, at least 500ms"),
    key("interrupt_unreachable", &I::interrupt_unreachable,
        "1: when a ping of an agent times out and no other reply came from it meanwhile, attempts "
        "in flight there end at once if they may be made at another mirror. 0: they continue to "
        "wait."),
    key("ping_type", &ByLines::ping_type,
        "How agents are pinged: `http` (any 2xx means alive), `native` (a JSON description from "
        "`GET /hello`), `manticore`, `elasticsearch`, `opensearch`, `solr` (the engine's own "
        "status), `none` (no pings). Tables and agent lines may override it."),
    key("ping_path", &ByLines::ping_path,
        "Path of a ping: of the GET (`http`, `native`) or POST (`manticore`), or the prefix of the "
        "engine's own paths (`elasticsearch`, `opensearch`, `solr`).",
        {},
        "that of the `ping_type`: `/` for `http`, `/hello` for `native`, `/sql?mode=raw` for "
        "`manticore`, `/solr` for `solr`"),
    in_tables(key("read_preference", &ByTables::read_preference,
                  "Which mirrors may answer a search: `primary`, `primaryPreferred`, `secondary`, "
                  "`secondaryPreferred` or `nearest`. A table or a request may override it, and "
                  "then replaces all of it.",
                  {}, "every mirror that serves, without a latency window"),
              "As in `searchd`, for this table; replaces all three keys there."),
    beside("read_preference",
           in_tables(key("tag_sets", &ByTables::tag_sets,
                         "With `read_preference`: tags that a mirror must have, such as "
                         "`dc:ny,rack:2|dc:sf|`. The first set that matches any mirror is used; an "
                         "empty set matches all.",
                         {}, "no tags are required"),
                     "As in `searchd`, with a `read_preference` of this table.", kUnsetBeside)),
    beside("read_preference",
           in_tables(key("max_staleness", &ByTables::max_staleness,
                         "With `read_preference`: how far a replica may lag behind. -1: no limit.",
                         limits_or_none(1s, kYear), "no limit"),
                     "As in `searchd`, with a `read_preference` of this table.", kUnsetBeside)),
    key("local_threshold", &I::local_threshold,
        "With a read preference: mirrors whose round trip exceeds the shortest one by at most this "
        "time are equally good.",
        times(1ms, 0s, 1h)),
    key("selection_timeout", &I::selection_timeout,
        "How long a request waits, in total for each shard, until a mirror suits its read "
        "preference and is connected; its deadline may end this earlier. 0: do not wait; "
        "connecting is then limited by `agent_connect_timeout` only.",
        times(1ms, 0s, kDay)),
    key("max_waiting_selections", &I::max_waiting_selections,
        "Most selections that wait at the same time; more are refused with 429. 0: none may wait.",
        counts(0, 1'000'000)),
    key("max_event_streams", &I::max_event_streams,
        "Most clients that read the stream of `GET /events` at the same time; more get 503.",
        counts(0, 10'000)),
    key("explain_requests", &I::explain_requests,
        "How many requests each worker keeps for `GET /explain/ID`, besides the last 64 whose "
        "clients asked with `X-Karmad-Explain: 1`. 0: only these.",
        counts(0, 10'000)),
    key("selection_log_level", &I::selection_log_level,
        "Lowest level of messages about the selection of mirrors that are logged."),
    key("tags_in_flat", &I::tags_in_flat,
        "1: `tag_sets` also apply to mirrors without roles. 0: they are ignored there."),
    key("karma_compound", &I::karma_compound,
        "0: the weights move half of the way to the speeds of the last block, so that they settle "
        "also where latency depends on load. 1: the old weights are multiplied by the speeds, as "
        "in the search server's manual, which moves almost all searches to the fastest mirror."),
    key("dead_after", &I::dead_after,
        "Errors in a row that `nodeads` tolerates; one more and the mirror is dead.",
        counts(0, 1000)),
    key("agent_connect_timeout", &ByTables::agent_connect_timeout,
        "Longest time for connecting to an agent.", times(1ms, 1ms, 1h)),
    key("agent_tls", &ByMirrors::agent_tls,
        "Whether connections to agents use TLS, those of pings included. `yes`: the agent must "
        "have "
        "a certificate for its host that `agent_tls_ca` accepts. `unverified`: with any "
        "certificate: encrypted, but without protection against an attacker in the network."),
    key("agent_tls_name", &ByMirrors::agent_tls_name,
        "Name that the certificate of an agent must have, and that is asked for (SNI).", {},
        "the agent's host or address"),
    key("agent_tls_ca", &ByTables::agent_tls_ca,
        "File in PEM with the roots that certificates of agents are checked with. Read again at a "
        "reload.",
        {}, "the roots of the system"),
    key("agent_tls_certificate", &ByTables::agent_tls_certificate,
        "File in PEM with the certificate that is shown to agents, and its private key. Read again "
        "at a reload.",
        {}, "none is shown"),
    key("agent_query_timeout", &ByTables::agent_query_timeout,
        "Longest time for an agent's answer to one attempt, once connected.", times(1ms, 1ms, 1h)),
    key("agent_retry_count", &ByTables::agent_retry_count,
        "Retries after a failure, multiplied by the number of mirrors.", counts(0, kMostRetries),
        "each other mirror once"),
    key("mirror_retry_count", &ByTables::agent_retry_count,
        "The same as `agent_retry_count`; overrides it.", counts(0, kMostRetries), {},
        "agent_retry_count"),
    key("agent_retry_delay", &I::agent_retry_delay,
        "Pause before a retry after every mirror was tried.", times(1ms, 0s, 1h)),
    key("request_timeout", &I::request_timeout,
        "Deadline of a whole request, retries included; the client may shorten it with the "
        "header `X-Timeout-Ms`.",
        times(1ms, 1ms, kDay)),
    key("max_hops", &I::max_hops,
        "How many karmads a request may have passed before this one (header `X-Karmad-Hops`); with "
        "more it is refused with 508. It ends loops of karmads. 0: only requests from clients.",
        counts(0, 100)),
    key("agent_first_byte_timeout", &ByTables::agent_first_byte_timeout,
        "Longest time until an agent's answer begins, once connected.", times(1ms, 1ms, 1h),
        "none; only the whole answer is limited"),
    key("search_timeouts", &ByTables::search_timeouts,
        "Longest time for the first attempt of a search, the second one, and so on, as in `300ms, "
        "1s, 3s`; the last value is used for all further attempts. Replaces `agent_query_timeout` "
        "for searches.",
        times(1ms, 1ms, 1h), "`agent_query_timeout` for every attempt"),
    key("retry_reads", &I::retry_reads,
        "1: searches are retried. 0: never, for any reason; hedging is not a retry."),
    key("retry_writes", &I::retry_writes, "1: updates are retried if that is safe. 0: never."),
    key("max_attempts", &ByTables::max_attempts,
        "Most attempts of a request at one shard, for any reason.", kAttempts,
        "6, or as many as the largest count of retries needs"),
    key("overload_max_retries", &I::overload_max_retries, "Retries after agents reported overload.",
        counts(0, 10)),
    key("overload_backoff_base", &I::overload_backoff_base,
        "Longest pause before the first of these retries; doubled for each further one. The pause "
        "is a random part of it.",
        times(1ms, 1ms, 1h)),
    key("overload_backoff_cap", &I::overload_backoff_cap, "Upper limit of these pauses.",
        times(1ms, 1ms, 1h)),
    key("overload_retarget", &I::overload_retarget,
        "1: a retry after overload avoids the mirrors already tried. 0: it does not."),
    key("adaptive_retries", &I::adaptive_retries,
        "1: a retry after overload takes a token from the mirror set; answers add tokens. 0: it "
        "needs no token."),
    key("throttle_max_retries", &I::throttle_max_retries,
        "Retries after agents named a delay (`Retry-After`).", counts(0, 100)),
    key("throttle_max_wait", &I::throttle_max_wait,
        "Longest total time that a request waits because agents named delays.", times(1ms, 0s, 1h)),
    key("unavailable_for", &I::unavailable_for,
        "How long a mirror is not used for a shard after it reported that it cannot serve it; a "
        "ping may end this earlier. Also the upper limit of a pause that the mirror asked for "
        "(`Retry-After`), which no ping ends.",
        times(1s, 0s, kDay)),
    key("zone_max_retries", &I::zone_max_retries,
        "Retries of a request at one shard that go to another zone (tag `zone`) because a mirror "
        "is unreachable, is shutting down or fails. 0: retries ignore zones.",
        counts(0, 100)),
    key("retry_budget_percent", &ByTables::retry_budget_percent,
        "Most retries and hedges at a time, as a percentage of the requests in progress at a "
        "shard.",
        kPercent),
    key("retry_budget_min", &I::retry_budget_min,
        "This many retries and hedges at a time are always allowed.", counts(0, 1'000'000)),
    key("hedge", &ByTables::hedge,
        "When a search is also sent to a second mirror because the first has not answered: `off`, "
        "after a time such as `50ms`, or after the 95th or 99th percentile of recent latencies: "
        "`p95`, `p99`."),
    key("hedge_step", &ByTables::hedge_step, "Time between the second mirror and each further one.",
        times(1ms, 1ms, 1h), "the time until the first hedge"),
    key("hedge_max", &ByTables::hedge_max, "Most mirrors that are asked in addition to the first.",
        kHedges),
    key("hedge_disabled", &I::hedge_disabled,
        "1: nothing is hedged, regardless of tables and requests."),
    key("hedge_max_load_percent", &I::hedge_max_load_percent,
        "No hedging while the median mirror of a shard has more load than this percentage of its "
        "usual load. 0: at any load.",
        counts(0, 10'000)),
    key("breaker", &ByTables::breaker,
        "1: a mirror whose attempts for a shard failed too often is avoided for this shard, except "
        "for occasional probes; never all mirrors of a shard."),
    key("breaker_reads", &I::breaker_reads,
        "Failed searches that the breaker tolerates; one more and it trips. A success resets the "
        "count.",
        counts(0, 1'000'000)),
    key("breaker_writes", &I::breaker_writes, "The same for updates.", counts(0, 1'000'000)),
    key("breaker_window", &I::breaker_window,
        "The breaker resets its count after this time without a failure.", times(1s, 1s, kDay)),
    key("choices", &ByTables::choices,
        "How many mirrors, drawn at random, `adaptive` and `prequal` compare for each attempt. "
        "`adaptive` never compares all of three or more.",
        counts(1, 64), "2 with `adaptive`, 3 with `prequal`"),
    key("slow_start", &ByTables::slow_start,
        "A mirror that is new, was dead or unreachable, or is admitted again starts with a tenth "
        "of "
        "its weight, which grows to all of it in this time; at first its attempts in flight are "
        "limited too. 0: it gets its full share at once.",
        times_or_zero(1s, 1ms, 1h), "10s with `adaptive`, `prequal` and `ars`; 0 with the others"),
    key("outlier", &ByTables::outlier,
        "What ejects a mirror for some time, with any strategy: `failures` (too many, in a row or "
        "as "
        "a share), `latency` (much slower than the other mirrors of its shard), `on` (both), "
        "`off`."),
    key("outlier_failures", &I::outlier_failures,
        "`outlier`: this many failures in a row eject a mirror. Pings do not count.",
        counts(1, 1'000'000)),
    key("outlier_failure_percent", &I::outlier_failure_percent,
        "`outlier`: this share of failures eject a mirror, of at least 20 attempts.",
        counts(1, 100)),
    key("outlier_latency_factor", &I::outlier_latency_factor,
        "`outlier`: a mirror is ejected if for a second its searches take more than this many "
        "times "
        "the median of the other mirrors, and 5 ms longer. 1.1 … 1000."),
    key("outlier_time", &I::outlier_time,
        "How long a mirror is ejected the first time; then twice as long, three times, and so on, "
        "each with a random addition of up to a quarter. It is admitted again after an answered "
        "ping, with `slow_start`. Each such time without ejection shortens the next one.",
        times(1s, 100ms, kDay)),
    key("outlier_longest_time", &I::outlier_longest_time, "Upper limit of these times.",
        times(1s, 100ms, kDay)),
    key("outlier_most_percent", &I::outlier_most_percent,
        "Most mirrors of a shard that are ejected at the same time, rounded down; one always "
        "stays.",
        kPercent),
    key("outlier_panic_percent", &I::outlier_panic_percent,
        "If fewer than this share of a shard's mirrors are neither ejected nor dead, ejections do "
        "not count until more are: the remaining mirrors would be overloaded.",
        kPercent),
    key("persistent_connections_limit", &I::persistent_connections_limit,
        "Idle connections kept per agent, by all workers together. 0: none.", counts(0, 100'000),
        "100"),
    key("agent_max_connections", &I::agent_max_connections,
        "Most connections to one agent, of all workers together. Further attempts queue for a "
        "connection, at most for `agent_connect_timeout`. 0: unlimited.",
        counts(0, 1'000'000)),
    key("agent_max_connecting", &I::agent_max_connecting,
        "Most connects to one agent in progress at the same time, of all workers together. 0: "
        "unlimited.",
        counts(0, 1'000'000)),
    in_tables(key("max_in_flight", &ByMirrors::max_in_flight,
                  "Most attempts in flight at one agent, of all tables: a number, `unlimited`, or "
                  "`auto`: adjusted to its latency. Tables and mirrors may override it; if they "
                  "differ for one agent, the lowest value counts."),
              "As in `searchd`, for the agents of this table."),
    key("max_in_flight_min", &I::max_in_flight_min, "Lower limit of `auto`.", counts(1, 1'000'000)),
    key("max_in_flight_max", &I::max_in_flight_max, "Upper limit of `auto`.", counts(1, 1'000'000)),
    key("max_in_flight_initial", &I::max_in_flight_initial,
        "Initial limit of `auto`, once the latency of the agent without load is known.",
        counts(1, 1'000'000)),
    key("max_in_flight_slack", &I::max_in_flight_slack,
        "Added by `auto` to the limit that follows from the latency: how many attempts may queue "
        "in the agent.",
        counts(1, 1'000'000)),
    key("max_in_flight_smoothing", &I::max_in_flight_smoothing,
        "Size of a step of `auto` towards the limit that the latest latency implies, in percent.",
        counts(1, 100)),
    key("max_in_flight_queue", &I::max_in_flight_queue,
        "Queries per slot that may wait while all mirrors of a shard are full; more are refused "
        "with 429. 0: none may wait.",
        counts(0, 10'000)),
    key("hostname_lookup", &I::hostname_lookup,
        "When the names of agents are looked up: once, or again for requests."),
    key("dns_refresh", &I::dns_refresh,
        "How often the names of agents are looked up again. They are also looked up after a failed "
        "connect, at most once a second each, and at a reload; 0: only then.",
        times_or_zero(1s, 100ms, kDay)),
    key("dns_servers", &I::dns_servers,
        "Name servers, asked in this order: `address[:port], …`. `/etc/hosts` is read first in "
        "any case.",
        {}, "those of the system (`/etc/resolv.conf`)"),
    key("dns_timeout", &I::dns_timeout,
        "Longest time of the first try at a name server; doubled for each further try.",
        times(1ms, 10ms, 1min)),
    key("dns_tries", &I::dns_tries, "Tries at each name server.", counts(1, 10)),
    key("resolve", &ByMirrors::resolve,
        "What the name of an agent stands for. `one`: a mirror whose addresses are tried in order. "
        "`all`: a mirror for each address. `srv`: a mirror for each target of the name's SRV "
        "records, with their ports and weights; names like `_search._tcp.example.org` are always "
        "`srv`. Tables and mirrors may override it."),
    key("partial_results", &ByTables::partial_results,
        "Whether an answer without some shards is sent with a warning, or refused."),
    key("collation_server", &I::collation, "The same as `collation`, which overrides it.", {}, {},
        "collation"),
    key("collation", &I::collation,
        "How strings of different shards are ordered in a merge; must equal that of the agents."),
    key("admission", &I::admission,
        "Whether the limits on requests and tickets are enforced (`enforce`), only counted "
        "(`monitor`), or disabled (`off`)."),
    key("ingress_tickets", &I::ingress_tickets,
        "Most requests in progress at the same time, except those about karmad itself. 0: none is "
        "admitted.",
        counts(0, kMostTickets)),
    key("search_tickets", &I::search_tickets,
        "Most searches in progress at the same time. `auto`: the number with the most answers, "
        "found by probing.",
        counts(0, kMostTickets)),
    key("update_tickets", &I::update_tickets, "The same for updates.", counts(0, kMostTickets)),
    key("ticket_queue_depth", &I::ticket_queue_depth,
        "Most requests that wait for a ticket of each kind; more are refused with 429. 0: none may "
        "wait.",
        counts(0, kMostTickets), "four times the number of tickets"),
    key("ticket_queue_timeout", &I::ticket_queue_timeout,
        "Longest wait of a request for a ticket; its deadline may end it earlier.",
        times(1ms, 1ms, 1h), "until its deadline"),
    key("ticket_queue_discipline", &I::ticket_queue_discipline,
        "Which request gets the next ticket. `fifo`: the oldest; `lifo`: the oldest, but during "
        "lasting overload the newest, while the oldest are refused. `codel`: the oldest, while "
        "some are refused periodically during overload."),
    key("ticket_queue_target", &I::ticket_queue_target,
        "Acceptable wait for a ticket; `lifo` and `codel` act on longer waits.",
        times(1ms, 1ms, 1h)),
    key("ticket_queue_interval", &I::ticket_queue_interval,
        "How long waits must exceed the target before `lifo` and `codel` act. With `lifo` no "
        "request waits longer than this from then on.",
        times(1ms, 1ms, 1h)),
    key("low_priority", &I::low_priority,
        "1: requests with the header `X-Priority: low` have their own tickets and their own queue, "
        "which serves the connection with the fewest admissions first. 0: the header is ignored."),
    key("low_priority_tickets", &I::low_priority_tickets,
        "Most searches, and most updates, of low priority in progress at the same time, in "
        "addition to `search_tickets` and `update_tickets`. 0: none is admitted.",
        counts(0, kMostTickets)),
    key("ticket_resize", &I::ticket_resize,
        "How the number of tickets is reduced: as they come back (`gradual`), or at once, and no "
        "request is admitted until tickets are free again (`immediate`)."),
    key("ticket_delinquent_after", &I::ticket_delinquent_after,
        "A ticket held longer than this is counted.", times(1ms, 1ms, kDay)),
    key("throughput_probing_initial_concurrency", &I::throughput_probing_initial_concurrency,
        "Initial number of tickets for probing, of searches and updates together. 0: twice the "
        "cores.",
        counts(0, kMostTickets)),
    key("throughput_probing_min_concurrency", &I::throughput_probing_min_concurrency,
        "Fewest tickets of each kind that probing sets.", counts(1, kMostTickets)),
    key("throughput_probing_max_concurrency", &I::throughput_probing_max_concurrency,
        "Most tickets of each kind that probing sets.", counts(1, kMostTickets)),
    key("throughput_probing_read_write_ratio", &I::throughput_probing_read_write_ratio,
        "Share of the tickets for searches if both kinds are `auto`, 0 … 1."),
    key("throughput_probing_concurrency_moving_average_weight",
        &I::throughput_probing_concurrency_moving_average_weight,
        "How fast the number of tickets follows the result of probing, with "
        "`throughput_probing_evidence = 0`: more than 0; 1 is at once."),
    key("throughput_probing_step_multiple", &I::throughput_probing_step_multiple,
        "Relative size of a probe, with `throughput_probing_evidence = 0`: 0.01 … 0.5."),
    key("throughput_probing_evidence", &I::throughput_probing_evidence,
        "Difference in answers, compared with what `…_evidence_gain` requires, that decides "
        "whether another number of tickets is better; both numbers are measured in turn until it "
        "is reached. 0: a single measurement decides.",
        counts(0, 1'000'000)),
    key("throughput_probing_evidence_step", &I::throughput_probing_evidence_step,
        "Smallest relative size of a probe with evidence, 0.01 … 1. Steps grow while they "
        "succeed."),
    key("throughput_probing_evidence_gain", &I::throughput_probing_evidence_gain,
        "Share of a change of tickets that must appear as a change of throughput, 0 … 1. With "
        "0.15, 20 % more tickets must give 3 % more answers, and 20 % fewer may cost 3 %."),
    key("throughput_probing_stall_detection_timeout",
        &I::throughput_probing_stall_detection_timeout,
        "Longest duration of a gradual `ticket_resize`; after that the tickets that came back are "
        "removed, and the others stay.",
        times(1ms, 1ms, 1h)),
    key("throughput_probing_concurrency_adjustment_interval",
        &I::throughput_probing_concurrency_adjustment_interval,
        "Interval of probing: how often it measures and decides.", times(1ms, 10ms, 1h)),
    key("client_timeout", &I::client_timeout, "How long a kept connection of a client may be idle.",
        times(1s, 1ms, 7 * kDay)),
    key("half_close_wait", &I::half_close_wait,
        "A client that has closed its sending side gets its answer. If that takes longer than "
        "this, the client is sent `100 Continue` (not with HTTP/1.0), or a byte of urgent data "
        "over the MySQL protocol, to learn whether it has closed the whole connection, which ends "
        "its query. 0: a client that closes its sending side has left.",
        times(1s, 0s, kDay)),
    key("read_timeout", &I::network_timeout, "The same as `network_timeout`, which overrides it.",
        times(1s, 1ms, kDay), {}, "network_timeout"),
    key("max_tunnels", &I::max_tunnels,
        "Most client connections that have changed their protocol (`upgrades`) at the same time; a "
        "request for one more is refused with 503.",
        counts(0, 1'000'000)),
    key("stream_timeout", &I::stream_timeout,
        "Longest time between two bytes of an answer without a length that is passed on while it "
        "arrives, such as server-sent events; and of a connection that has changed its protocol "
        "(`upgrades`), in either direction.",
        times(1s, 1ms, kDay)),
    key("network_timeout", &I::network_timeout,
        "Longest pause of a client within a request or an answer.", times(1s, 1ms, kDay)),
    key("max_packet_size", &I::max_packet_size,
        "Largest body of a request and largest answer of an agent; one without a length that needs "
        "no merging may have any.",
        counts(kKilo, 4 * kGiga)),
    key("reply_buffer_size", &I::reply_buffer_size,
        "An agent's answer up to this size is received completely before the client gets any of "
        "it, so that after an error another mirror can be asked. A longer answer that needs no "
        "merging is passed on while it arrives; if it breaks off, the client's connection is "
        "closed.",
        counts(64 * kKilo, 4 * kGiga)),
    key("request_buffer_size", &I::request_buffer_size,
        "A longer body of a request that one mirror gets as it is (dialect `http`) is passed on "
        "while it arrives; then no other mirror is asked after an error.",
        counts(kKilo, 4 * kGiga)),
    key("max_header_size", &I::max_header_size,
        "Largest head of a request, and header of the PROXY protocol.", counts(kKilo, kMega)),
    key("max_header_count", &I::max_header_count, "Most header fields in a request.",
        counts(1, 128)),
    key("max_connections", &I::max_connections,
        "Most connections of clients at the same time. 0: as many as the limit on open files "
        "allows.",
        counts(0, 10'000'000)),
    key("ingress_connection_rate", &I::ingress_connection_rate,
        "Highest average rate at which connections of clients are accepted."),
    key("ingress_connection_burst", &I::ingress_connection_burst,
        "Time for which that rate may be saved up during quiet periods and then used at once.",
        kBurst),
    key("ingress_connection_queue", &I::ingress_connection_queue,
        "Most connections that wait to be accepted by that rate; more are refused. 0: none may "
        "wait.",
        counts(0, 1'000'000)),
    key("ingress_connection_bypass", &I::ingress_connection_bypass,
        "Clients whose connections are accepted at any rate.", {}, "none"),
    key("ingress_request_rate", &I::ingress_request_rate,
        "Highest average rate of admitted requests; more are refused with 429. Requests that "
        "karmad answers itself (`/healthz`, `/agents`, …) do not count."),
    key("ingress_request_burst", &I::ingress_request_burst,
        "Time for which that rate may be saved up during quiet periods and then used at once.",
        kBurst),
    key("ingress_request_exempt", &I::ingress_request_exempt,
        "Clients whose requests are admitted at any rate, including the rate per client.", {},
        "none"),
    key("ingress_request_exempt_apps", &I::ingress_request_exempt_apps,
        "The same for requests whose header `User-Agent` or `X-App-Name` starts with one of these "
        "texts (case-sensitive). Any client can send such a header.",
        {}, "none"),
    key("client_request_rate", &I::client_request_rate,
        "Highest average rate of admitted requests per address, or per IPv6 /64; more are refused "
        "with 429."),
    key("client_request_burst", &I::client_request_burst,
        "Time for which that rate may be saved up during quiet periods and then used at once.",
        kBurst),
    key("client_request_remembered", &I::client_request_remembered,
        "Number of addresses whose requests are counted; beyond it the address that was idle "
        "longest is forgotten.",
        counts(1, 1'000'000)),
    key("client_request_header", &I::client_request_header,
        "Field of requests whose value tells clients apart for `client_request_rate`, such as "
        "`X-Api-Key` or `Authorization`. Requests without it count for their address. A client "
        "that may send any value has a rate for each: let `auth` or a proxy check it.",
        {}, "clients are told apart by address"),
    key("long_work_threads", &I::long_work_threads,
        "Threads for work that would block a worker: merging and checking long replies, parsing "
        "long requests. `auto`: as many as workers.",
        counts(0, 1024, "auto")),
    key("long_work_queue", &I::long_work_queue,
        "Most tasks that wait for such a thread; a query with one more is refused with 429.",
        counts(1, 1'000'000)),
    key("long_work_size", &I::long_work_size,
        "Requests, and replies to be merged or checked, count as long beyond this size; with "
        "aggregations or many sort keys beyond a part of it.",
        counts(1, 4 * kGiga)),
    key("max_json_depth", &I::max_json_depth, "Deepest nesting of JSON that is read.",
        counts(8, 1000)),
    key("memory_limit", &I::memory_limit,
        "Most memory that requests, agents' answers and merges use in total, as in `512m`. Near "
        "the limit, large new requests are refused with 429; at the limit, the largest request is "
        "cancelled. `auto`: half of what the control group or the machine has. 0: unlimited.",
        memory_sizes()),
    key("buffer_keep_up_to", &I::buffer_keep_up_to,
        "A larger buffer is freed after a query instead of kept for the next one.",
        counts(4 * kKilo, kGiga)),
    key("listen_backlog", &I::listen_backlog,
        "Length of the kernel's queue of connections to be accepted.", counts(1, 65535)),
    key("drain_delay", &I::drain_delay,
        "How long after TERM requests and connections are still accepted while `/readyz` answers "
        "503, so that load balancers stop sending: at least two intervals of their checks. INT "
        "does not wait.",
        times(1s, 0s, kDay)),
    key("shutdown_timeout", &I::shutdown_timeout,
        "How long running queries may continue after the listening sockets were closed (TERM, INT) "
        "or taken over. 0: end at once.",
        times(1s, 0s, kDay)),
    key("shutdown_linger", &I::shutdown_linger,
        "How long after that an open connection may still send a request; it is closed after the "
        "answer. At most shutdown_timeout.",
        times(1s, 0s, kDay)),
    key("takeover_socket", &I::takeover_socket,
        "Unix socket at which `karmad --takeover` of the same user takes over the listening "
        "sockets and what was learned, for a restart without loss.",
        {}, "none"),
    key("log_level", &I::log_level, "Lowest level of messages that are logged."),
    key("log_format", &I::log_format,
        "Lines of the log on standard error: `text` for people, `json` for programs."),
    key("request_id", &I::request_id,
        "`make`: a request without a valid `X-Request-Id` gets a new id, which agents and the "
        "client get in that header. `accept`: only ids of clients are used."),
    key("access_log", &I::access_log,
        "Where the access log goes: a file to append to, `stdout` (or `-`), or `syslog` (the "
        "socket `/dev/log`; `syslog:PATH`: another one).",
        {}, "none is written"),
    key("access_log_format", &I::access_log_format,
        "Lines of the access log: `json` for programs, `text` for people."),
    key("access_log_sample", &I::access_log_sample,
        "Share of requests that have a line in the access log, 0 … 1. Errors, refusals, partial "
        "answers and slow requests always have one."),
    key("access_log_slow", &I::access_log_slow,
        "A request that takes this long is slow (`access_log_sample`).", times(1s, 0s, kDay)),
};

/// A field that a table has from a part of its settings.
template <class Value, class Part>
consteval Value T::*of_table(Value Part::*field) {
  return field;
}

constexpr std::array kTableKeys{
    Key<T>{"type",
           std::monostate{},
           "`distributed`; tables of other types are ignored.",
           {},
           "required"},
    Key<T>{"agent",
           &T::shards,
           "One shard: its mirrors and options. One line per shard.",
           {},
           "at least one line of `agent` or `agent_persistent`, or `discovery`"},
    Key<T>{"discovery",
           of_table(&DiscoverySettings::discovery),
           "From where mirrors are read while karmad runs: `file PATH`, `etcd "
           "http://HOST:PORT/PREFIX` (further `http://HOST:PORT` after a comma each) or "
           "`kubernetes NAMESPACE/SERVICE[:PORT] [http://HOST:PORT]`. `https` works as "
           "well. They replace those of the `agent` lines.",
           {},
           "the mirrors of the `agent` lines"},
    Key<T>{"discovery_ca",
           of_table(&DiscoverySettings::discovery_ca),
           "File in PEM with the roots that certificates of the servers of `discovery` are checked "
           "with. Read again for each connection, as are the next two.",
           {},
           "with `kubernetes` that of the pod's service account, else the system's roots"},
    Key<T>{"discovery_certificate",
           of_table(&DiscoverySettings::discovery_certificate),
           "File in PEM with the certificate that is shown to them, and its private key.",
           {},
           "none is shown"},
    Key<T>{"discovery_token",
           of_table(&DiscoverySettings::discovery_token),
           "File with a token that they get in `Authorization: Bearer`.",
           {},
           "with `kubernetes` that of the pod's service account, else none"},
    Key<T>{"agent_persistent",
           &T::shards,
           "The same; these shards follow those of `agent`. Connections are kept in both cases.",
           {},
           "none"},
    Key<T>{"agent_blackhole",
           &T::blackholes,
           "Agents that get a copy of each query and whose answers are dropped.",
           {},
           "none"},
    Key<T>{"dialect", &T::dialect,
           "The language of the agents: `manticore`, or `http` for a table with one shard whose "
           "requests are passed on unread."},
    Key<T>{"route",
           &T::route,
           "Dialect `http`: the table gets requests whose path starts with this.",
           {},
           "required with dialect `http`"},
    Key<T>{
        "path", &T::path, "Dialect `http`: replaces `route` in the path.", {}, "`route` is kept"},
    Key<T>{"reads",
           &T::reads,
           "Dialect `http`: paths (separated by commas; a final `*` matches anything) whose POST "
           "requests only read and may be retried. GET, HEAD and OPTIONS may always be retried.",
           {},
           "none"},
    Key<T>{
        "methods", &T::methods,
        "Dialect `http`: `known` passes the methods of HTTP's registry on and answers others with "
        "501; `any` passes on what it does not know. TRACE and CONNECT are never passed on."},
    Key<T>{"upgrades", &T::upgrades,
           "Dialect `http`: 1 passes on a request to change the protocol (`Upgrade`), such as "
           "WebSocket. If the agent agrees (101), bytes pass both ways until both sides have "
           "closed. 0: the field is dropped, and the agent answers as without it."},
    Key<T>{"updates", &T::updates,
           "Where an update of a shard goes: to the `primary` only; to `all` mirrors, and it has "
           "failed unless all of them carry it out; or, if the engine replicates it itself, to "
           "`any` mirror."},
    Key<T>{"shard_by", &T::shard_by,
           "How a document is assigned to one of several shards. `id`: the shard is number "
           "1 + h(id) mod shards, in the order of the agent lines; h is the finalizer of "
           "splitmix64 (x ^= x >> 30; x *= 0xbf58476d1ce4e5b9; x ^= x >> 27; "
           "x *= 0x94d049bb133111eb; x ^= x >> 31, in 64 bits), for an id that is no number of the "
           "FNV-1a hash (64 bits) of its bytes. karmad makes the id of a document that has none. "
           "`none`: inserts and replaces are refused."},
    Key<T>{"pass_authorization",
           of_table(&CredentialSettings::pass_authorization),
           "`yes`: the agents get the field `Authorization` of clients in every dialect, in place "
           "of `credentials`. `no`: they never get it.",
           {},
           "`yes` with dialect `http`, unless `credentials` or `auth` is set; else `no`"},
    Key<T>{"credentials",
           of_table(&CredentialSettings::credentials),
           "File whose only line is `basic USER:PASSWORD`, `bearer TOKEN` or `apikey TOKEN`: what "
           "the agents of the table get as `Authorization`, with pings, too. Read again at a "
           "reload.",
           {},
           "none"},
    Key<T>{"consistency", &T::consistency,
           "`quorum`: a search asks so many mirrors of a shard that at least one has the latest "
           "update, and the newest answer is used. `any`: one mirror is asked. The header "
           "`X-Consistency` of a request overrides it."},
    Key<T>{"required", &T::required,
           "`no`: `/readyz` says 200 even if this table cannot be searched; `/readyz?table=NAME` "
           "asks for it alone."},
    Key<T>{"request_rate", &T::request_rate,
           "Highest average rate of requests to this table; more are refused with 429."},
    Key<T>{"request_burst", &T::request_burst,
           "Time for which that rate may be saved up during quiet periods and then used at once.",
           kBurst},
};

/// The field as a member of `Owner`, which inherits `Scope`. Both variants have the same
/// alternatives.
template <class Owner, class Scope, std::size_t kAt = 1>
consteval KeyField<Owner> field_in(const KeyField<I>& field) {
  if constexpr (kAt == std::variant_size_v<KeyField<I>>) {
    return {};
  } else {
    const auto* member = std::get_if<kAt>(&field);
    if (member == nullptr) return field_in<Owner, Scope, kAt + 1>(field);
    return static_cast<std::variant_alternative_t<kAt, KeyField<Owner>>>(
        static_cast<std::variant_alternative_t<kAt, KeyField<Scope>>>(*member));
  }
}

constexpr bool is_inherited(const Key<I>& key, Level by) {
  return by == Level::table ? key.level != Level::instance : key.level == by;
}

/// The settings of `searchd` that may be given at this level, as keys of `Owner`.
template <class Owner, class Scope>
consteval auto inherited_keys() {
  constexpr auto level = kLevelOf<Scope>;
  constexpr auto is_one = [](const Key<I>& key) { return is_inherited(key, level); };
  std::array<Key<Owner>, std::ranges::count_if(kSearchdKeys, is_one)> keys{};
  auto* next = keys.begin();
  for (const auto& key : kSearchdKeys)
    if (is_one(key))
      *next++ = {.name = key.name,
                 .field = field_in<Owner, Scope>(key.field),
                 .meaning = !key.meaning_in_table.empty() ? key.meaning_in_table
                            : !key.alias_of.empty()       ? key.meaning
                                                          : "As in `searchd`, for this table.",
                 .bounds = key.bounds,
                 .unset = !key.unset_in_table.empty() ? key.unset_in_table : "that of `searchd`",
                 .alias_of = key.alias_of,
                 .foreign = key.foreign,
                 .level = key.level,
                 .beside = key.beside,
                 .inherited = true};
  return keys;
}

/// All keys of a table: its own, then those it inherits.
consteval auto all_table_keys() {
  constexpr auto inherited = inherited_keys<TableSettings, InheritedByTables>();
  std::array<Key<T>, kTableKeys.size() + inherited.size()> keys{};
  std::ranges::copy(inherited, std::ranges::copy(kTableKeys, keys.begin()).out);
  return keys;
}

constexpr auto kAllTableKeys = all_table_keys();
constexpr auto kLineKeys = inherited_keys<ShardSettings, InheritedByLines>();
constexpr auto kMirrorKeys = inherited_keys<MirrorSettings, InheritedByMirrors>();

}  // namespace

std::span<const Key<InstanceSettings>> searchd_keys() {
  return kSearchdKeys;
}
std::span<const Key<TableSettings>> table_keys() {
  return kAllTableKeys;
}
std::span<const Key<ShardSettings>> line_keys() {
  return kLineKeys;
}
std::span<const Key<MirrorSettings>> mirror_keys() {
  return kMirrorKeys;
}

}  // namespace karmad
