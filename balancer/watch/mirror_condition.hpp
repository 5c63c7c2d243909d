#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "balancer/watch/recent_work.hpp"
#include "config/settings/settings.hpp"
#include "config/text/enum_names.hpp"

namespace karmad {

/// The state of a mirror as an operator sees it. A later value is worse.
enum class MirrorCondition : std::uint8_t {
  unknown,       ///< has not answered a ping or a query yet
  ready,         ///< gets its share of the queries
  starting,      ///< gets less than its share until its slow start ends
  full,          ///< has as many attempts in flight as its limit allows
  slow,          ///< answers much later than the other mirrors of its set
  unsuitable,    ///< its role or tags do not fit the table's read preference
  drain,         ///< the operator has taken it out: it gets no new searches
  maint,         ///< likewise: it gets nothing, not even pings
  lagging,       ///< a replica that is too far behind its primary
  failing,       ///< recent attempts or pings failed, or the last attempts, however long ago
  breaker_open,  ///< the breaker of its shard avoids it
  ejected,       ///< an outlier of its set (`outlier`)
  unresolved,    ///< its name has no address
  dead,          ///< more than `dead_after` errors in a row, or cannot be reached
};
inline constexpr auto kConditionNames =
    enum_names<MirrorCondition>({{MirrorCondition::unknown, "unknown"},
                                 {MirrorCondition::ready, "ready"},
                                 {MirrorCondition::starting, "starting"},
                                 {MirrorCondition::full, "full"},
                                 {MirrorCondition::slow, "slow"},
                                 {MirrorCondition::unsuitable, "unsuitable"},
                                 {MirrorCondition::drain, "drain"},
                                 {MirrorCondition::maint, "maint"},
                                 {MirrorCondition::lagging, "lagging"},
                                 {MirrorCondition::failing, "failing"},
                                 {MirrorCondition::breaker_open, "breaker_open"},
                                 {MirrorCondition::ejected, "ejected"},
                                 {MirrorCondition::unresolved, "unresolved"},
                                 {MirrorCondition::dead, "dead"}});
constexpr std::string_view name(MirrorCondition condition) {
  return kConditionNames[condition];
}

/// Whether a mirror in this condition can be asked. A shard without one has an outage.
constexpr bool can_be_asked(MirrorCondition condition) {
  return condition <= MirrorCondition::slow || condition == MirrorCondition::failing;
}

/// Whether the condition asks for an operator. `full` and `unsuitable` follow from settings.
constexpr bool is_trouble(MirrorCondition condition) {
  return condition == MirrorCondition::slow || condition >= MirrorCondition::lagging;
}

/// What is known of a mirror at one moment.
struct MirrorSigns {
  ServiceState service = ServiceState::ready;
  bool answered = false;                  ///< has ever answered
  std::optional<std::string> unresolved;  ///< why its name has no address
  bool down = false;                      ///< is_down()
  bool searches_fail = false;             ///< the last three, or all since one timed out
  bool tripped = false;                   ///< by the breaker of its shard
  std::optional<std::string> ejected;     ///< why it is ejected, and for how long
  bool panic = false;                     ///< ejections do not count: too few mirrors are left
  double started = 1;                     ///< part of its weight in slow start; 1: it has started
  bool unreachable = false;               ///< its last ping got no connection or timed out
  std::uint32_t errors_in_a_row = 0;
  std::string last_error;
  std::string
      unsuitable;     ///< why it is unsuitable for a search without read preference; else empty
  bool lags = false;  ///< it is unsuitable because it is too far behind
  bool full = false;
  std::uint32_t in_flight = 0;
  RecentWork recent;                  ///< recent(), or last_answers() of a slow mirror
  RecentWork latest;                  ///< WorkWindow::latest(), for its failures
  RecentWork last_second;             ///< WorkWindow::last_second()
  std::optional<Micros> peers_mean;   ///< median of the mean times of the other mirrors
  std::optional<Micros> ping;         ///< smoothed round trip of its pings
  std::optional<Micros> p95;          ///< of the last period; only read if it is slow
  std::optional<Micros> peers_p95;    ///< the median of the other mirrors'
  double share = 0;                   ///< its part of the latest attempts of its set: 0 to 1
  std::size_t mirrors = 1;            ///< size of its set
  std::uint64_t attempts_of_set = 0;  ///< the latest ones
};

struct Diagnosis {
  MirrorCondition condition = MirrorCondition::unknown;
  std::string reason;  ///< part of a sentence; empty if it is ready
};

/// A mirror is slow if its mean time is above three times that of its peers and 5 ms longer; it
/// stays slow above two times, and while it has no new answers.
inline constexpr double kSlowFactor = 3;
inline constexpr double kStillSlowFactor = 2;
inline constexpr Micros kSlowLead = std::chrono::milliseconds(5);
/// A mirror is failing if at least a fifth of at least five recent attempts failed.
inline constexpr double kFailingShare = 0.2;
inline constexpr std::uint64_t kFewAttempts = 5;
/// A mirror is failing too if at least five attempts were started in the last second and as many
/// are in flight, none has ended, and its peers need less than a quarter of that time.
inline constexpr Micros kSilence = std::chrono::seconds(1);

/// Whether a mirror with these mean times is slow (see kSlowFactor), which was in the condition
/// `before`. Pure.
bool is_slow(const MirrorSigns& signs, MirrorCondition before);

/// The condition of a mirror with these signs, which was in the condition `before`. Pure.
Diagnosis diagnose(const MirrorSigns& signs, MirrorCondition before);

/// The mirrors of a set, counted by what they can do.
struct SetCount {
  std::size_t ready = 0;
  std::size_t can_serve = 0;  ///< can_be_asked()
  std::size_t all = 0;

  void add(MirrorCondition condition) {
    ready += condition == MirrorCondition::ready ? 1 : 0;
    can_serve += can_be_asked(condition) ? 1 : 0;
    ++all;
  }
};
/// `2 of 3 mirrors are ready`, or `no mirror can be asked`.
std::string text(const SetCount& count);

/// The condition of one mirror over time: a worse one counts at once, a better one when it has
/// lasted for kSettle. So a mirror that changes all the time has at most one change per second to
/// the better.
class ConditionTrack {
 public:
  static constexpr Micros kSettle = std::chrono::seconds(1);

  /// True if the condition has changed.
  bool observe(Diagnosis now, TimePoint at);

  const Diagnosis& current() const { return current_; }
  MirrorCondition before() const { return before_; }
  TimePoint since() const { return since_; }

 private:
  Diagnosis current_;
  MirrorCondition before_ = MirrorCondition::unknown;
  TimePoint since_{};
  std::optional<TimePoint> better_since_;
};

}  // namespace karmad
