#pragma once

#include <atomic>
#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "strategies/estimates/slow_start.hpp"
#include "strategies/mirror_view.hpp"
#include "strategies/time.hpp"

namespace karmad {

class AttemptInFlight;

/// The attempts in flight of one worker at one mirror, oldest first. Only that worker changes it.
class AttemptsInFlight {
 public:
  /// Counts the attempts of all workers at this mirror; once, before the first one is added.
  void count_in(std::atomic<std::uint32_t>& all) { all_ = &all; }
  void add(AttemptInFlight& attempt);
  /// When the oldest attempt began, in µs of the process's clock; 0: there is none. Any thread.
  std::int64_t oldest() const { return oldest_.load(std::memory_order_relaxed); }
  /// Calls unreachable() of each attempt; any of them may end, end others, and add new ones, which
  /// are not called.
  void interrupt();

 private:
  friend class AttemptInFlight;
  using Hook =
      boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;
  using List = boost::intrusive::list<AttemptInFlight, boost::intrusive::base_hook<Hook>,
                                      boost::intrusive::constant_time_size<false>>;
  void note_oldest();
  void removed();

  std::atomic<std::uint32_t>* all_ = nullptr;
  List list_;
  std::atomic<std::int64_t> oldest_{0};
};

/// An attempt that is in flight at a mirror, and is notified when pings find the mirror
/// unreachable. It stays in the list of one worker (MirrorSet::watch) until it is destroyed; adding
/// and removing cost a few stores.
class AttemptInFlight : public AttemptsInFlight::Hook {
 public:
  AttemptInFlight(std::size_t of, TimePoint began) : mirror(of), began_(began) {}
  AttemptInFlight& operator=(AttemptInFlight&&) = delete;

  /// A ping of the mirror timed out. May end and destroy the attempt.
  virtual void unreachable() = 0;

  const std::size_t mirror;  ///< its position in the set

 protected:
  ~AttemptInFlight() {
    unlink();
    if (in_ != nullptr) in_->removed();
  }

 private:
  friend class AttemptsInFlight;
  const TimePoint began_;
  AttemptsInFlight* in_ = nullptr;
};

inline void AttemptsInFlight::add(AttemptInFlight& attempt) {
  list_.push_back(attempt);
  attempt.in_ = this;
  if (all_ != nullptr) all_->fetch_add(1, std::memory_order_relaxed);
  note_oldest();
}

inline void AttemptsInFlight::removed() {
  if (all_ != nullptr) all_->fetch_sub(1, std::memory_order_relaxed);
  note_oldest();
}

inline void AttemptsInFlight::note_oldest() {
  oldest_.store(list_.empty() ? 0 : list_.front().began_.time_since_epoch().count(),
                std::memory_order_relaxed);
}

inline void AttemptsInFlight::interrupt() {
  List left;
  left.splice(left.end(), list_);
  while (!left.empty()) {
    auto& attempt = left.front();
    left.pop_front();
    list_.push_back(attempt);
    attempt.unreachable();
  }
  note_oldest();
}

/// What the searches at one mirror of a set show of it, for strategies that react at once: usual
/// duration, penalty of failures, age of the oldest attempt. Shared by all workers: relaxed atomics
/// on their own cache line. Two workers that change a number at the same time may lose one of the
/// changes, which is harmless: it is an average.
class alignas(64) MirrorSignals {
 public:
  /// A search was answered.
  void answered(TimePoint now, Micros took) noexcept;
  /// A search was ended after that time without an answer: it would have taken longer.
  void cut_off(TimePoint now, Micros after) noexcept;
  /// A search failed. It costs what it took, and at least the 90 % quantile of the set. `in_a_row`:
  /// it is one of the failures in a row.
  void failed(Micros took, bool overload, bool in_a_row = true) noexcept;
  /// The mirror reported the part of its capacity that is in use.
  void reported_load(TimePoint now, double load) noexcept;

