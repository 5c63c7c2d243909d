#pragma once

#include <spdlog/logger.h>

#include <memory>

#include "balancer/selection/selection.hpp"
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
  void started(const About& about) const;
  void succeeded(const About& about, const Agent& agent) const;
  void failed(const About& about, std::string_view failure) const;
  /// Called once per selection.
  void waiting(const About& about, Micros remaining) const;

 private:
  bool debug() const { return logger_->should_log(spdlog::level::debug); }
  template <class AddMore>
  void write(spdlog::level::level_enum level, std::string_view message, const About& about,
             AddMore add_more) const;

  std::shared_ptr<spdlog::logger> logger_;
};

}  // namespace karmad
