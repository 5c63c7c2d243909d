#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agent/health/former_places.hpp"
#include "config/settings/settings.hpp"
#include "strategies/candidates.hpp"
#include "strategies/random_source.hpp"
#include "strategies/time.hpp"

namespace karmad {

/// When a mirror is an outlier of its set, and how long it is ejected. The settings of the same
/// names.
struct OutlierRules {
  bool by_failures = true;
  bool by_latency = true;
  unsigned failures_in_a_row = kDefaultSettings.outlier_failures.value;
  unsigned failure_percent = kDefaultSettings.outlier_failure_percent.value;
  double latency_factor = kDefaultSettings.outlier_latency_factor.value;
  Micros time = kDefaultSettings.outlier_time.value;
  Micros longest_time = kDefaultSettings.outlier_longest_time.value;
  unsigned most_percent = kDefaultSettings.outlier_most_percent.value;
  unsigned panic_percent = kDefaultSettings.outlier_panic_percent.value;
  bool operator==(const OutlierRules&) const = default;
};

/// What is known of a mirror when outliers are looked for.
struct OutlierSigns {
  std::uint64_t attempts = 0;  ///< ended, since the start
  std::uint64_t failures = 0;  ///< of them
  std::uint32_t failures_in_a_row = 0;
  Micros duration{};       ///< usual duration of a search; 0: unknown
  bool usable = true;      ///< neither dead nor unreachable
  bool pinged = false;     ///< it is admitted again only after an answered ping
  TimePoint last_reply{};  ///< to a search or a ping
};

/// Most mirrors of a set that may be ejected: a whole number, and one always stays.
constexpr std::size_t most_ejected(std::size_t mirrors, unsigned percent) {
  const auto most = mirrors * percent / 100;
  return mirrors == 0 ? 0 : std::min(most, mirrors - 1);
}

/// Ejects mirrors that are much worse than their set, for any strategy, and admits them again after
/// a time that grows with each ejection. An ejected mirror is asked only if no other is suitable.
/// If too few mirrors are left, ejections do not count (panic). Decides by values. Any thread; what
/// a pick calls takes no lock.
class OutlierEjection {
 public:
  /// One mirror, for the status.
  struct State {
    bool ejected = false;
    unsigned times = 0;  ///< ejections that still lengthen the next one
    TimePoint until{};   ///< not admitted again before
    std::string reason;  ///< `8 failures in a row`
  };

  OutlierEjection(std::size_t mirrors, const OutlierRules& rules)
      : rules_(rules), mirrors_(mirrors) {}

  /// Takes over the states of mirrors that existed before. Call before it is used.
  void take_over(const OutlierEjection& before, const FormerPlaces& places);
  void continue_counts(const OutlierEjection& before) {
    ejections_ = before.ejections();
    panics_ = before.panics();
  }

  /// Restores the state that a mirror had in a former process. Before it is used.
  void restore(std::size_t mirror, State state, TimePoint now);

  /// Looks for outliers; about ten times a second. `signs`: one per mirror. Returns the mirrors
  /// that are admitted again now, for slow start.
  Candidates evaluate(TimePoint now, std::span<const OutlierSigns> signs, RandomSource& random);

  /// The mirrors to avoid; none in a panic. Two loads.
  Candidates avoided() const noexcept { return panic() ? Candidates() : ejected(); }
  Candidates ejected() const noexcept {
    return Candidates::from_bits(ejected_.load(std::memory_order_relaxed));
  }
  bool panic() const noexcept { return panic_.load(std::memory_order_relaxed); }
  /// Since the start.
  std::uint64_t ejections() const noexcept { return ejections_.load(std::memory_order_relaxed); }
  std::uint64_t panics() const noexcept { return panics_.load(std::memory_order_relaxed); }

  State of(std::size_t mirror) const {
    const std::scoped_lock lock(mutex_);
    return mirrors_[mirror].state;
  }

 private:
  struct Watched {
    State state;
    TimePoint admitted{};  ///< when it was last admitted again, or `times` was last reduced
    // The attempts since then are judged when there are enough of them.
    std::uint64_t attempts = 0;
    std::uint64_t failures = 0;
    TimePoint counted_since{};
    std::optional<TimePoint> slow_since;
  };

  std::optional<std::string> failing(Watched& mirror, const OutlierSigns& signs, TimePoint now);
  std::optional<std::string> slow(Watched& mirror, std::size_t number,
                                  std::span<const OutlierSigns> signs, TimePoint now) const;
  bool may_be_admitted(const Watched& mirror, const OutlierSigns& signs, TimePoint now) const;
  void eject(Watched& mirror, std::string reason, TimePoint now, RandomSource& random);
  void look_for_panic(Candidates ejected, std::span<const OutlierSigns> signs);

  const OutlierRules rules_;
  mutable std::mutex mutex_;  ///< for `mirrors_`: a reload reads it on another thread
  std::vector<Watched> mirrors_;
  std::atomic<std::uint64_t> ejected_{0};
  std::atomic<bool> panic_{false};
  std::atomic<std::uint64_t> ejections_{0};
  std::atomic<std::uint64_t> panics_{0};
};

}  // namespace karmad
