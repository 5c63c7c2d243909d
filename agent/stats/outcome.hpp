#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "agent/stats/stats_writer.hpp"
#include "config/text/enum_names.hpp"

namespace karmad {

/// The nine counters of an agent's history, in the order of SHOW AGENT STATUS (HA-024).
enum class Counter : std::uint8_t {
  query_timeouts,
  connect_timeouts,
  connect_failures,
  network_errors,
  wrong_query,
  wrong_replies,
  unexpected_closings,
  warnings,
  succeeded_queries,
  none,  ///< not counted
};
inline constexpr std::size_t kCounters = 9;

struct CounterStat {
  Counter counter;
  Stat stat;
};
inline constexpr std::array<CounterStat, kCounters> kCounterStats{{
    {Counter::query_timeouts,
     {"query_timeouts", "the connection was made, but no complete answer came in time"}},
    {Counter::connect_timeouts, {"connect_timeouts", "no connection was made in time"}},
    {Counter::connect_failures,
     {"connect_failures", "connecting was refused, or the name or route is unknown"}},
    {Counter::network_errors, {"network_errors", "the connection broke, or a ping timed out"}},
    {Counter::wrong_query, {"wrong_query", "the request could not be written"}},
    {Counter::wrong_replies,
     {"wrong_replies", "errors, and answers that cannot be understood or are too large"}},
    {Counter::unexpected_closings,
     {"unexpected_closings", "the agent closed the connection before its answer was complete"}},
    {Counter::warnings, {"warnings", "complete answers with a warning"}},
    {Counter::succeeded_queries,
     {"succeeded_queries", "complete answers without error or warning, including answered pings"}},
}};
static_assert(stands_in_order(kCounterStats, &CounterStat::counter));

/// How one attempt or ping ended.
enum class Outcome : std::uint8_t {
  answered,
  answered_with_warning,
  client_mistake,  ///< the agent refused the request; other agents would too
  agent_error,     ///< 5xx or 429, or an error body that does not blame the client
  wrong_reply,     ///< not HTTP, not the dialect, too large
  connect_failed,  ///< refused, unreachable, name not resolved
  connect_timeout,
  broken,        ///< the connection failed while sending or receiving
  closed_early,  ///< the agent closed before the reply was complete
  query_timeout,
  cancelled,    ///< client left, deadline of the whole query, or shutdown
  local_error,  ///< not the agent's: no descriptors, or a kept connection closed before an update
  unreachable,  ///< ended because pings found that the agent cannot be reached
};

/// The effect of an outcome: retry, errors in a row, latency sample, counter (HA-022 … HA-025).
struct Consequence {
  bool retry;    ///< ordinary retry: at once, on another mirror (BP-060)
  bool error;    ///< adds to errors in a row
  bool success;  ///< resets errors in a row
  bool slow;     ///< enters the latency mean as a failure
  Counter counter;
  bool keep_connection;
};

/// Of an attempt that another mirror may answer.
constexpr Consequence failure(Counter counter) {
  return {true, true, false, true, counter, false};
}

struct OutcomeRow {
  Outcome outcome;
  std::string_view name;
  Consequence consequence;
};
inline constexpr std::array<OutcomeRow, 13> kOutcomes{{
    {Outcome::answered, "answered", {false, false, true, false, Counter::succeeded_queries, true}},
    {Outcome::answered_with_warning,
     "answered with a warning",
     {false, false, false, false, Counter::warnings, true}},
    {Outcome::client_mistake,
     "client's mistake",
     {false, false, false, false, Counter::none, true}},
    {Outcome::agent_error, "agent error", {true, true, false, true, Counter::wrong_replies, true}},
    {Outcome::wrong_reply, "wrong reply", failure(Counter::wrong_replies)},
    {Outcome::connect_failed, "connect failed", failure(Counter::connect_failures)},
    {Outcome::connect_timeout, "connect timed out", failure(Counter::connect_timeouts)},
    {Outcome::broken, "connection broken", failure(Counter::network_errors)},
    {Outcome::closed_early, "closed early", failure(Counter::unexpected_closings)},
    {Outcome::query_timeout,
     "query timed out",
     {false, true, false, true, Counter::query_timeouts, false}},
    {Outcome::cancelled, "cancelled", {false, false, false, false, Counter::none, false}},
    {Outcome::local_error, "local error", {true, false, false, false, Counter::none, false}},
    {Outcome::unreachable, "mirror unreachable", failure(Counter::network_errors)},
}};
static_assert(lists_all(kOutcomes, &OutcomeRow::outcome));

constexpr Consequence consequence(Outcome outcome) {
  return kOutcomes[static_cast<std::size_t>(outcome)].consequence;
}

/// Whether the agent gave an answer that counts, perhaps with a warning.
constexpr bool is_answered(Outcome outcome) {
  return outcome <= Outcome::answered_with_warning;
}

/// Whether the agent sent a reply of any content: it can be reached.
constexpr bool is_reply(Outcome outcome) {
  return outcome <= Outcome::wrong_reply;
}

constexpr std::string_view name(Counter counter) {
  return counter == Counter::none ? "none"
                                  : kCounterStats[static_cast<std::size_t>(counter)].stat.name;
}
constexpr std::string_view name(Outcome outcome) {
  return kOutcomes[static_cast<std::size_t>(outcome)].name;
}

}  // namespace karmad
