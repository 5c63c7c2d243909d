#pragma once

#include "balancer/trace/line_rate.hpp"
#include "balancer/watch/event_log.hpp"
#include "balancer/watch/mirror_watch.hpp"

namespace karmad {

/// Writes a log line and an event for each change that is told; at most kLinesPerSecond lines.
/// For one thread.
class OperatorLog final : public OperatorNews {
 public:
  static constexpr std::uint32_t kLinesPerSecond = 50;

  explicit OperatorLog(EventLog& events) : events_(events) {}
  void tell(const OperatorEvent& event, TimePoint now, WallTime wall) override;

 private:
  EventLog& events_;
  LineRate lines_{kLinesPerSecond};
};

}  // namespace karmad
