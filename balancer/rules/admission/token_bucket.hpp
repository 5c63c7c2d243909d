#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

#include "strategies/time.hpp"

namespace karmad {

/// Rate and capacity of a token bucket (AC-031) that needs no refilling thread. The only state of
/// such a bucket is the time at which it was empty (AC-030), in microseconds of the process's
/// clock. A new bucket was empty infinitely long ago, so it starts full. Pure; the default never
/// limits.
struct BucketRule {
  double per_token = 0;                                    ///< microseconds
  double burst = std::numeric_limits<double>::infinity();  ///< until it is full; microseconds

  /// Checks the parameters of of(): why they are invalid, if they are.
  static std::optional<std::string_view> wrong(double per_second, double burst_seconds) {
    if (!(per_second > 0)) return "a rate must be more than 0";
    if (!(burst_seconds > 0)) return "a burst must be more than 0 seconds";
    return std::nullopt;
  }
  /// A rule of `per_second` tokens with a capacity of `burst_seconds`. If the product is too large
  /// for a number, the rule never limits.
  static BucketRule of(double per_second, double burst_seconds) {
    const BucketRule rule{.per_token = 1e6 / per_second, .burst = 1e6 * burst_seconds};
    return rule.limits() && std::isfinite(rule.capacity()) ? rule : BucketRule{};
  }

  static constexpr double kAlwaysFull = -std::numeric_limits<double>::infinity();

  bool limits() const { return std::isfinite(burst); }
  double capacity() const { return limits() ? burst / per_token : burst; }
  /// How far taking `tokens` advances the time.
  double price(double tokens) const { return tokens * per_token; }
  /// The new empty time after taking `tokens` at `now`, which may exceed the balance.
  double after(double empty_at, double tokens, double now) const {
    return std::max(empty_at, now - burst) + price(tokens);
  }
  /// Whether the balance is not negative; rounding errors are tolerated.
  bool has_tokens(double empty_at, double now) const { return empty_at <= now + price(kRounding); }
  /// Tokens in the bucket; negative: its debt.
  double balance(double empty_at, double now) const {
    return limits() ? std::min(burst, now - empty_at) / per_token : burst;
  }
  /// The empty time of a bucket with that many tokens.
  double empty_at(double tokens, double now) const {
    return tokens < capacity() ? now - price(tokens) : kAlwaysFull;
  }

  static constexpr double kRounding = 0.01;  // tokens
};

/// A time as the rules use it.
inline double in_micros(TimePoint at) {
  return static_cast<double>(at.time_since_epoch().count());
}
constexpr double kLongest = 1e15;  // 30 years
/// The duration rounded up to the clock's resolution.
inline Micros as_long_as(double micros) {
  return Micros(static_cast<Micros::rep>(std::ceil(std::clamp(micros, 0.0, kLongest))));
}

/// The duration in whole milliseconds, rounded down (AC-034).
inline Micros whole_millis(double micros) {
  return std::chrono::milliseconds(
      static_cast<Micros::rep>(std::clamp(micros, 0.0, kLongest) / 1000));
}

}  // namespace karmad
