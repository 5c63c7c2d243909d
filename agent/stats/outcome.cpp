#include "agent/stats/outcome.hpp"

namespace karmad {

std::string_view name(Counter counter) {
  constexpr std::array<std::string_view, kCounters + 1> names{
      "query_timeouts",      "connect_timeouts",
      "connect_failures",    "network_errors",
      "wrong_query",         "wrong_replies",
      "unexpected_closings", "warnings",
      "succeeded_queries",   "none"};
  return names[static_cast<std::size_t>(counter)];
}

std::string_view name(Outcome outcome) {
  constexpr std::array<std::string_view, 13> names{
      "answered",          "answered with a warning", "client's mistake",  "agent error",
      "wrong reply",       "connect failed",          "connect timed out", "connection broken",
      "closed early",      "query timed out",         "cancelled",         "own trouble",
      "mirror unreachable"};
  return names[static_cast<std::size_t>(outcome)];
}

}  // namespace karmad
