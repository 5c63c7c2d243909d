#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "agent/stats/outcome.hpp"
#include "agent/stats/single_writer.hpp"
#include "agent/stats/stats_writer.hpp"
#include "balancer/rules/retry_plan.hpp"
#include "config/text/enum_names.hpp"

namespace karmad {

/// The counters of a worker; kCountStats describes them.
enum class Count : std::uint8_t {
  connections,
  connections_refused,
  connections_over_rate,
  requests,
  bad_requests,
  internal_errors,
  wrong_protocols,
  tls_failures,
  proxy_headers_refused,
  requests_over_rate,
  requests_over_client_rate,
  requests_over_table_rate,
  auth_refused,
  auth_limited,
  auth_verified,
  loops_refused,
  slow_clients,
  clients_left,
  queries,
  dist_queries,
  queries_failed,
  client_mistakes,
  mistakes_agreed,
  crashing_requests,
  answers_partial,
  updates_incomplete,
  attempts,
  retries,
  stale_connections,
  overload_retries,
  throttled_retries,
  generation_retries,
  primary_retries,
  retries_refused,
  retries_waited,
  hedges,
  hedges_won,
  planned_anew,
  quorum_reads,
  quorum_settling_reads,
  quorum_barriers,
  quorum_failed,
  connect_timeouts,
  first_byte_timeouts,
  query_timeouts,
  attempts_interrupted,
  merge_rejected,
  tickets_waited,
  tickets_refused,
  tickets_expired,
  selections_waited,
  selections_failed,
  selections_refused,
  slots_waited,
  slots_refused,
  slots_wait_us,
  blackhole_sent,
  blackhole_dropped,
  memory_refused,
  memory_given_up,
  replies_passed,
  replies_broken_off,
  requests_streamed,
  requests_broken_off,
  upgrades,
  tunnels_timed_out,
  tunnels_refused,
  bodies_unpacked,
  answers_compressed,
  answers_not_compressed,
  compressed_bytes_in,
  compressed_bytes_out,
  mysql_connections,
  mysql_queries,
  mysql_query_errors,
  mysql_prepares,
  mysql_prepare_errors,
  mysql_executes,
  mysql_execute_errors,
  bytes_in,
  bytes_out,
};
inline constexpr auto kCountNames = enumerators<Count>();
inline constexpr std::size_t kCounts = kCountNames.all().size();

/// The description of a counter, whose name is that of its Count unless it gives another.
struct CountStat {
  consteval CountStat(Count counted, std::string_view help, Unit unit = Unit::count)
      : count(counted), stat{kCountNames[counted], help, StatKind::counter, unit} {}
  consteval CountStat(Count counted, const Stat& described) : count(counted), stat(described) {}

