#include "balancer/trace/access.hpp"

#include <algorithm>

namespace karmad {

std::string_view end_of(const Trace& trace, const Access& access) {
  if (access.status == kClientLeft) return "client_left";
  if (!access.broken_off.empty()) return "broken_off";
  if (access.status >= 400) return trace.started() == 0 ? "refused" : "failed";
  return trace.partial ? "partial" : "answered";
}

std::optional<Micros> longest_connect(const Trace& trace) {
  std::optional<Micros> longest;
  for (const auto& attempt : trace.attempts())
    if (attempt.connected)
      longest = std::max(longest, std::optional(*attempt.connected - attempt.started));
  return longest;
}

std::optional<Micros> first_reply_byte(const Trace& trace) {
  std::optional<Micros> first;
  for (const auto& attempt : trace.attempts())
    if (attempt.first_byte && (!first || *attempt.first_byte < *first)) first = attempt.first_byte;
  return first;
}

bool is_notable(const Trace& trace, TimePoint now, const Access& access, Micros slow) {
  return access.status >= 400 || trace.partial || !access.broken_off.empty() ||
         now - trace.began >= slow;
}

}  // namespace karmad
