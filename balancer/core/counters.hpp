#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "agent/stats/owned.hpp"

namespace karmad {

/// What a worker counts; names and help are in kCountText, in the same order.
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
  seats_waited,
  seats_refused,
  seats_wait_us,
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

struct CountText {
  std::string_view name;
  std::string_view help;
};
inline constexpr std::array<CountText, kCounts> kCountText{{
    {"connections", "client connections accepted"},
    {"maxed_out", "client connections refused because max_connections was reached"},
    {"connections_over_rate", "client connections refused because of ingress_connection_rate"},
    {"requests", "client requests with a complete head"},
    {"bad_requests", "client requests refused before they became a query (4xx, 5xx of ours)"},
    {"requests_over_rate", "client requests refused because of ingress_request_rate"},
    {"requests_over_client_rate", "client requests refused because of client_request_rate"},
    {"requests_over_table_rate", "queries refused because of the request_rate of their table"},
    {"slow_clients", "connections ended because the client was too slow (408 or closed)"},
    {"clients_left", "queries whose client left before the answer"},
    {"queries", "queries put to agents"},
    {"dist_queries", "queries put to more than one shard"},
    {"queries_failed", "queries without an answer, whatever the reason"},
    {"client_mistakes", "queries an agent refused as the client's mistake, passed on"},
    {"mistakes_agreed",
     "of them, those known only because two mirrors gave the same error; the log has texts"},
    {"answers_partial", "answers in which a shard is missing"},
    {"agent_attempts", "attempts at agents, retries included"},
    {"agent_retry", "attempts after the first of a shard's part of a query"},
    {"stale_connections", "kept connections found closed by the agent when they were used"},
    {"overload_retries", "retries of attempts that were refused as overload"},
    {"throttled_retries", "retries of attempts that were told how long to wait"},
    {"generation_retries", "retries of searches whose mirror had not seen X-Min-Generation yet"},
    {"primary_retries",
     "updates sent on because a mirror said that it is not the primary any more"},
    {"retries_refused", "retries not made because the retry budget had nothing left"},
    {"retries_waited",
     "retries that waited for the first answer of a mirror that was not known yet"},
    {"hedges", "attempts at a second mirror while the first was late"},
    {"hedges_won", "of them, those whose answer was the shard's"},
    {"planned_anew", "queries begun again because a shard moved and a reload said where to"},
    {"quorum_reads", "attempts beyond the first that reads with consistency = quorum made"},
    {"quorum_settling_reads", "of them, those of further mirrors because the first disagreed"},
    {"quorum_barriers", "times they waited for mirrors to catch up with one that had seen more"},
    {"quorum_failed", "of them, those whose mirrors did not come to agree"},
    {"connect_timeouts", "attempts given up because no connection was made in time"},
    {"first_byte_timeouts", "attempts given up because no byte of the answer came in time"},
    {"query_timeouts", "attempts given up because the answer was not complete in time"},
    {"attempts_interrupted", "attempts ended because a ping of their mirror timed out"},
    {"merge_rejected", "replies found to be broken only when they were merged"},
    {"tickets_waited", "requests that waited for a ticket"},
    {"tickets_refused", "requests refused with 429 because they got no ticket"},
    {"tickets_expired", "of them, those that had waited for one"},
    {"selections_waited", "selections of a mirror that had to wait because none suited"},
    {"selections_failed", "selections that found no suitable mirror in time"},
    {"selections_refused", "selections refused because max_waiting_selections waited already"},
    {"max_in_flight_waited", "queries that had to wait because all mirrors of a shard were full"},
    {"max_in_flight_refused", "of these and others, those refused: too many waited, or too long"},
    {"max_in_flight_wait_us", "microseconds they waited in all"},
    {"blackhole_sent", "copies sent to blackhole agents"},
    {"blackhole_dropped", "copies not sent because too many were on their way"},
    {"memory_refused", "requests refused because memory_limit was nearly reached"},
    {"memory_given_up", "requests given up because they held most when memory_limit was reached"},
    {"replies_passed", "answers longer than reply_buffer_size, passed on while they arrived"},
    {"replies_broken_off", "of them, those whose rest did not come: the client got a part"},
    {"bodies_unpacked", "request bodies that came compressed and were unpacked"},
    {"bytes_in", "bytes of client requests"},
    {"bytes_out", "bytes of answers to clients"},
}};

/// One worker's counters: written by it alone, read by any thread.
class Counters {
 public:
  void add(Count count, std::uint64_t n = 1) noexcept {
    cells_[static_cast<std::size_t>(count)].add(n);
  }
  std::uint64_t operator[](std::size_t i) const { return cells_[i].get(); }

 private:
  alignas(64) std::array<Owned<std::uint64_t>, kCounts> cells_;
};

}  // namespace karmad
