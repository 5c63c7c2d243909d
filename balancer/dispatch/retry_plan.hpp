#pragma once

#include <cstddef>
#include <optional>

#include "agent/outcome.hpp"
#include "strategies/time.hpp"

namespace karmad {

/// What the configuration and the query say about retries. Empty: nobody said anything.
struct RetrySettings {
  std::optional<unsigned> per_mirror_of_query;  ///< options.retry_count of the query
  std::optional<unsigned> absolute_of_line;     ///< [retry_count=n] of the agent line
  std::optional<unsigned> per_mirror;           ///< agent_retry_count of the table or instance
  Micros delay{};                               ///< agent_retry_delay
};

/// The number of retries a shard's part of a query may make: the query's word counts most, then the
/// line's, then the table's; a count is per mirror, except the line's (HA-026). Nobody said
/// anything: one, on another mirror.
unsigned retries_allowed(const RetrySettings& settings, std::size_t mirrors);

/// An attempt that just ended, and what went before it.
struct RetryState {
  Outcome outcome{};
  bool read = true;   ///< the query may run twice
  bool sent = false;  ///< the agent may have seen a part of the request
  unsigned retries_made = 0;
  std::size_t tried = 0;  ///< different mirrors
  std::size_t mirrors = 0;
  Micros left{};  ///< until the query's deadline
};

/// How long to wait before the next attempt, or nothing when there shall be none. A mirror that was
/// not tried yet is asked at once; the delay is for when all were.
std::optional<Micros> next_attempt(const RetrySettings& settings, const RetryState& state);

}  // namespace karmad
