#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "agent/stats/histogram.hpp"
#include "balancer/rules/retry_plan.hpp"
#include "balancer/simulate/scenario/scenario.hpp"
#include "strategies/time.hpp"

namespace karmad::simulate {

/// Latencies of simulated requests. Exact to 3.2 % (the buckets of agent/stats/histogram.hpp).
struct Latency {
  Micros p50{};
  Micros p90{};
  Micros p99{};
  Micros p999{};
  Micros longest{};
  bool operator==(const Latency&) const = default;
};

/// One mirror in one interval of a simulation.
struct MirrorInterval {
  std::uint64_t attempts = 0;   ///< that reached it, hedges and retries included
  std::uint32_t in_flight = 0;  ///< at the end of the interval, over all masters
  double share = 0;             ///< of the attempts of its set in this interval: 0 to 1
  bool operator==(const MirrorInterval&) const = default;
};

/// All requests that arrived in one interval. Intervals follow each other without gaps.
struct Interval {
  Micros from{};  ///< since the start of the measurement
  std::uint64_t requests = 0;
  std::uint64_t errors = 0;
  Latency latency;                      ///< of answered requests
  std::vector<MirrorInterval> mirrors;  ///< at most the first 64 of the simulation
  bool operator==(const Interval&) const = default;
};

/// What karmad would have told the operator of a mirror: a log line, an event, a state on its
/// pages.
struct MirrorNews {
  Micros at{};          ///< since the start of the measurement
  unsigned mirror = 0;  ///< in the simulation, from 1
  std::string state;
  std::string former_state;
  std::string reason;
  bool operator==(const MirrorNews&) const = default;
};

/// The result of one scenario with one strategy.
struct Result {
  std::string scenario;
  std::string strategy;  ///< as given, or `oracle`
  std::uint64_t requests = 0;
  std::uint64_t answered = 0;
  std::uint64_t errors = 0;
  std::uint64_t attempts = 0;
  std::uint64_t hedges = 0;
  std::uint64_t retries = 0;
  Latency latency;     ///< of answered requests
  double goodput = 0;  ///< answers within the scenario's `slo` per second
  double skew = 0;     ///< busiest mirror's part of the work over an even part
  double extra = 0;    ///< hedges and retries per request
  /// From the first change of the scenario until the changed mirror's share has fallen below half
  /// of an even share, or, where it gains, reached it; negative: never, or there is no change.
  Micros noticed{-1};
  /// From the last change of the scenario until its share is at least three quarters of an even
  /// share again; negative: never, or there is no change, or the first one was not noticed.
  Micros recovered{-1};
  double regret = 0;  ///< p99 divided by that of the oracle; 0: unknown
  Micros interval{};  ///< length of each of `intervals`
  std::vector<Interval> intervals;
  std::vector<MirrorNews> news;  ///< of the first master; at most kMostNews
  bool operator==(const Result&) const = default;
};

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
  Recorder(const Scenario& scenario, const SetLayout& layout, TimePoint begin);

  void attempt_sent(unsigned mirror, AttemptReason reason, TimePoint now);
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
