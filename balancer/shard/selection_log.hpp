#pragma once

#include <spdlog/logger.h>

#include <memory>

#include "balancer/shard/selection.hpp"
#include "balancer/trace/line_writer.hpp"

namespace karmad {

/// The four messages of the component `serverSelection`, one JSON object per line (SS-171 …
/// SS-175). If the level is disabled, costs a comparison. Any thread.
class SelectionLog {
 public:
  explicit SelectionLog(std::shared_ptr<LineWriter> to);
  void level(LogLevel least);

  /// The part common to all messages of one selection.
  struct About {
    const Query& query;
    const Selection& selection;
    const Shard& shard;
  };
  void started(const About& about) const {
    if (debug()) write(spdlog::level::debug, "Server selection started", about, {});
  }
  void succeeded(const About& about, const Agent& agent) const;
  void failed(const About& about, std::string_view failure) const;
  /// Called once per selection.
  void waiting(const About& about, Micros remaining) const;

 private:
  bool debug() const { return logger_->should_log(spdlog::level::debug); }
  void write(spdlog::level::level_enum level, std::string_view message, const About& about,
             const std::string& more) const;

  std::shared_ptr<spdlog::logger> logger_;
};

}  // namespace karmad
