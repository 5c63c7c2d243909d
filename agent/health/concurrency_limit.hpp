#pragma once

#include <cstdint>
#include <optional>

#include "config/settings/settings.hpp"
#include "strategies/time.hpp"

namespace karmad {

/// Settings of `max_in_flight = auto`.
struct ConcurrencyRules {
  unsigned least = kDefaultSettings.max_in_flight_min.value;
  unsigned most = kDefaultSettings.max_in_flight_max.value;
  unsigned initial = kDefaultSettings.max_in_flight_initial.value;  ///< once a baseline is known
  /// Added to the limit that the latency implies, so that the limit can grow.
  unsigned slack = kDefaultSettings.max_in_flight_slack.value;
  double smoothing = kDefaultSettings.max_in_flight_smoothing.value / 100.0;
  bool operator==(const ConcurrencyRules&) const = default;
};

/// The attempts at one agent that ended within one short window.
struct LatencyWindow {
  Micros mean{};              ///< mean latency of answered attempts
  std::uint32_t answers = 0;  ///< 0: `mean` has no meaning
  std::uint32_t dropped = 0;  ///< timed out, or refused as overload
  std::uint32_t peak = 0;     ///< most in flight at the same time
};

/// Limits the attempts in flight at an agent by the gradient of its latency (gradient2). The limit
/// is multiplied by baseline latency / current latency, and a slack is added, so that it grows
/// while the latency stays low. An agent that serves k attempts at a time ends at about kTolerance
/// · k + slack.
///
/// The baseline is the latency of an unloaded agent. It is learnt only while less than half of the
/// limit is in use: under lasting load an average would include the load, and the limit would grow
/// without end. Instead the limit falls to a third for a moment, twice a minute, and the latency
/// then is the new baseline. At first the limit is `least`, to measure the first one.
///
/// A value without a clock, for one thread. Without windows the limit stays.
class ConcurrencyLimit {
 public:
  static constexpr double kTolerance = 1.5;        ///< higher latency counts as queueing
  static constexpr double kLongShare = 2.0 / 601;  ///< an average over 600 windows
  static constexpr double kForget = 0.9;           ///< applied to a baseline of twice the latency
  static constexpr Micros kRemeasure = std::chrono::seconds(30);
  static constexpr Micros kLongestMeasure = std::chrono::seconds(2);

  explicit ConcurrencyLimit(const ConcurrencyRules& rules)
      : rules_(rules), limit_(within(rules.initial)) {}

  /// Changes the bounds; keeps what was learnt.
  void rules(const ConcurrencyRules& rules);

  /// What is worth keeping over a restart of the process.
  struct Learned {
    double limit = 0;
    Micros baseline{};  ///< 0: unknown
    bool operator==(const Learned&) const = default;
  };
  Learned learned() const { return {limit_, baseline().value_or(Micros{})}; }
  /// Restores it, within the bounds. The baseline is measured again as late as after a new one.
  void restore(const Learned& learned);

  /// A window has ended. Returns limit().
  unsigned on_window(const LatencyWindow& window, TimePoint now);

  /// The current limit, between `least` and `most`.
  unsigned limit() const;
  /// The same, without the reduction while the baseline is measured.
  unsigned settled() const { return static_cast<unsigned>(limit_); }
  /// Latency of an unloaded agent; nothing if unknown.
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
  std::optional<TimePoint> measuring_since_;  ///< start of a new measurement of the baseline
  unsigned quiet_windows_ = 0;                ///< consecutive quiet windows since then
  double fastest_ = 0;                        ///< lowest latency in them, µs
  std::optional<TimePoint> learnt_;           ///< when the baseline last changed
};

}  // namespace karmad
