#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

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
  ProcessLog(LogLevel level, LogFormat format);
  ProcessLog& operator=(ProcessLog&&) = delete;
  /// Writes the remaining lines, within two seconds.
  ~ProcessLog();

  void configure(LogLevel level, LogFormat format);
  /// For other lines on standard error, in order with the log's.
  const std::shared_ptr<LineWriter>& lines() const { return lines_; }

 private:
  const std::shared_ptr<std::atomic<LogFormat>> format_;  ///< the writer's thread reads it
  const std::shared_ptr<LineWriter> lines_;
};

/// Logs a message to spdlog's default logger. `members`: more members of the object that the JSON
/// format makes of it, each after a comma; the text format leaves them out.
void log_with_members(LogLevel level, std::string_view message, const std::string& members);

/// A logger whose messages become lines of `to`. spdlog's `pattern` has no line end.
std::shared_ptr<spdlog::logger> logger_for(std::shared_ptr<LineWriter> to, const char* name,
                                           const char* pattern);
void set_level(spdlog::logger& logger, LogLevel least);

}  // namespace karmad
