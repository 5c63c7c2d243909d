#include "agent/mirrors/agent_numbers.hpp"

#include <algorithm>

namespace karmad {
namespace {

std::optional<Micros> since(TimePoint now, std::int64_t then) {
  if (then == 0) return std::nullopt;
  return std::max(Micros{0}, now.time_since_epoch() - Micros{then});
}

using enum StatKind;

}  // namespace

AgentNumbers numbers_of(const Agent& agent, TimePoint now) {
  const auto read = [](const auto& value) { return value.load(std::memory_order_relaxed); };
  const auto& counters = agent.counters;
  const auto answered_at = read(counters.last_answer);
  const auto trip = read(counters.ping_trip);
  return {.errors_in_a_row = read(counters.errors_in_a_row),
          .ping_trip = trip != 0 ? std::optional(Micros{trip}) : std::nullopt,
          .last_query = since(now, read(agent.counts.last_query)),
          .last_answer = since(now, answered_at),
          .last_period =
              answered_at != 0 ? std::optional(Micros{read(counters.last_took)}) : std::nullopt,
          .in_flight = read(counters.in_flight),
          .max_in_flight = agent.slots.limit(),
          .over_in_flight = agent.slots.over(),
          .open_connections = read(agent.counts.open),
          .waiting = read(agent.counts.waiting)};
}

void write_errors(StatsWriter& out, const AgentNumbers& agent) {
  out.add({"errors_in_a_row", "failures since the last answer or ping without error", gauge,
           Unit::count, "errorsarow"},
          agent.errors_in_a_row);
}

void write_ping(StatsWriter& out, const AgentNumbers& agent) {
  out.add({"ping", "round trip of the last answered ping", gauge, Unit::milliseconds,
           "pingtripmsec", "ping_ms"},
          agent.ping_trip);
}

void write_load(StatsWriter& out, const AgentNumbers& agent) {
  out.add({"in_flight", "attempts in progress", gauge}, agent.in_flight);
  out.add({"max_in_flight", "limit on attempts in progress (max_in_flight)", gauge},
          agent.max_in_flight != 0 ? StatValue(agent.max_in_flight) : Unlimited{});
  out.add(
      {"over_in_flight", "attempts above max_in_flight, admitted because of admission = monitor",
       counter, Unit::count, kHidden, kHidden},
      agent.over_in_flight);
  out.add({"open_connections", "open connections", gauge, Unit::count, kHidden},
          agent.open_connections);
  out.add({"waiting", "attempts that wait for a connection", gauge, Unit::count, kHidden},
          agent.waiting);
}

void write_times(StatsWriter& out, const AgentNumbers& agent) {
  out.add({"since_last_query", "time since the last attempt or ping started", gauge, Unit::seconds,
           "lastquery", "last_query_s", 2},
          agent.last_query);
  out.add({"since_last_answer", "time since the last attempt or ping ended", gauge, Unit::seconds,
           "lastanswer", "last_answer_s", 2},
          agent.last_answer);
  out.add({"last_answer_time", "duration of the last attempt or ping that ended", gauge,
           Unit::milliseconds, "lastperiodmsec", kHidden},
          agent.last_period);
}

}  // namespace karmad