  /// Failed searches since the last answer. Pings do not count, unlike for errors in a row, nor
  /// does a search that timed out while others that were sent later were answered.
  std::uint32_t failures_in_a_row() const noexcept { return get(failures_in_a_row_); }
  /// The usual duration of a search in µs; 0: unknown. Without samples it fades to the typical one
  /// of the set, but only while no search of the set is in flight: so one after the other tries
  /// whether the mirror is still slow, until the samples agree, and meanwhile others see how slow
  /// it was.
  float latency() const noexcept {
    const auto faded = get(faded_);
    return faded > 0 && in_flight() == 0 ? faded : get(latency_);
  }
  float penalty() const noexcept { return get(penalty_); }
  /// Age of the oldest attempt of all workers at the last refresh, µs.
  float oldest() const noexcept { return get(oldest_); }
  /// When a search was last answered, or ended because it took too long, in µs of the process's
  /// clock.
  std::int64_t last_answer() const noexcept { return get(sampled_); }
  /// When a search was last answered.
  std::int64_t answered_at() const noexcept { return get(answered_at_); }
  /// Attempts of the set at this mirror. The agent's own count includes those of other tables.
  std::uint32_t in_flight() const noexcept { return get(in_flight_); }
  std::atomic<std::uint32_t>& in_flight_count() noexcept { return in_flight_; }
  float load() const noexcept { return get(load_); }
  /// The part of the weight that slow start leaves: 1 unless it is starting.
  float started() const noexcept { return get(started_); }
  bool starting() const noexcept { return get(starting_since_) != 0; }
  /// Whether a starting mirror has as many attempts in flight as its answers allow.
  bool at_starting_limit(std::uint32_t in_flight, const SlowStartRules& rules) const noexcept;

  /// Fills in the numbers of a pick, except the age of the oldest attempt. `typical`: the
  /// duration that an unknown mirror is taken to have.
  void show(MirrorView& view, float typical) const noexcept;

  /// What is worth keeping over a restart of the process.
  struct Memory {
    float latency = 0;
    float penalty = 0;
    float load = 0;
    std::uint32_t failures_in_a_row = 0;
    std::uint32_t answers_since_start = 0;
    std::optional<Micros> starting_for;  ///< none: it is not starting
    bool operator==(const Memory&) const = default;
  };
  Memory memory(TimePoint now) const noexcept;
  /// Restores it; before the workers run. Slow start continues where it was.
  void restore(const Memory& memory, TimePoint now) noexcept;

  // Worker 0 only, about ten times a second.

  /// The numbers that the set gives its mirrors.
  struct Refresh {
    TimePoint now{};
    Micros since_last{};
    float typical = 0;       ///< typical_duration() of the set, µs; 0: unknown
    float failure_cost = 0;  ///< 90 % quantile of its latencies, µs
    float oldest = 0;        ///< age of the oldest attempt of all workers, µs
  };
  /// Lets old knowledge fade: the duration of a mirror without samples approaches the typical
  /// one, the penalty 0, an old report of load counts no longer.
  void refresh(const Refresh& refresh, const SlowStartRules& rules) noexcept;
  /// Begins slow start, unless it is disabled.
  void start(TimePoint now, const SlowStartRules& rules) noexcept;

 private:
  template <class T>
  static T get(const std::atomic<T>& value) noexcept {
    return value.load(std::memory_order_relaxed);
  }
  template <class T>
  static void set(std::atomic<T>& value, T to) noexcept {
    value.store(to, std::memory_order_relaxed);
  }
  void add_sample(TimePoint now, float sample) noexcept;

  std::atomic<std::int64_t> sampled_{0};  // µs of the process's clock, as all times
  std::atomic<std::int64_t> answered_at_{0};
  std::atomic<std::int64_t> starting_since_{0};  // 0: it is not starting
  std::atomic<std::uint32_t> in_flight_{0};
  std::atomic<float> latency_{0};
  std::atomic<float> faded_{0};  // 0: the samples are new
  std::atomic<float> penalty_{0};
  std::atomic<float> oldest_{0};
  std::atomic<float> load_{0};
  std::atomic<float> failure_cost_{0};
  std::atomic<float> started_{1};
  std::atomic<std::uint32_t> failures_in_a_row_{0};
  std::atomic<std::uint32_t> answers_since_start_{0};
  std::atomic<std::int64_t> load_at_{0};  // rarely used, so it may be on the next line
};

}  // namespace karmad