  Count count;
  Stat stat;
};
inline constexpr std::array<CountStat, kCounts> kCountStats{{
    {Count::connections, "client connections accepted"},
    {Count::connections_refused,
     Stat{"maxed_out", "client connections refused because max_connections was reached"}},
    {Count::connections_over_rate, "client connections refused because of ingress_connection_rate"},
    {Count::requests, "client requests with a complete head"},
    {Count::bad_requests,
     "client requests that karmad itself refused with 4xx or 5xx before they became a query"},
    {Count::internal_errors,
     "requests that ended with 500 because karmad has a defect: its code threw, as the log tells"},
    {Count::wrong_protocols,
     "client connections ended because they began with TLS, HTTP/2, the PROXY protocol or another "
     "protocol than the listener's"},
    {Count::tls_failures, "client connections ended because TLS failed, mostly in the handshake"},
    {Count::proxy_headers_refused,
     "client connections ended because they began without a valid header of the PROXY protocol, or "
     "came from none of the trusted_proxies, at a listener with ,proxy"},
    {Count::requests_over_rate, "client requests refused because of ingress_request_rate"},
    {Count::requests_over_client_rate, "client requests refused because of client_request_rate"},
    {Count::requests_over_table_rate, "queries refused because of the request_rate of their table"},
    {Count::auth_refused,
     "client requests refused with 401 because of wrong or missing credentials"},
    {Count::auth_limited,
     "client requests refused with 429 because their address exceeded auth_failure_rate"},
    {Count::auth_verified, "passwords of clients that were hashed because none was remembered"},
    {Count::loops_refused,
     "requests refused with 508 because they had passed more than max_hops karmads"},
    {Count::slow_clients, "connections ended because the client was too slow (408 or closed)"},
    {Count::clients_left, "queries whose client left before the answer"},
    {Count::queries, "queries sent to agents"},
    {Count::dist_queries, "queries sent to more than one shard"},
    {Count::queries_failed, "queries without an answer, for any reason"},
    {Count::client_mistakes,
     "queries whose error from an agent was the client's mistake; the client got that error"},
    {Count::mistakes_agreed,
     "client mistakes recognized only because two mirrors gave the same error; the log has their "
     "texts"},
    {Count::crashing_requests,
     "queries not sent to another mirror because two mirrors crashed on them, now or in the last "
     "five minutes"},
    {Count::answers_partial, "answers without the results of some shards"},
    {Count::updates_incomplete, "updates that some mirrors carried out and others did not"},
    {Count::attempts, Stat{"agent_attempts", "attempts at agents, including retries"}},
    {Count::retries, Stat{"agent_retry", "attempts of a query at a shard after the first one"}},
    {Count::stale_connections, "idle connections that the agent had closed when they were reused"},
    {Count::overload_retries, "retries after an agent reported overload"},
    {Count::throttled_retries, "retries after an agent named a delay (Retry-After)"},
    {Count::generation_retries,
     "retries of searches whose mirror had not reached X-Min-Generation yet"},
    {Count::primary_retries,
     "updates sent to another mirror because the first reported that it is no longer the primary"},
    {Count::retries_refused,
     "retries not made because the retry budget was used up, too many requests waited, or the "
     "deadline came"},
    {Count::retries_waited,
     "retries that waited for the first answer of a mirror whose state was unknown"},
    {Count::hedges, "hedged requests: attempts at a further mirror because no answer had come yet"},
    {Count::hedges_won, "hedged requests whose answer was used"},
    {Count::planned_anew,
     "queries repeated with the new configuration because a reload had moved a shard"},
    {Count::quorum_reads, "additional attempts of searches with consistency = quorum"},
    {Count::quorum_settling_reads,
     "quorum_reads at further mirrors because the first ones differed"},
    {Count::quorum_barriers,
     "times that a search with consistency = quorum waited for mirrors to catch up"},
    {Count::quorum_failed,
     "searches with consistency = quorum that failed because their mirrors did not agree"},
    {Count::connect_timeouts, "attempts ended because no connection was made in time"},
    {Count::first_byte_timeouts, "attempts ended because no byte of the answer came in time"},
    {Count::query_timeouts, "attempts ended because the answer was not complete in time"},
    {Count::attempts_interrupted, "attempts ended because a ping of their mirror timed out"},
    {Count::merge_rejected, "replies whose error was found only during the merge"},
    {Count::tickets_waited, "requests that waited for a ticket"},
    {Count::tickets_refused, "requests refused with 429 because they got no ticket"},
    {Count::tickets_expired, "requests refused with 429 after they had waited for a ticket"},
    {Count::selections_waited, "selections that waited because no mirror was suitable"},
    {Count::selections_failed, "selections that found no suitable mirror in time"},
    {Count::selections_refused, "selections refused because max_waiting_selections was reached"},
    {Count::slots_waited,
     Stat{"max_in_flight_waited",
          "queries that waited because all mirrors of a shard had max_in_flight attempts"}},
    {Count::slots_refused, Stat{"max_in_flight_refused",
                                "queries refused because all mirrors of a shard were full: the "
                                "queue was full, or the wait too long"}},
    {Count::slots_wait_us,
     Stat{"max_in_flight_wait",
          "total time that queries waited because all mirrors of a shard were full",
          StatKind::counter, Unit::microseconds, "max_in_flight_wait_us"}},
    {Count::blackhole_sent, "copies of queries sent to blackhole agents"},
    {Count::blackhole_dropped,
     "copies for blackhole agents not sent because too many were in progress"},
    {Count::memory_refused, "requests refused because memory_limit was nearly reached"},
    {Count::memory_given_up,
     "requests cancelled because they held the most memory when memory_limit was reached"},
    {Count::replies_passed,
     "answers longer than reply_buffer_size that were passed on while they arrived"},
    {Count::replies_broken_off,
     "answers longer than reply_buffer_size that broke off: the client got a part"},
    {Count::requests_streamed,
     "requests longer than request_buffer_size whose body was passed on while it arrived"},
    {Count::requests_broken_off,
     "requests of which only a part was passed on: the client left, or the agent answered or "
     "failed before"},
    {Count::upgrades, "client connections that have changed their protocol, such as to WebSocket"},
    {Count::tunnels_timed_out,
     "such connections that were cut because nothing came for stream_timeout"},
    {Count::tunnels_refused, "requests to change the protocol that were refused (max_tunnels)"},
    {Count::bodies_unpacked, "compressed request bodies that were unpacked"},
    {Count::answers_compressed, "answers that were compressed (compress)"},
    {Count::answers_not_compressed,
     "answers sent as they are because compress_share was used up or the worker was late"},
    {Count::compressed_bytes_in, "bytes of answers before compression"},
    {Count::compressed_bytes_out, "bytes of answers after compression"},
    {Count::mysql_connections, "connections of MySQL clients that completed their handshake"},
    {Count::mysql_queries, "statements of MySQL clients (COM_QUERY)"},
    {Count::mysql_query_errors, "statements of MySQL clients (COM_QUERY) answered with an error"},
    {Count::mysql_prepares, "statements that MySQL clients prepared (COM_STMT_PREPARE)"},
    {Count::mysql_prepare_errors, "refused COM_STMT_PREPARE of MySQL clients"},
    {Count::mysql_executes, "prepared statements that MySQL clients executed (COM_STMT_EXECUTE)"},
    {Count::mysql_execute_errors, "COM_STMT_EXECUTE of MySQL clients answered with an error"},
    {Count::bytes_in, "bytes of client requests", Unit::bytes},
    {Count::bytes_out, "bytes of answers to clients", Unit::bytes},
}};
static_assert(lists_all(kCountStats, &CountStat::count));

constexpr const Stat& stat(Count count) {
  return kCountStats[static_cast<std::size_t>(count)].stat;
}

/// One worker's counters: only that worker writes, any thread reads.
class Counters {
 public:
  void add(Count count, std::uint64_t n = 1) noexcept {
    cells_[static_cast<std::size_t>(count)].add(n);
  }
  std::uint64_t operator[](std::size_t i) const { return cells_[i].get(); }
  std::uint64_t operator[](Count count) const { return (*this)[static_cast<std::size_t>(count)]; }

 private:
  alignas(64) std::array<SingleWriter<std::uint64_t>, kCounts> cells_;
};

/// The result of an attempt: the values of Outcome in four groups.
enum class AttemptEnd : std::uint8_t { answered, client_mistake, failed, cancelled };
inline constexpr std::size_t kAttemptEnds = 4;

inline AttemptEnd attempt_end(Outcome outcome) {
  if (is_answered(outcome)) return AttemptEnd::answered;
  if (outcome == Outcome::client_mistake) return AttemptEnd::client_mistake;
  return outcome == Outcome::cancelled ? AttemptEnd::cancelled : AttemptEnd::failed;
}

/// Ended attempts of one worker by reason and result: only that worker writes, any thread reads.
class AttemptResults {
 public:
  void add(AttemptReason reason, Outcome outcome) noexcept {
    counts_[static_cast<std::size_t>(reason)][static_cast<std::size_t>(attempt_end(outcome))].add(
        1);
  }
  std::uint64_t count(std::size_t reason, std::size_t end) const {
    return counts_[reason][end].get();
  }

 private:
  std::array<std::array<SingleWriter<std::uint64_t>, kAttemptEnds>, kAttemptReasons> counts_;
};

}  // namespace karmad
