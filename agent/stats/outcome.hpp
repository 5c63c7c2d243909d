#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace karmad {

/// The nine counters of an agent's history, in the order SHOW AGENT STATUS prints them (HA-024).
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
  none,  ///< leaves no trace
};
inline constexpr std::size_t kCounters = 9;

/// What happened to one attempt (or ping).
enum class Outcome : std::uint8_t {
  answered,
  answered_with_warning,
  client_mistake,  ///< the agent refused the request, as any other agent would
  agent_error,     ///< 5xx or 429, or an error body that blames no client
  wrong_reply,     ///< not HTTP, not the dialect, too large
  connect_failed,  ///< refused, unreachable, name not resolved
  connect_timeout,
  broken,        ///< the connection failed while sending or receiving
  closed_early,  ///< the agent closed before the reply was complete
  query_timeout,
  cancelled,    ///< client left, deadline of the whole query, shutdown
  own_trouble,  ///< not the agent's: no descriptors, a kept connection gone under an update
  unreachable,  ///< ended because pings found that the agent cannot be reached
};

/// What an outcome leads to: retry, errors in a row, latency sample, counter (HA-022 … HA-025).
struct Consequence {
  bool retry;    ///< the ordinary rule: on another mirror, at once (BP-060)
  bool error;    ///< adds to errors in a row
  bool success;  ///< resets errors in a row
  bool slow;     ///< enters the latency mean as a failure
  Counter counter;
  bool keep_connection;
};

constexpr Consequence consequence(Outcome outcome) {
  constexpr std::array<Consequence, 13> table{{
      {false, false, true, false, Counter::succeeded_queries, true},   // answered
      {false, false, false, false, Counter::warnings, true},           // answered_with_warning
      {false, false, false, false, Counter::none, true},               // client_mistake
      {true, true, false, true, Counter::wrong_replies, true},         // agent_error
      {true, true, false, true, Counter::wrong_replies, false},        // wrong_reply
      {true, true, false, true, Counter::connect_failures, false},     // connect_failed
      {true, true, false, true, Counter::connect_timeouts, false},     // connect_timeout
      {true, true, false, true, Counter::network_errors, false},       // broken
      {true, true, false, true, Counter::unexpected_closings, false},  // closed_early
      {false, true, false, true, Counter::query_timeouts, false},      // query_timeout
      {false, false, false, false, Counter::none, false},              // cancelled
      {true, false, false, false, Counter::none, false},               // own_trouble
      {true, true, false, true, Counter::network_errors, false},       // unreachable
  }};
  return table[static_cast<std::size_t>(outcome)];
}

/// Whether the agent sent a reply, whatever it says: it can be reached.
constexpr bool is_reply(Outcome outcome) {
  return outcome <= Outcome::wrong_reply;
}

std::string_view name(Counter counter);
std::string_view name(Outcome outcome);

}  // namespace karmad
