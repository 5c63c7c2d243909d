#pragma once

#include <memory>

#include "balancer/trace/line_writer.hpp"
#include "config/settings/settings.hpp"

namespace spdlog {
class logger;
}

namespace karmad {

/// The log of the process on standard error: spdlog's default logger while it lives. No caller
/// waits for the reader of the log; lines without room are dropped, and the log reports their
/// number once it is read again.
class ProcessLog {
 public:
  explicit ProcessLog(LogLevel level);
  ProcessLog(const ProcessLog&) = delete;
  ProcessLog& operator=(const ProcessLog&) = delete;
  /// Writes the remaining lines, within two seconds.
  ~ProcessLog();

  /// For other lines on standard error, in order with the log's.
  const std::shared_ptr<LineWriter>& lines() const { return lines_; }

 private:
  std::shared_ptr<LineWriter> lines_;
};

/// A logger whose messages become lines of `to`. spdlog's `pattern` has no line end.
std::shared_ptr<spdlog::logger> logger_for(std::shared_ptr<LineWriter> to, const char* name,
                                           const char* pattern);
void set_level(spdlog::logger& logger, LogLevel least);

}  // namespace karmad
