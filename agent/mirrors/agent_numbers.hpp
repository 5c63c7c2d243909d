#pragma once

#include <cstdint>
#include <optional>

#include "agent/mirrors/agent.hpp"
#include "agent/stats/stats_writer.hpp"

namespace karmad {

/// The current state of an agent: numbers that are not sums over periods (those are in History).
struct AgentNumbers {
  std::uint32_t errors_in_a_row = 0;
  std::optional<Micros> ping_trip;    ///< of the last answered ping
  std::optional<Micros> last_query;   ///< time since the last request was sent, pings included
  std::optional<Micros> last_answer;  ///< time since an attempt or ping ended
  std::optional<Micros> last_period;  ///< duration of that attempt or ping
  std::uint32_t in_flight = 0;
  std::uint32_t max_in_flight = 0;   ///< 0: unlimited
  std::uint64_t over_in_flight = 0;  ///< attempts above the limit while it was not enforced
  std::uint32_t open_connections = 0;
  std::uint32_t waiting = 0;  ///< attempts that wait for a connection
};

/// Any thread. The numbers are from about the same moment.
AgentNumbers numbers_of(const Agent& agent, TimePoint now);

// Four parts, because rows and documents show them in different orders.
void write_errors(StatsWriter& out, const AgentNumbers& agent);
void write_ping(StatsWriter& out, const AgentNumbers& agent);
void write_load(StatsWriter& out, const AgentNumbers& agent);
void write_times(StatsWriter& out, const AgentNumbers& agent);

}  // namespace karmad
