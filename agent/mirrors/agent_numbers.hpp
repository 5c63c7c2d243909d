#pragma once

#include <cstdint>
#include <optional>

#include "agent/mirrors/agent.hpp"
#include "agent/stats/stats_writer.hpp"

namespace karmad {

/// How an agent is doing at one moment: what is not a sum over periods (History has those).
struct AgentNumbers {
  std::uint32_t errors_in_a_row = 0;
  std::optional<Micros> ping_trip;    ///< of the last answered ping
  std::optional<Micros> last_query;   ///< how long ago something was sent, pings included
  std::optional<Micros> last_answer;  ///< how long ago an attempt or ping ended
  std::optional<Micros> last_period;  ///< what that attempt or ping took
  std::uint32_t in_flight = 0;
  std::uint32_t max_in_flight = 0;   ///< 0: any number
  std::uint64_t over_in_flight = 0;  ///< attempts above it, while it was not enforced
  std::uint32_t open_connections = 0;
  std::uint32_t waiting = 0;  ///< attempts that wait for a connection
};

/// Any thread. The numbers are of about the same moment.
AgentNumbers numbers_of(const Agent& agent, TimePoint now);

// In four parts, because rows and documents show them in different orders.
void write_errors(StatsWriter& out, const AgentNumbers& agent);
void write_ping(StatsWriter& out, const AgentNumbers& agent);
void write_load(StatsWriter& out, const AgentNumbers& agent);
void write_times(StatsWriter& out, const AgentNumbers& agent);

}  // namespace karmad
