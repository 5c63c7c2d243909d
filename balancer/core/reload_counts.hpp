#pragma once

#include <chrono>
#include <cstdint>

#include "agent/stats/single_writer.hpp"
#include "agent/stats/stats_writer.hpp"

namespace karmad {

/// Reloads of the configuration. Written by the main thread, read by any.
class ReloadCounts {
 public:
  using Clock = std::chrono::system_clock;

  /// The configuration was loaded at the start of the process.
  void started(Clock::time_point now) { loaded_at_.set(now); }
  void succeeded(Clock::time_point now) {
    reloads_.add(1);
    last_failed_.set(false);
    loaded_at_.set(now);
  }
  void failed() {
    reloads_.add(1);
    failures_.add(1);
    last_failed_.set(true);
  }

 private:
  friend void write(StatsWriter& out, const ReloadCounts& reloads);

  SingleWriter<std::uint64_t> reloads_;
  SingleWriter<std::uint64_t> failures_;
  SingleWriter<bool> last_failed_;
  SingleWriter<Clock::time_point> loaded_at_;
};
void write(StatsWriter& out, const ReloadCounts& reloads);

}  // namespace karmad
