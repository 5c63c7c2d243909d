#pragma once

#include <cstdint>
#include <optional>

#include "config/settings.hpp"
#include "strategies/time.hpp"

namespace karmad {

/// What `max_in_flight = auto` may be set to.
struct ConcurrencyRules {
  unsigned least = kDefaultSettings.max_in_flight_min.value;
  unsigned most = kDefaultSettings.max_in_flight_max.value;
  unsigned initial = kDefaultSettings.max_in_flight_initial.value;  ///< once a baseline is known
  /// How many more are tried than the latency asks for.
  unsigned slack = kDefaultSettings.max_in_flight_slack.value;
  double smoothing = kDefaultSettings.max_in_flight_smoothing.value / 100.0;
  bool operator==(const ConcurrencyRules&) const = default;
};

/// What the attempts came to that ended within one short time, at one agent.
struct LatencyWindow {
  Micros mean{};              ///< of those answered
  std::uint32_t answers = 0;  ///< none: `mean` says nothing
  std::uint32_t dropped = 0;  ///< not answered in time, or refused as overload
  std::uint32_t peak = 0;     ///< most in flight at a time
};

/// How many attempts an agent bears at a time, by the gradient of its latency (gradient2): the
/// limit is multiplied by how much faster a quiet agent is than this one is now, and a little slack
/// is added, so that it grows while that costs nothing. An agent that serves k at a time settles at
/// about kTolerance · k + slack.
///
/// What a quiet agent takes, the baseline, is learnt only while less than half of the limit is in
/// use. Under load that lasts, an average of all windows would become what the load made of it, and
/// the limit would grow without end; instead the limit is lowered to a third for a moment twice a
/// minute, and what answers take then is the new baseline. It begins likewise, with the least that
/// is allowed.
///
/// A value without a clock; belongs to one thread. No window: no change.
class ConcurrencyLimit {
 public:
  static constexpr double kTolerance = 1.5;        ///< slower than that is queueing
  static constexpr double kLongShare = 2.0 / 601;  ///< an average over 600 windows
  static constexpr double kForget = 0.9;           ///< of a baseline twice the latency
  static constexpr Micros kRemeasure = std::chrono::seconds(30);
  static constexpr Micros kLongestMeasure = std::chrono::seconds(2);

  explicit ConcurrencyLimit(const ConcurrencyRules& rules)
      : rules_(rules), limit_(within(rules.initial)) {}

  /// Other bounds; what was learnt stays.
  void rules(const ConcurrencyRules& rules);

  /// A window has ended. Returns limit().
  unsigned on_window(const LatencyWindow& window, TimePoint now);

  /// How many may be in flight now; between `least` and `most`.
  unsigned limit() const;
  /// The same without the moments in which the baseline is measured.
  unsigned settled() const { return static_cast<unsigned>(limit_); }
  /// How long a quiet agent takes; nothing: not known yet.
  std::optional<Micros> baseline() const;

 private:
  double within(double limit) const;
  bool measuring() const { return long_ == 0 || measuring_since_; }
  void begin_measuring(TimePoint now);
  void measure(const LatencyWindow& window, TimePoint now);
  void learn(const LatencyWindow& window, TimePoint now);
  void adapt(const LatencyWindow& window);

  ConcurrencyRules rules_;
  double limit_;
  double long_ = 0;                           ///< µs; 0: no baseline yet
  std::optional<TimePoint> measuring_since_;  ///< a known baseline is measured anew
  unsigned quiet_windows_ = 0;                ///< since then, one after the other
  double fastest_ = 0;                        ///< µs, of these
  std::optional<TimePoint> learnt_;           ///< when the baseline was last fed
};

}  // namespace karmad
