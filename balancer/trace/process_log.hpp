#pragma once

#include <memory>

#include "balancer/trace/line_writer.hpp"
#include "config/settings.hpp"

namespace spdlog {
class logger;
}

namespace karmad {

/// The log of the process, on standard error: spdlog's default logger as long as it is there. No
/// caller waits for its reader; lines that find no room are dropped, and the log says how
/// many once it is read again.
class ProcessLog {
 public:
  explicit ProcessLog(LogLevel level);
  ProcessLog(const ProcessLog&) = delete;
  ProcessLog& operator=(const ProcessLog&) = delete;
  /// Writes what is left, within two seconds.
  ~ProcessLog();

  /// For other lines on standard error, between those of the log.
  const std::shared_ptr<LineWriter>& lines() const { return lines_; }

 private:
  std::shared_ptr<LineWriter> lines_;
};

/// A logger whose messages become lines of `to`. spdlog's `pattern` is without the line end.
std::shared_ptr<spdlog::logger> logger_for(std::shared_ptr<LineWriter> to, const char* name,
                                           const char* pattern);
void set_level(spdlog::logger& logger, LogLevel least);

}  // namespace karmad
