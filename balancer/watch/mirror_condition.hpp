#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/stats/mirror_latency.hpp"
#include "config/settings/settings.hpp"
#include "config/text/enum_names.hpp"
#include "strategies/time.hpp"

namespace karmad {

/// How much longer the last answers of a mirror took than those of its peers at the same time.
struct Slowness {
  std::size_t answers = 0;  ///< of the mirror, that were compared
  Micros mean{};
  Micros peers_mean{};
  std::optional<Micros> p95;  ///< with at least twenty answers of both sides; so is the next
  std::optional<Micros> peers_p95;
  Micros age{};  ///< of its newest answer
};

/// A mirror is slow if the mean or the median of its last answers is above twice that of its peers
/// and 5 ms longer, and if an equal mirror would be so slow at most once in a million comparisons.
/// It stays slow above 1.5 times, while an equal mirror would be so slow once in a hundred, and
/// ends to be slow when it has not answered for a minute.
inline constexpr double kSlowFactor = 2;
inline constexpr double kStillSlowFactor = 1.5;
inline constexpr Micros kSlowLead = std::chrono::milliseconds(5);
inline constexpr double kFalseAlarm = 1e-6;
inline constexpr double kStillSlowChance = 0.01;
inline constexpr Micros kPastSlowness = std::chrono::minutes(1);
/// The answers of the last four or ten seconds are compared, or the last 3, 5 or 8 over at least
/// two seconds: a pause of a moment is not slowness.
inline constexpr Micros kComparedTime = std::chrono::seconds(4);
inline constexpr Micros kLongTime = std::chrono::seconds(10);
inline constexpr Micros kLeastTime = std::chrono::seconds(2);
/// How far back the answers of peers show what is usual.
inline constexpr Micros kUsualTime = std::chrono::minutes(5);

/// The chance, or a little more, that `own` are so long if they come from the same distribution as
/// `usual`, whatever it is: 0 to 1. Pure; sorts `usual`.
///
/// Each answer has the part of `usual` that took at least as long. Of an equal mirror these parts
/// are spread evenly over 0 to 1, so the product of n of them has a known distribution (R. A.
/// Fisher, Statistical Methods for Research Workers, 1925, section 21.1), and so has the sum of a
/// few (P. Hall, J. O. Irwin, Biometrika 19, 1927). The smaller chance counts, twice, because two
/// were tried. `usual` is a sample as well: the logarithm is divided by 1 + n / m, by which it
/// makes the variance of the sum larger.
double chance_of_equal(std::span<const Micros> own, std::vector<Micros>& usual);

/// What the last answers of a mirror take.
struct TypicalTime {
  Micros mean{};
  Micros median{};
};

/// Of the answers of kComparedTime, and of eight at least if there are so many; the newest first.
/// Nothing without answers.
std::optional<TypicalTime> typical_time(std::span<const RecentAnswer> answers);

/// The lower median of the mean times of mirrors.
std::optional<Micros> usual_time(std::span<const TypicalTime> mirrors);

/// A quick look, because slowness() takes long in a large set: false if slowness() of a mirror that
/// was not slow is hardly possible.
bool may_be_slow(const TypicalTime& own, std::span<const TypicalTime> peers);

/// The slowness of a mirror with these answers, the newest first; nothing if it is not slow.
/// `peers`: the answers of each other mirror that works. `was`: it was slow until now. Pure.
std::optional<Slowness> slowness(std::span<const RecentAnswer> own,
                                 std::span<const std::span<const RecentAnswer>> peers, bool was);

/// Attempts of one mirror.
struct RecentWork {
  std::uint64_t attempts = 0;  ///< started
  std::uint64_t failures = 0;  ///< ended in an error of the mirror
  std::uint64_t queries = 0;   ///< answered
  std::uint64_t connects = 0;
  Micros connect_time{};

