#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "agent/stats/histogram.hpp"
#include "balancer/simulate/scenario/scenario.hpp"
#include "balancer/simulate/simulation_result.hpp"
#include "strategies/time.hpp"

namespace karmad::simulate {

/// Measures how soon a strategy reacts to the first and to the last change of the mirrors: the part
/// of the attempts that the changed mirrors get, in short periods. A period has about 64 attempts
/// per mirror, so that chance does not look like a reaction. A change of whole sets has no
/// reaction.
class ReactionTimes {
 public:
  ReactionTimes(const Scenario& scenario, const SetLayout& layout, TimePoint begin);

  void attempt_sent(unsigned mirror, TimePoint now) {
    if (!measured_) return;
    count(first_, mirror, now);
    count(last_, mirror, now);
  }
  /// Negative: never, or there is no such change.
  Micros noticed() const;
  Micros recovered() const;

 private:
  struct Period {
    std::uint32_t all = 0;
    std::uint32_t changed = 0;
  };
  /// Attempts before a change and in the periods after it.
  struct Change {
    TimePoint from{};
    TimePoint until{};
    unsigned first = 0;  ///< the changed mirrors …
    unsigned last = 0;   ///< … and one after them
    unsigned begin = 0;  ///< all mirrors of their sets …
    unsigned end = 0;    ///< … likewise
    Period before;
    std::vector<Period> periods;
  };

  void start(Change& change, const MirrorChange& of, const SetLayout& layout, TimePoint begin,
             TimePoint until);
  void count(Change& change, unsigned mirror, TimePoint now) const;
  template <class Reached>
  Micros time_until(const Change& change, Reached reached) const;

  bool measured_ = false;
  bool changes_back_ = false;
  Micros period_{1};
  Change first_;
  Change last_;
};

/// Number of intervals of a result.
inline constexpr std::size_t kIntervals = 100;
/// Most mirrors of a result's intervals.
inline constexpr std::size_t kReportedMirrors = 64;

/// Most news of a result.
inline constexpr std::size_t kMostNews = 10'000;

/// Collects what happens in one simulation. Only requests that arrive during the measurement count,
/// and attempts that are sent during it.
class Recorder {
 public:
  /// The kinds of attempts that the result counts.
  enum class Reason : std::uint8_t { initial, retry, hedge };

  Recorder(const Scenario& scenario, const SetLayout& layout, TimePoint begin);

  void attempt_sent(unsigned mirror, Reason reason, TimePoint now);
  void attempt_ended(unsigned mirror) { --mirrors_[mirror].in_flight; }
  void request_ended(TimePoint arrived, bool answered, TimePoint now);
  /// The first master has told this of a mirror; its time is set here.
  void told(MirrorNews news, TimePoint now);
  /// Everything up to `now` has happened. Call it before events after the end of an interval.
  void advance(TimePoint now) {
    while (now >= next_interval_) close_interval();
  }

  /// The result; its scenario, strategy and regret are left empty.
  Result result();

 private:
  struct MirrorCounts {
    std::uint64_t attempts = 0;
    std::uint64_t in_interval = 0;
    std::uint32_t in_flight = 0;
    unsigned set = 0;
  };
  using Histogram = std::array<std::uint64_t, kLatencyBuckets>;

  void close_interval();
  bool is_measured(TimePoint at) const { return at >= begin_ && at < end_; }
  double skew() const;

  const SetLayout layout_;
  const TimePoint begin_;
  const TimePoint end_;
  const Micros interval_;
  const Micros slo_;
  const double seconds_;
  TimePoint next_interval_;
  std::size_t open_ = 0;  ///< the interval that attempts belong to
  std::vector<std::array<std::uint32_t, kLatencyBuckets>> latencies_;  ///< of intervals
  std::vector<MirrorCounts> mirrors_;
  std::vector<std::uint64_t> of_sets_;  ///< attempts in the open interval
  ReactionTimes reaction_;
  std::uint64_t good_ = 0;
  Result result_;
};

}  // namespace karmad::simulate
