#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "agent/stats/single_writer.hpp"
#include "agent/stats/stats_writer.hpp"
#include "config/enum_names.hpp"

namespace karmad {

/// The counters of a worker; kCountStats describes them.
enum class Count : std::uint8_t {
  connections,
  connections_refused,
  connections_over_rate,
  requests,
  bad_requests,
  requests_over_rate,
  requests_over_client_rate,
  requests_over_table_rate,
  slow_clients,
  clients_left,
  queries,
  dist_queries,
  queries_failed,
  client_mistakes,
  mistakes_agreed,
  answers_partial,
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
  bodies_unpacked,
  bytes_in,
  bytes_out,
};
inline constexpr std::size_t kCounts = static_cast<std::size_t>(Count::bytes_out) + 1;

/// Name and description of a counter, in the order of Count.
struct CountStat {
  Count count;
  Stat stat;
};
inline constexpr std::array<CountStat, kCounts> kCountStats{{
    {Count::connections, {"connections", "client connections accepted"}},
    {Count::connections_refused,
     {"maxed_out", "client connections refused because max_connections was reached"}},
    {Count::connections_over_rate,
     {"connections_over_rate", "client connections refused because of ingress_connection_rate"}},
    {Count::requests, {"requests", "client requests with a complete head"}},
    {Count::bad_requests,
     {"bad_requests", "client requests refused before they became a query (4xx, 5xx of ours)"}},
    {Count::requests_over_rate,
     {"requests_over_rate", "client requests refused because of ingress_request_rate"}},
    {Count::requests_over_client_rate,
     {"requests_over_client_rate", "client requests refused because of client_request_rate"}},
    {Count::requests_over_table_rate,
     {"requests_over_table_rate", "queries refused because of the request_rate of their table"}},
    {Count::slow_clients,
     {"slow_clients", "connections ended because the client was too slow (408 or closed)"}},
    {Count::clients_left, {"clients_left", "queries whose client left before the answer"}},
    {Count::queries, {"queries", "queries put to agents"}},
    {Count::dist_queries, {"dist_queries", "queries put to more than one shard"}},
    {Count::queries_failed, {"queries_failed", "queries without an answer, whatever the reason"}},
    {Count::client_mistakes,
     {"client_mistakes", "queries an agent refused as the client's mistake, passed on"}},
    {Count::mistakes_agreed,
     {"mistakes_agreed",
      "of them, those known only because two mirrors gave the same error; the log has texts"}},
    {Count::answers_partial, {"answers_partial", "answers in which a shard is missing"}},
    {Count::attempts, {"agent_attempts", "attempts at agents, retries included"}},
    {Count::retries, {"agent_retry", "attempts after the first of a shard's part of a query"}},
    {Count::stale_connections,
     {"stale_connections", "kept connections found closed by the agent when they were used"}},
    {Count::overload_retries,
     {"overload_retries", "retries of attempts that were refused as overload"}},
    {Count::throttled_retries,
     {"throttled_retries", "retries of attempts that were told how long to wait"}},
    {Count::generation_retries,
     {"generation_retries", "retries of searches whose mirror had not seen X-Min-Generation yet"}},
    {Count::primary_retries,
     {"primary_retries",
      "updates sent on because a mirror said that it is not the primary any more"}},
    {Count::retries_refused,
     {"retries_refused", "retries not made because the retry budget had nothing left"}},
    {Count::retries_waited,
     {"retries_waited",
      "retries that waited for the first answer of a mirror that was not known yet"}},
    {Count::hedges, {"hedges", "attempts at a second mirror while the first was late"}},
    {Count::hedges_won, {"hedges_won", "of them, those whose answer was the shard's"}},
    {Count::planned_anew,
     {"planned_anew", "queries begun again because a shard moved and a reload said where to"}},
    {Count::quorum_reads,
     {"quorum_reads", "attempts beyond the first that reads with consistency = quorum made"}},
    {Count::quorum_settling_reads,
     {"quorum_settling_reads", "of them, those of further mirrors because the first disagreed"}},
    {Count::quorum_barriers,
     {"quorum_barriers", "times they waited for mirrors to catch up with one that had seen more"}},
    {Count::quorum_failed, {"quorum_failed", "of them, those whose mirrors did not come to agree"}},
    {Count::connect_timeouts,
     {"connect_timeouts", "attempts given up because no connection was made in time"}},
    {Count::first_byte_timeouts,
     {"first_byte_timeouts", "attempts given up because no byte of the answer came in time"}},
    {Count::query_timeouts,
     {"query_timeouts", "attempts given up because the answer was not complete in time"}},
    {Count::attempts_interrupted,
     {"attempts_interrupted", "attempts ended because a ping of their mirror timed out"}},
    {Count::merge_rejected,
     {"merge_rejected", "replies found to be broken only when they were merged"}},
    {Count::tickets_waited, {"tickets_waited", "requests that waited for a ticket"}},
    {Count::tickets_refused,
     {"tickets_refused", "requests refused with 429 because they got no ticket"}},
    {Count::tickets_expired, {"tickets_expired", "of them, those that had waited for one"}},
    {Count::selections_waited,
     {"selections_waited", "selections of a mirror that had to wait because none suited"}},
    {Count::selections_failed,
     {"selections_failed", "selections that found no suitable mirror in time"}},
    {Count::selections_refused,
     {"selections_refused", "selections refused because max_waiting_selections waited already"}},
    {Count::slots_waited,
     {"max_in_flight_waited", "queries that had to wait because all mirrors of a shard were full"}},
    {Count::slots_refused,
     {"max_in_flight_refused", "of these and others, those refused: too many waited, or too long"}},
    {Count::slots_wait_us,
     {"max_in_flight_wait", "microseconds they waited in all", StatKind::counter,
      Unit::microseconds, "max_in_flight_wait_us"}},
    {Count::blackhole_sent, {"blackhole_sent", "copies sent to blackhole agents"}},
    {Count::blackhole_dropped,
     {"blackhole_dropped", "copies not sent because too many were on their way"}},
    {Count::memory_refused,
     {"memory_refused", "requests refused because memory_limit was nearly reached"}},
    {Count::memory_given_up,
     {"memory_given_up", "requests given up because they held most when memory_limit was reached"}},
    {Count::replies_passed,
     {"replies_passed", "answers longer than reply_buffer_size, passed on while they arrived"}},
    {Count::replies_broken_off,
     {"replies_broken_off", "of them, those whose rest did not come: the client got a part"}},
    {Count::bodies_unpacked,
     {"bodies_unpacked", "request bodies that came compressed and were unpacked"}},
    {Count::bytes_in, {"bytes_in", "bytes of client requests", StatKind::counter, Unit::bytes}},
    {Count::bytes_out,
     {"bytes_out", "bytes of answers to clients", StatKind::counter, Unit::bytes}},
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

}  // namespace karmad
