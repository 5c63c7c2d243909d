#include "balancer/trace/access.hpp"

namespace karmad {

std::string_view end_of(const Trace& trace, const Access& access) {
  if (access.status == kClientLeft) return "client_left";
  if (!access.broken_off.empty()) return "broken_off";
  if (access.status >= 400) return trace.started() == 0 ? "refused" : "failed";
  return trace.partial ? "partial" : "answered";
}

bool is_notable(const Trace& trace, TimePoint now, const Access& access, Micros slow) {
  return access.status >= 400 || trace.partial || !access.broken_off.empty() ||
         now - trace.began >= slow;
}

}  // namespace karmad
