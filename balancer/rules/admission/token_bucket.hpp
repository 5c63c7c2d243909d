#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

#include "strategies/time.hpp"

namespace karmad {

/// How fast tokens come, and how many stay (AC-031): the rule of a bucket without a refilling
/// thread. The only state of such a bucket is the time at which it was empty (AC-030), a number of
/// microseconds on the master's clock. A bucket from which nothing was taken yet was empty
/// infinitely long ago, so it starts full. Pure; the default never limits.
struct BucketRule {
  double per_token = 0;                                    ///< microseconds
  double burst = std::numeric_limits<double>::infinity();  ///< until it is full; microseconds

  /// What is wrong with these two, if anything; to be asked before a rule is made of them.
  static std::optional<std::string_view> wrong(double per_second, double burst_seconds) {
    if (!(per_second > 0)) return "a rate must be more than 0";
    if (!(burst_seconds > 0)) return "a burst must be more than 0 seconds";
    return std::nullopt;
  }
  /// `per_second` tokens, of which those of `burst_seconds` stay. A product too large to be a
  /// number never limits.
  static BucketRule of(double per_second, double burst_seconds) {
    const BucketRule rule{.per_token = 1e6 / per_second, .burst = 1e6 * burst_seconds};
    return rule.limits() && std::isfinite(rule.capacity()) ? rule : BucketRule{};
  }

  static constexpr double kAlwaysFull = -std::numeric_limits<double>::infinity();

  bool limits() const { return std::isfinite(burst); }
  double capacity() const { return limits() ? burst / per_token : burst; }
  /// What taking `tokens` moves the time by.
  double price(double tokens) const { return tokens * per_token; }
  /// The time at which the bucket will have been empty once `tokens` were taken at `now`, whether
  /// they are there or not.
  double after(double empty_at, double tokens, double now) const {
    return std::max(empty_at, now - burst) + price(tokens);
  }
  /// Whether a bucket that was empty then owes nothing; what rounding adds is no debt.
  bool solvent(double empty_at, double now) const { return empty_at <= now + price(kRounding); }
  /// Tokens in the bucket; negative: what it owes.
  double balance(double empty_at, double now) const {
    return limits() ? std::min(burst, now - empty_at) / per_token : burst;
  }
  /// The time at which a bucket that has so many tokens was empty.
  double empty_at(double tokens, double now) const {
    return tokens < capacity() ? now - price(tokens) : kAlwaysFull;
  }

  static constexpr double kRounding = 0.01;  // tokens
};

/// A moment as the rules count it.
inline double in_micros(TimePoint at) {
  return static_cast<double>(at.time_since_epoch().count());
}
constexpr double kLongest = 1e15;  // 30 years
/// As long as that, rounded up to what the clock can show.
inline Micros as_long_as(double micros) {
  return Micros(static_cast<Micros::rep>(std::ceil(std::clamp(micros, 0.0, kLongest))));
}

/// The same cut to whole milliseconds; what is shorter than one is nothing (AC-034).
inline Micros whole_millis(double micros) {
  return std::chrono::milliseconds(
      static_cast<Micros::rep>(std::clamp(micros, 0.0, kLongest) / 1000));
}

}  // namespace karmad