  RecentWork operator-(const RecentWork& other) const {
    return {attempts - other.attempts, failures - other.failures, queries - other.queries,
            connects - other.connects, connect_time - other.connect_time};
  }
  std::optional<Micros> mean_connect() const { return mean_time(connect_time, connects); }
};

/// The work of the last seconds, from sums since the start that are sampled at equal intervals.
class WorkWindow {
 public:
  static constexpr std::size_t kSamples = 20;  ///< 10 s at two samples per second
  static constexpr std::size_t kFewest = 4;
  static constexpr std::size_t kSecond = 2;
  static constexpr std::uint64_t kEnough = 20;

  void add(const RecentWork& since_start) {
    samples_[added_ % samples_.size()] = since_start;
    ++added_;
  }

  /// The work of the last 2 s.
  RecentWork latest() const { return since(kFewest); }
  /// The work of the last 10 s.
  RecentWork longest() const { return since(kSamples); }
  /// The work of the last second; nothing before it was watched for so long.
  RecentWork last_second() const { return added_ > kSecond ? since(kSecond) : RecentWork(); }

  /// The work of the last 2 s; with fewer than 20 attempts in them, of up to 10 s.
  RecentWork recent() const {
    auto work = longest();
    if (work.attempts == 0) return work;
    for (std::size_t back = 1; back < std::min(added_, samples_.size()); ++back) {
      work = at(0) - at(back);
      if (back >= kFewest && work.attempts >= kEnough) break;
    }
    return work;
  }

 private:
  RecentWork since(std::size_t samples) const {
    if (added_ < 2) return {};
    return at(0) - at(std::min(added_ - 1, samples));
  }
  const RecentWork& at(std::size_t back) const {
    return samples_[(added_ - 1 - back) % samples_.size()];
  }

  std::array<RecentWork, kSamples + 1> samples_;
  std::size_t added_ = 0;
};

/// A time in which searches at a mirror fail, found from sums that are sampled twice a second.
/// Pings do not count: a mirror may answer them and fail every search.
///
/// It begins when the last three searches failed, or a fifth of at least five recent ones and two.
/// It ends when so many searches in a row were answered that a mirror that fails as many as this
/// one did would do that once in ten thousand times; of a mirror that failed every search, three.
/// It ends too when a ping is answered by a mirror that could not be reached.
class FailureSpell {
 public:
  static constexpr std::uint32_t kInARow = 3;
  static constexpr std::uint64_t kFewAttempts = 5;
  static constexpr double kFailingShare = 0.2;
  static constexpr double kChance = 1e-4;
  static constexpr std::uint32_t kLasting = 10;  ///< 5 s

  /// The last searches, in their order.
  struct LastSearches {
    std::uint32_t failed_in_a_row = 0;    ///< since the last answer
    std::uint32_t answered_in_a_row = 0;  ///< since the last failure, or fewer
    bool reached = false;                 ///< the last one got no connection, but then a ping did
  };
  /// `since_start`: the sums; `recent`: WorkWindow::recent().
  void observe(const RecentWork& since_start, const RecentWork& recent, const LastSearches& last);

  bool goes_on() const { return goes_on_; }
  std::uint32_t in_a_row() const { return in_a_row_; }
  /// The last search failed, and none was answered for kLasting samples: a strategy that avoids the
  /// mirror for that may never ask it for a third time.
  bool lasts() const { return samples_ >= kLasting; }
  /// Answers since the last failure.
  std::uint64_t answers() const { return answers_; }

 private:
  std::uint64_t answers_that_end_it() const;

  bool goes_on_ = false;
  std::uint32_t in_a_row_ = 0;
  std::uint32_t samples_ = 0;  ///< with failures in a row, the last ones
  std::uint64_t answers_ = 0;
  RecentWork last_;  ///< sums at the last sample
  // Of this spell:
  std::uint64_t failed_ = 0;
  std::uint64_t ended_ = 0;
};

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
  untrusted,     ///< its certificate is not accepted (`agent_tls`)
  dead,          ///< more than `dead_after` errors in a row, or cannot be reached
};
inline constexpr auto kConditionNames = enumerators<MirrorCondition>();
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

