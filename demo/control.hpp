#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "demo/engine/membership.hpp"
#include "demo/switches.hpp"

namespace karmad::demo {

/// The parts of a request that the switches depend on.
struct RequestParts {
  std::string_view target;
  std::string_view timeout_ms;  ///< X-Timeout-Ms; empty without it
  std::string_view body;
};

/// The switches, the membership and the counters of a running agent. Any thread may call
/// everything.
class Control {
 public:
  using Clock = std::chrono::steady_clock;

  Control(std::string description, std::uint64_t seed, Membership membership = {})
      : description_(std::move(description)), dice_(seed), membership_(std::move(membership)) {}

  /// The switches at `now`: those set, or the defaults if their time is over.
  Switches current(Clock::time_point now) const;

  Membership membership() const;
  void set_address(std::string me);
  /// Counts accepted updates; each one is a generation.
  void count_updates(std::size_t updates);

  struct ControlResult {
    HttpAnswer answer;
    bool changed = false;  ///< of the switches; the membership needs no action
  };
  /// Answers a request for `/control`: `parameters` is its query string, `body` empty or a JSON
  /// object. `last_way_in`: there is no separate control port, so the mode `refuse` needs a time
  /// limit. `wall`: the time of a promotion.
  ControlResult answer(std::string_view parameters, std::string_view body, bool last_way_in,
                       Clock::time_point now, WallMs wall = 0);

  /// Counts a request and decides what happens to it.
  Effects decide(Purpose purpose, const RequestParts& request, Clock::time_point now);

  void connection_opened();
  void connection_closed();

 private:
  Switches current_locked(Clock::time_point now) const;
  std::string write(Clock::time_point now) const;

  const std::string description_;  ///< JSON members with the names of the agent
  mutable std::mutex mutex_;
  Dice dice_;
  Switches switches_;
  Membership membership_;
  Clock::time_point set_at_{};
  std::array<std::uint64_t, 5> requests_{};  ///< by purpose
  std::uint64_t disturbed_ = 0;              ///< requests affected by a mode, an error or a refusal
  std::uint64_t opened_ = 0;
  std::uint64_t open_ = 0;
  std::string last_target_, last_timeout_, last_body_;
};

}  // namespace karmad::demo
