#include "config/keys.hpp"

#include <algorithm>
#include <array>

#include "config/attempts.hpp"

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

/// A limit that is unlimited when -1 is written; seconds without a suffix.
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

// How Sphinx 2 was told to handle its requests.
constexpr std::array<std::string_view, 5> kSphinxWorkers{"threads", "thread_pool", "prefork",
                                                         "fork", "none"};

using I = InstanceSettings;
using T = TableSettings;
// Where a setting may stand, besides in `searchd`: in a table, and on an agent line or behind a
// mirror.
using ByTables = InheritedByTables;
using ByLines = InheritedByLines;
using ByMirrors = InheritedByMirrors;

/// A key of `searchd`; the struct of its field says where else it may stand.
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

/// What the documentation says of it in a table.
consteval Key<I> in_tables(Key<I> key, std::string_view meaning, std::string_view unset = {}) {
  key.meaning_in_table = meaning;
  key.unset_in_table = unset;
  return key;
}

consteval Key<I> beside(std::string_view other, Key<I> key) {
  key.beside = other;
  return key;
}

constexpr std::string_view kUnsetBeside = "that of `searchd`; none beside a `read_preference`";

constexpr std::array kSearchdKeys{
    key("listen", &I::listen,
        "Where clients come in: `[host:]port[:http]` or the path of a unix socket. May be "
        "repeated. No host or `*`: every address; port 0: any free one. Lines for the search "
        "server's other protocols are ignored.",
        {}, "127.0.0.1:9308"),
    key("workers", &I::workers, "Threads that serve queries. `auto`: one per usable core.",
        counts(0, 1024, "auto"), {}, {}, kSphinxWorkers),
    key("ha_strategy", &ByLines::ha_strategy,
        "How a mirror is chosen: `random`, `roundrobin`, `nodeads`, `noerrors` or `leastops`. A "
        "table and an agent line may choose differently.",
        {}, "`random`; `leastops` where a read preference is configured"),
    key("ha_period_karma", &I::ha_period_karma,
        "Length of one block of a mirror's history; weights change once per block.",
        times(1s, 1s, kDay)),
    key("ha_ping_interval", &I::ha_ping_interval,
        "An agent that gave no answer for this long is pinged. 0: no pings. At least 500ms where "
        "mirrors are told apart (roles, tags, a read preference, a `ping_type` that says more): "
        "these are pinged always.",
        times_or_zero(1ms, 10ms, 1h)),
    key("ping_timeout", &I::ping_timeout, "How long a ping may take.", times(1ms, 1ms, 1h),
        "`ha_ping_interval`, at least 500ms"),
    key("interrupt_unreachable", &I::interrupt_unreachable,
        "1: when a ping of an agent times out and nothing else came from it meanwhile, attempts "
        "that wait for it end at once where they may be made elsewhere. 0: they wait on."),
    key("ping_type", &ByLines::ping_type,
        "How agents are pinged: `http` (any 2xx means alive), `native` (a JSON description from "
        "`GET /hello`), `manticore`, `elasticsearch`, `opensearch`, `solr` (what the engine says "
        "of itself), `none` (no pings). A table and an agent line may choose differently."),
    key("ping_path", &ByLines::ping_path,
        "What a ping asks for: the path of the GET (`http`, `native`) or POST (`manticore`), or "
        "what stands before the engine's own paths (`elasticsearch`, `opensearch`, `solr`).",
        {},
        "that of the `ping_type`: `/` for `http`, `/hello` for `native`, `/sql?mode=raw` for "
        "`manticore`, `/solr` for `solr`"),
    in_tables(
        key("read_preference", &ByTables::read_preference,
            "Which copies a read may go to: `primary`, `primaryPreferred`, `secondary`, "
            "`secondaryPreferred` or `nearest`. A table or a request may say it differently, and "
            "then says all of it.",
            {}, "every copy that serves, without a latency window"),
        "As in `searchd`, for this table; takes the place of all three keys there."),
    beside("read_preference",
           in_tables(key("tag_sets", &ByTables::tag_sets,
                         "With `read_preference`: labels of the mirrors to use, "
                         "`dc:ny,rack:2|dc:sf|`. The first "
                         "set that fits a mirror counts; an empty one fits all.",
                         {}, "no labels are asked for"),
                     "As in `searchd`, beside a `read_preference` of this table.", kUnsetBeside)),
    beside("read_preference",
           in_tables(key("max_staleness", &ByTables::max_staleness,
                         "With `read_preference`: how far a replica may lag behind. -1: no limit.",
                         limits_or_none(1s, kYear), "no limit"),
                     "As in `searchd`, beside a `read_preference` of this table.", kUnsetBeside)),
    key("local_threshold", &I::local_threshold,
        "With a read preference, mirrors whose round trip is at most this much longer than the "
        "shortest one are equally good.",
        times(1ms, 0s, 1h)),
    key("selection_timeout", &I::selection_timeout,
        "How long a request waits, for each shard and in all, until a mirror suits its read "
        "preference and is connected; its deadline may end it earlier. 0: do not wait, look "
        "once; connecting has its own time.",
        times(1ms, 0s, kDay)),
    key("max_waiting_selections", &I::max_waiting_selections,
        "Most selections that wait at a time; more are refused with 429. 0: none may wait.",
        counts(0, 1'000'000)),
    key("selection_log_level", &I::selection_log_level,
        "The least important messages about the selection of mirrors that are logged."),
    key("tags_in_flat", &I::tags_in_flat,
        "1: `tag_sets` also narrow mirrors that have no roles. 0: there they say nothing."),
    key("karma_compound", &I::karma_compound,
        "1: new weights grow out of the old ones. 0: out of the last block's latencies alone."),
    key("dead_after", &I::dead_after,
        "Errors in a row that `nodeads` still tolerates; one more and the mirror is dead.",
        counts(0, 1000)),
    key("agent_connect_timeout", &ByTables::agent_connect_timeout,
        "How long connecting to an agent may take.", times(1ms, 1ms, 1h)),
    key("agent_query_timeout", &ByTables::agent_query_timeout,
        "How long an agent may take to answer one attempt, once connected.", times(1ms, 1ms, 1h)),
    key("agent_retry_count", &ByTables::agent_retry_count,
        "Further attempts after a failure, times the number of mirrors.", counts(0, kMostRetries),
        "each other mirror once"),
    key("mirror_retry_count", &ByTables::agent_retry_count,
        "The same as `agent_retry_count`, and wins over it.", counts(0, kMostRetries), {},
        "agent_retry_count"),
    key("agent_retry_delay", &I::agent_retry_delay,
        "Pause before a retry, only when every mirror was tried.", times(1ms, 0s, 1h)),
    key("request_timeout", &I::request_timeout,
        "Deadline of a whole request, retries included; the client may shorten it with the "
        "header `X-Timeout-Ms`.",
        times(1ms, 1ms, kDay)),
    key("agent_first_byte_timeout", &ByTables::agent_first_byte_timeout,
        "How long an agent may take to begin its answer, once connected.", times(1ms, 1ms, 1h),
        "none; the whole answer has its time"),
    key("search_timeouts", &ByTables::search_timeouts,
        "How long the first attempt of a search may take, the second one, and so on, as in "
        "`300ms, 1s, 3s`; the last one holds for all further attempts. Takes the place of "
        "`agent_query_timeout` for searches.",
        times(1ms, 1ms, 1h), "`agent_query_timeout` for every attempt"),
    key("retry_reads", &I::retry_reads,
        "1: searches are retried. 0: never, whatever the reason; hedging is not a retry."),
    key("retry_writes", &I::retry_writes, "1: updates are retried where that is safe. 0: never."),
    key("max_attempts", &ByTables::max_attempts,
        "Most attempts of a request at one shard, whatever they are made for.", kAttempts,
        "6, or more where the retries asked for are more"),
    key("overload_max_retries", &I::overload_max_retries,
        "Retries after agents said that they are overloaded.", counts(0, 10)),
    key("overload_backoff_base", &I::overload_backoff_base,
        "Longest pause before the first of these retries; twice as long for each further one. "
        "The pause is a random part of it.",
        times(1ms, 1ms, 1h)),
    key("overload_backoff_cap", &I::overload_backoff_cap, "These pauses are never longer.",
        times(1ms, 1ms, 1h)),
    key("overload_retarget", &I::overload_retarget,
        "1: a retry after overload avoids the mirrors that were tried. 0: it does not."),
    key("adaptive_retries", &I::adaptive_retries,
        "1: retries after overload need a token of their mirrors; answers bring new ones."),
    key("throttle_max_retries", &I::throttle_max_retries,
        "Retries after agents said when to come back (`Retry-After`).", counts(0, 100)),
    key("throttle_max_wait", &I::throttle_max_wait,
        "Longest time a request waits, in sum, because agents told it to.", times(1ms, 0s, 1h)),
    key("unavailable_for", &I::unavailable_for,
        "How long a mirror is left alone for a shard that it said it cannot serve; a ping may "
        "end it earlier. A pause that the mirror asked for (`Retry-After`) is at most as long; "
        "no ping ends it.",
        times(1s, 0s, kDay)),
    key("zone_max_retries", &I::zone_max_retries,
        "Retries of a request at one shard that go to another zone (tag `zone`) because a mirror "
        "cannot be reached, is going away or is in trouble. 0: zones do not matter to retries.",
        counts(0, 100)),
    key("retry_budget_percent", &ByTables::retry_budget_percent,
        "Most retries and hedges together, as a share of the requests the mirrors of a shard "
        "are working on.",
        kPercent),
    key("retry_budget_min", &I::retry_budget_min,
        "So many retries and hedges at a time are allowed whatever that share is.",
        counts(0, 1'000'000)),
    key("hedge", &ByTables::hedge,
        "When a search is sent to one more mirror because the first has not answered: `off`, "
        "after a time such as `50ms`, or after the time in which 95 % or 99 % of the recent "
        "answers came: `p95`, `p99`."),
    key("hedge_step", &ByTables::hedge_step, "How long after that each further mirror is asked.",
        times(1ms, 1ms, 1h), "as long as until the first hedge"),
    key("hedge_max", &ByTables::hedge_max, "Most mirrors that are asked besides the first.",
        kHedges),
    key("hedge_disabled", &I::hedge_disabled,
        "1: nothing is hedged, whatever tables and requests say."),
    key("hedge_max_load_percent", &I::hedge_max_load_percent,
        "Nothing is hedged while the typical mirror of a shard works on more than this share of "
        "what is usual there. 0: at any load.",
        counts(0, 10'000)),
    key("breaker", &ByTables::breaker,
        "1: a mirror whose attempts for a shard failed too often is avoided for it, but for a "
        "probe now and then; never all mirrors of a shard."),
    key("breaker_reads", &I::breaker_reads,
        "Failed searches that the breaker still tolerates; one more and it trips. A success "
        "sets the count to 0.",
        counts(0, 1'000'000)),
    key("breaker_writes", &I::breaker_writes, "The same for updates.", counts(0, 1'000'000)),
    key("breaker_window", &I::breaker_window,
        "The breaker forgets its count when there was no failure for this long.",
        times(1s, 1s, kDay)),
    key("persistent_connections_limit", &I::persistent_connections_limit,
        "Idle connections kept per agent, by all workers together. 0: none is kept.",
        counts(0, 100'000), "100"),
    key("agent_max_connections", &I::agent_max_connections,
        "Most connections to one agent, of all workers together. Further attempts wait for one in "
        "turn, at most `agent_connect_timeout`. 0: any number.",
        counts(0, 1'000'000)),
    key("agent_max_connecting", &I::agent_max_connecting,
        "Most connections to one agent that are being established at a time, by all workers "
        "together. 0: any number.",
        counts(0, 1'000'000)),
    in_tables(
        key("max_in_flight", &ByMirrors::max_in_flight,
            "Most attempts at one agent at a time, of all tables: a number, `unlimited`, or "
            "`auto`: "
            "what its latency shows it can bear. A table and a mirror may say it differently; of "
            "what they say of one agent the smallest counts."),
        "As in `searchd`, for the agents of this table."),
    key("max_in_flight_min", &I::max_in_flight_min, "The least that `auto` comes to.",
        counts(1, 1'000'000)),
    key("max_in_flight_max", &I::max_in_flight_max, "The most that `auto` comes to.",
        counts(1, 1'000'000)),
    key("max_in_flight_initial", &I::max_in_flight_initial,
        "What `auto` begins with, once the latency of a quiet agent is known.",
        counts(1, 1'000'000)),
    key("max_in_flight_slack", &I::max_in_flight_slack,
        "So many attempts more than the latency asks for are tried by `auto`: how many may queue "
        "in the agent.",
        counts(1, 1'000'000)),
    key("max_in_flight_smoothing", &I::max_in_flight_smoothing,
        "How far `auto` goes at a time towards what the latest latency asks for, in percent.",
        counts(1, 100)),
    key("max_in_flight_queue", &I::max_in_flight_queue,
        "So many queries per place wait when all mirrors of a shard are full; more are refused "
        "with 429. 0: none may wait.",
        counts(0, 10'000)),
    key("hostname_lookup", &I::hostname_lookup,
        "When the names of agents become addresses: once, or again for requests."),
    key("partial_results", &ByTables::partial_results,
        "Whether an answer that lacks shards is given (with a warning) or refused."),
    key("collation_server", &I::collation, "The same as `collation`, which wins over it.", {}, {},
        "collation"),
    key("collation", &I::collation,
        "How strings of different shards are ordered in a merge; must be that of the agents."),
    key("admission", &I::admission,
        "Whether what the limits on requests and tickets say is done (`enforce`), only counted "
        "(`monitor`), or not even looked at (`off`)."),
    key("ingress_tickets", &I::ingress_tickets,
        "Most requests that are worked on at a time, but for those about karmad itself. 0: "
        "none is let in.",
        counts(0, kMostTickets)),
    key("search_tickets", &I::search_tickets,
        "Most searches that are worked on at a time. `auto`: as many as bring the most answers, "
        "found out by probing.",
        counts(0, kMostTickets)),
    key("update_tickets", &I::update_tickets, "The same for updates.", counts(0, kMostTickets)),
    key("ticket_queue_depth", &I::ticket_queue_depth,
        "Most requests that wait for a ticket of each kind; more are refused with 429. 0: "
        "none may wait.",
        counts(0, kMostTickets), "four times as many as there are tickets"),
    key("ticket_queue_timeout", &I::ticket_queue_timeout,
        "How long a request waits for a ticket; its deadline may end that earlier.",
        times(1ms, 1ms, 1h), "until its deadline"),
    key("ticket_queue_discipline", &I::ticket_queue_discipline,
        "Which request gets the next ticket: the one that waits longest (`fifo`); the same, but "
        "the newest "
        "while there is too much to do all the time, and the oldest are refused (`lifo`); the "
        "longest, while one is refused now and then (`codel`)."),
    key("ticket_queue_target", &I::ticket_queue_target,
        "A wait for a ticket that is fine; `lifo` and `codel` act on longer ones.",
        times(1ms, 1ms, 1h)),
    key("ticket_queue_interval", &I::ticket_queue_interval,
        "How long the wait has to be longer than that before they do. With `lifo` no request waits "
        "longer than this from then on.",
        times(1ms, 1ms, 1h)),
    key("low_priority", &I::low_priority,
        "1: requests with the header `X-Priority: low` have tickets of their own, and a line of "
        "their own, in which the one whose connection has been let in least often is first. 0: "
        "the header says nothing."),
    key("low_priority_tickets", &I::low_priority_tickets,
        "Most searches, and most updates, of low priority that are worked on at a time, besides "
        "`search_tickets` and `update_tickets`. 0: none is let in.",
        counts(0, kMostTickets)),
    key("ticket_resize", &I::ticket_resize,
        "How the tickets become fewer: as they come back (`gradual`), or at once, and no "
        "request is "
        "let in until there are some again (`immediate`)."),
    key("ticket_delinquent_after", &I::ticket_delinquent_after,
        "A ticket held longer than this is counted.", times(1ms, 1ms, kDay)),
    key("throughput_probing_initial_concurrency", &I::throughput_probing_initial_concurrency,
        "Tickets with which probing begins, of searches and updates together. 0: twice the "
        "cores.",
        counts(0, kMostTickets)),
    key("throughput_probing_min_concurrency", &I::throughput_probing_min_concurrency,
        "Fewest tickets of each kind that probing leaves.", counts(1, kMostTickets)),
    key("throughput_probing_max_concurrency", &I::throughput_probing_max_concurrency,
        "Most tickets of each kind that it gives.", counts(1, kMostTickets)),
    key("throughput_probing_read_write_ratio", &I::throughput_probing_read_write_ratio,
        "Which part of the tickets is for searches where both kinds are `auto`, 0 … 1."),
    key("throughput_probing_concurrency_moving_average_weight",
        &I::throughput_probing_concurrency_moving_average_weight,
        "How fast the number of tickets follows what probing finds with "
        "`throughput_probing_evidence = 0`: more than 0, 1 is at once."),
    key("throughput_probing_step_multiple", &I::throughput_probing_step_multiple,
        "By which part more or fewer tickets are tried with `throughput_probing_evidence = 0`, "
        "0.01 … 0.5."),
    key("throughput_probing_evidence", &I::throughput_probing_evidence,
        "How many answers more than `…_evidence_gain` demands, or fewer, decide whether another "
        "number of tickets is better; looks in turn go on until there are so many. 0: one "
        "look decides, by any difference.",
        counts(0, 1'000'000)),
    key("throughput_probing_evidence_step", &I::throughput_probing_evidence_step,
        "By which part more tickets are tried at least with evidence, 0.01 … 1. Steps become "
        "longer while they succeed."),
    key("throughput_probing_evidence_gain", &I::throughput_probing_evidence_gain,
        "Which part of a change of tickets must be there as a change of throughput, 0 … 1. With "
        "0.15, 20 % more tickets must bring 3 % more answers, and 20 % fewer may cost 3 %."),
    key("throughput_probing_stall_detection_timeout",
        &I::throughput_probing_stall_detection_timeout,
        "How long a gradual `ticket_resize` may take; after that what has come back is left "
        "out, and the rest stays.",
        times(1ms, 1ms, 1h)),
    key("throughput_probing_concurrency_adjustment_interval",
        &I::throughput_probing_concurrency_adjustment_interval,
        "How often probing looks and decides.", times(1ms, 10ms, 1h)),
    key("client_timeout", &I::client_timeout, "How long a kept connection of a client may be idle.",
        times(1s, 1ms, 7 * kDay)),
    key("read_timeout", &I::network_timeout, "The same as `network_timeout`, which wins over it.",
        times(1s, 1ms, kDay), {}, "network_timeout"),
    key("network_timeout", &I::network_timeout,
        "How long a client may pause in the middle of a request or an answer.",
        times(1s, 1ms, kDay)),
    key("max_packet_size", &I::max_packet_size,
        "Largest body of a request and largest answer of an agent.", counts(kKilo, 4 * kGiga)),
    key("reply_buffer_size", &I::reply_buffer_size,
        "An agent's answer up to this size is read to its end before the client gets any of it, "
        "so that a broken one is asked for elsewhere. A longer one that needs no merging and "
        "says how long it is passes while it arrives; if it breaks off, so does the client's "
        "connection.",
        counts(64 * kKilo, 4 * kGiga)),
    key("max_header_size", &I::max_header_size, "Largest head of a request.", counts(kKilo, kMega)),
    key("max_header_count", &I::max_header_count, "Most header fields of a request.",
        counts(1, 128)),
    key("max_connections", &I::max_connections,
        "Most connections of clients at a time. 0: as many as the limit on open files allows.",
        counts(0, 10'000'000)),
    key("ingress_connection_rate", &I::ingress_connection_rate,
        "Most connections of clients accepted in a time, in the long run."),
    key("ingress_connection_burst", &I::ingress_connection_burst,
        "So much of that rate may come at once after a quiet time.", kBurst),
    key("ingress_connection_queue", &I::ingress_connection_queue,
        "Most connections that wait for their turn at a time; more are refused. 0: none may wait.",
        counts(0, 1'000'000)),
    key("ingress_connection_bypass", &I::ingress_connection_bypass,
        "Clients whose connections are accepted at any rate.", {}, "none"),
    key("ingress_request_rate", &I::ingress_request_rate,
        "Most requests let in in a time, in the long run; more are refused with 429. What karmad "
        "answers of itself (`/healthz`, `/agents`, …) does not count."),
    key("ingress_request_burst", &I::ingress_request_burst,
        "So much of that rate may come at once after a quiet time.", kBurst),
    key("ingress_request_exempt", &I::ingress_request_exempt,
        "Clients whose requests are let in at any rate, also that of one client.", {}, "none"),
    key("ingress_request_exempt_apps", &I::ingress_request_exempt_apps,
        "The same by how the header `User-Agent` or `X-App-Name` begins, to the letter. Any client "
        "can write such a header.",
        {}, "none"),
    key("client_request_rate", &I::client_request_rate,
        "Most requests let in in a time from one address, or from one /64 of IPv6; more are "
        "refused with 429."),
    key("client_request_burst", &I::client_request_burst,
        "So much of that rate may come at once after a quiet time.", kBurst),
    key("client_request_remembered", &I::client_request_remembered,
        "Addresses whose requests are counted; one more and the one that was quiet for longest "
        "is forgotten.",
        counts(1, 1'000'000)),
    key("long_work_threads", &I::long_work_threads,
        "Threads for work that would hold a worker: merging and checking long replies, "
        "understanding long requests. `auto`: as many as workers.",
        counts(0, 1024, "auto")),
    key("long_work_queue", &I::long_work_queue,
        "Most pieces of such work that wait for a thread; a query that needs one more is refused "
        "with 429.",
        counts(1, 1'000'000)),
    key("long_work_size", &I::long_work_size,
        "Replies that are merged or checked, and requests, are long beyond this size; where they "
        "have aggregations or many sort keys, beyond a part of it.",
        counts(1, 4 * kGiga)),
    key("max_json_depth", &I::max_json_depth, "Deepest nesting of JSON that is read.",
        counts(8, 1000)),
    key("memory_limit", &I::memory_limit,
        "Most memory that requests, agents' answers and merges hold in all, as in `512m`. Near it "
        "new requests that need much are refused with 429; at it the largest request is given "
        "up. `auto`: half of what the control group or the machine has. 0: no limit.",
        memory_sizes()),
    key("buffer_keep_up_to", &I::buffer_keep_up_to,
        "A buffer that grew beyond this is freed instead of kept for the next query.",
        counts(4 * kKilo, kGiga)),
    key("listen_backlog", &I::listen_backlog, "Connections that may wait to be accepted.",
        counts(1, 65535)),
    key("shutdown_timeout", &I::shutdown_timeout,
        "How long running queries may take to end after TERM or INT. 0: end at once.",
        times(1s, 0s, kDay)),
    key("shutdown_linger", &I::shutdown_linger,
        "How long after TERM or INT connections that are kept open may still bring a request, "
        "each of which ends its connection. At most shutdown_timeout.",
        times(1s, 0s, kDay)),
    key("log_level", &I::log_level, "The least important messages that are logged."),
    key("access_log", &I::access_log,
        "The file to which one line of JSON per request is added. `-`: standard output.", {},
        "none is written"),
};

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
           "at least one line of `agent` or `agent_persistent`"},
    Key<T>{"agent_persistent",
           &T::shards,
           "The same; its shards follow those of `agent`. All connections are kept anyway.",
           {},
           "none"},
    Key<T>{"agent_blackhole",
           &T::blackholes,
           "Agents that get a copy of each query and whose answers are dropped.",
           {},
           "none"},
    Key<T>{"dialect", &T::dialect,
           "The language of the agents: `manticore`, or `http` for a table with one shard whose "
           "requests pass through unread."},
    Key<T>{"route",
           &T::route,
           "Dialect `http`: requests whose path begins with this belong to the table.",
           {},
           "required with dialect `http`"},
    Key<T>{"path",
           &T::path,
           "Dialect `http`: what replaces `route` in the path.",
           {},
           "`route` stays"},
    Key<T>{"reads",
           &T::reads,
           "Dialect `http`: paths (separated by commas, `*` at the end for anything) where a POST "
           "only reads and may be retried. GET, HEAD and OPTIONS always may.",
           {},
           "none"},
    Key<T>{"updates", &T::updates,
           "Where an update goes: to the `primary` only, or, if the engine hands it on itself, to "
           "`any` mirror."},
    Key<T>{
        "consistency", &T::consistency,
        "`quorum`: a search asks as many mirrors of a shard as an update cannot have missed, and "
        "is answered by the one that has seen most. `any`: one mirror is asked. The field "
        "`X-Consistency` of a request wins over it."},
    Key<T>{"request_rate", &T::request_rate,
           "Most requests to this table in a time, in the long run; more are refused with 429."},
    Key<T>{"request_burst", &T::request_burst,
           "So much of that rate may come at once after a quiet time.", kBurst},
};

/// The field as one of `Owner`, which inherits `Scope`. Both variants have the same alternatives.
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

/// The settings of `searchd` that may stand at this level, as keys of `Owner`.
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