/// The searches of a mirror and their times, beside those of the other mirrors.
struct WorkSigns {
  std::uint32_t in_flight = 0;
  RecentWork recent;                 ///< WorkWindow::recent()
  RecentWork last_second;            ///< WorkWindow::last_second()
  std::optional<Slowness> slowness;  ///< nothing: it is not slow
  std::optional<Micros> peers_mean;  ///< median of the mean times of the other mirrors
  std::optional<Micros> ping;        ///< smoothed round trip of its pings
};

/// How many of the latest attempts of its set a mirror got.
struct ShareSigns {
  std::string strategy = {};   ///< of its set
  double part = 0;             ///< 0 to 1
  std::size_t mirrors = 1;     ///< size of its set
  std::uint64_t attempts = 0;  ///< the latest ones of the set
};

/// What is known of a mirror at one moment.
struct MirrorSigns {
  ServiceState service = ServiceState::ready;
  bool answered = false;                  ///< has ever answered
  std::optional<std::string> unresolved;  ///< why its name has no address
  bool untrusted = false;                 ///< Destination::untrusted
  bool down = false;                      ///< is_down()
  bool silent = false;                    ///< a search timed out, and none was answered since
  FailureSpell failures;                  ///< of its searches
  bool tripped = false;                   ///< by the breaker of its shard
  std::optional<std::string> ejected;     ///< why it is ejected, and for how long
  bool panic = false;                     ///< ejections do not count: too few mirrors are left
  double started = 1;                     ///< part of its weight in slow start; 1: it has started
  bool unreachable = false;               ///< its last ping got no connection or timed out
  std::uint32_t errors_in_a_row = 0;      ///< of its agent; an answered ping ends them
  std::string last_error;
  std::string
      unsuitable;     ///< why it is unsuitable for a search without read preference; else empty
  bool lags = false;  ///< it is unsuitable because it is too far behind
  bool full = false;
  WorkSigns work;
  ShareSigns share;
};

struct Diagnosis {
  MirrorCondition condition = MirrorCondition::unknown;
  std::string reason;      ///< part of a sentence; empty if it is ready
  bool is_certain = true;  ///< false: it may be chance, and counts when it lasts
};

/// A mirror is failing too if at least five attempts were started in the last second and as many
/// are in flight, none has ended, and its peers need less than a quarter of that time.
inline constexpr std::uint64_t kFewAttempts = 5;
inline constexpr Micros kSilence = std::chrono::seconds(1);
/// Slowness is told in the past tense when no search was answered for so long.
inline constexpr Micros kPast = std::chrono::seconds(10);

/// The condition of a mirror with these signs. Pure.
Diagnosis diagnose(const MirrorSigns& signs);

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
/// `2 of 3 mirrors ready`, or `no mirror can be asked`.
std::string text(const SetCount& count);

/// The condition of one mirror over time, so that it changes seldom while the mirror changes often.
///
/// A worse condition counts at once, but `failing` and `slow` when they have lasted for kSettle: by
/// then a mirror that was killed is dead. So does `dead` if the mirror can be reached: a few errors
/// in a row may be chance. A better one counts when it has lasted for kSettle, or for kStillSick if
/// the mirror is still in trouble: errors in a row end with each answered ping. If a mirror fails
/// or is slow again within a minute, it must be well for a minute. What the operator takes out or
/// brings back changes at once.
class ConditionTrack {
 public:
  static constexpr Micros kSettle = std::chrono::seconds(1);
  static constexpr Micros kStillSick = std::chrono::minutes(1);
  static constexpr Micros kRelapse = std::chrono::minutes(1);

  /// True if the condition has changed.
  bool observe(Diagnosis now, TimePoint at);

  const Diagnosis& current() const { return current_; }
  MirrorCondition before() const { return before_; }
  TimePoint since() const { return since_; }

 private:
  Micros settling_time(const Diagnosis& now) const;

  Diagnosis current_;
  MirrorCondition before_ = MirrorCondition::unknown;
  TimePoint since_{};
  bool relapsed_ = false;
  std::optional<TimePoint> well_at_;      ///< when its last trouble ended
  std::optional<TimePoint> worse_since_;  ///< than the current condition; so is the next
  std::optional<TimePoint> better_since_;
  std::optional<TimePoint> untroubled_since_;
};

}  // namespace karmad
