#include "balancer/watch/operator_log.hpp"

#include <fmt/format.h>

#include "balancer/trace/process_log.hpp"

namespace karmad {
namespace {

LogLevel level_of(OperatorEvent::Severity severity) {
  using enum OperatorEvent::Severity;
  if (severity == error) return LogLevel::error;
  return severity == warning ? LogLevel::warning : LogLevel::info;
}

}  // namespace

void OperatorLog::tell(const OperatorEvent& event, TimePoint now, WallTime wall) {
  events_.add(event, wall);
  const auto left_out = lines_.may_write(now);
  if (!left_out) return;
  const auto before =
      *left_out == 0 ? "" : fmt::format(" ({} lines were left out before)", *left_out);
  log_with_members(level_of(event.severity), event.message + before, members_of(event));
}

}  // namespace karmad
