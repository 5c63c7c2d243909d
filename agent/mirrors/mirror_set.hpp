#pragma once

#include <atomic>
#include <boost/container/static_vector.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/mirrors/agent.hpp"
#include "agent/mirrors/attempt_in_flight.hpp"
#include "agent/mirrors/former_places.hpp"
#include "agent/mirrors/state.hpp"
#include "agent/stats/latency_quantiles.hpp"
#include "agent/stats/load_baseline.hpp"
#include "agent/stats/period_latency.hpp"
#include "agent/transport/loop/loops.hpp"
#include "strategies/karma_weights.hpp"
#include "strategies/select.hpp"

namespace karmad {

class MirrorSet;

/// No check on demand sooner after the last ping than this (SD-004); for a barrier, which waits for
/// mirrors to catch up, than that (CO-074).
inline constexpr Micros kRecheck = 500ms;
inline constexpr Micros kBarrierRecheck = 5ms;

/// Who pings a mirror, as its set sees it. On worker 0.
class Pings {
 public:
  virtual ~Pings() = default;
  /// Pings at once, but not within `spacing` of the end of the last ping; void while one is under
  /// way (SD-004).
  virtual void check_now(Micros spacing) = 0;
  /// Breaks off the ping that is under way; no set is told of it (SD-020).
  virtual void break_off() = 0;
};

/// What queries of a shard have shown of one of its mirrors: it survives reloads.
struct MirrorRecord {
  MirrorRecord(unsigned workers, Micros period) : tally(workers), latency(workers, period) {}
  Tally tally;            ///< since the start
  PeriodLatency latency;  ///< what karma is made of
};

/// An agent as one of several holders of a shard. Numbers of a host belong to the agent; how fast
/// this shard's queries are there, and how much of them it gets, belongs to the mirror.
class Mirror {
 public:
  Mirror(std::shared_ptr<Agent> where, std::vector<std::string> names,
         std::shared_ptr<MirrorRecord> of_it, double factor = 1)
      : agent(std::move(where)),
        tables(std::move(names)),
        weight(factor),
        record(std::move(of_it)),
        tally(record->tally),
        latency(record->latency) {}
  Mirror(std::shared_ptr<Agent> where, std::vector<std::string> names, unsigned workers,
         Micros period)
      : Mirror(std::move(where), std::move(names),
               std::make_shared<MirrorRecord>(workers, period)) {}

  const std::shared_ptr<Agent> agent;
  const std::vector<std::string> tables;  ///< its own names of the table
  const double weight;                    ///< factor of its karma, from the configuration
  const std::shared_ptr<MirrorRecord> record;
  Tally& tally;  ///< of the record, as the next
  PeriodLatency& latency;
  double karma() const { return karma_.load(std::memory_order_relaxed); }

  /// An answer took this long, or at least this long: for the quantiles of its set. Called by the
  /// worker of that index only.
  void record_latency(unsigned worker, TimePoint now, Micros time) noexcept {
    if (of_set_ != nullptr) of_set_->add(worker, now, time);
  }

 private:
  friend class MirrorSet;
  LatencyQuantiles* of_set_ = nullptr;
  std::atomic<double> karma_{1.0};
  std::atomic<float> critical_{ErrorRates{}.critical};
  std::atomic<float> errors_{ErrorRates{}.errors};
};

/// Queries that wait, or waited, because all mirrors of a set that suit them were full. Any thread.
struct WaitQueue {
  std::atomic<std::uint32_t> waiting{0};
  std::atomic<std::uint64_t> waited{0};   ///< since the start
  std::atomic<std::uint64_t> refused{0};  ///< because too many waited already, or for too long
  std::atomic<std::uint64_t> micros{0};   ///< for which those that are done waited

  /// Its numbers at one moment.
  struct Status {
    std::uint32_t waiting = 0;
    std::uint64_t waited = 0;
    std::uint64_t refused = 0;
    Micros time{};
  };
  Status status() const;
};
void write(StatsWriter& out, const WaitQueue::Status& line);

/// What a worker knows of a mirror set: never changes, is replaced as a whole.
struct SetView {
  SetPicture picture;
  std::vector<MirrorState> mirrors;
  std::optional<std::size_t> primary;
  Candidates unreachable;  ///< the last ping got no connection or no answer in time
  bool mixed = false;      ///< some mirrors report roles, others none; the latter are not searched
};

/// How a mirror set chooses, and what it starts as.
struct SetOptions {
  std::unique_ptr<Strategy> strategy;
  std::string strategy_name;
  KarmaRules karma;
  Micros period{};
  unsigned workers = 1;
  SetSettings state;
  std::vector<Member> members;  ///< of the configuration; none: nothing is said of any mirror
  Selector selector;            ///< the application's, if it has one (SS-020)
  std::shared_ptr<const MirrorSet> before{};  ///< that stood there until a reload, if any
  FormerPlaces places{};                      ///< in that set; as many as there are mirrors
};

/// All mirrors of a shard, what is known of them, and the strategy that chooses among them. Picks
/// come from any worker; `refresh` and the state machine belong to worker 0, which posts what it
/// finds out to all workers.
class MirrorSet : public std::enable_shared_from_this<MirrorSet> {
 public:
  MirrorSet(std::vector<std::unique_ptr<Mirror>> mirrors, SetOptions options, const Loops& loops);

  std::size_t size() const { return mirrors_.size(); }
  Mirror& operator[](std::size_t i) const { return *mirrors_[i]; }
  const std::string& strategy_name() const { return options_.strategy_name; }

  /// The mirror to try, by everything that is known on this worker (select.hpp). Nothing when none
  /// suits the need of the criteria. No allocation, no lock.
  std::optional<Pick> pick(const SelectionCriteria& criteria, unsigned worker,
                           RandomSource& random) const;
  /// The same, drawn by the strategy's shares and not by turn (select_by_share()).
  std::optional<Pick> pick_by_share(const SelectionCriteria& criteria, unsigned worker,
                                    RandomSource& random) const;
  /// What pick() would choose from.
  Candidates acceptable(const SelectionCriteria& criteria, unsigned worker) const;

  /// Has the attempt told when pings find that its mirror cannot be reached; on that worker, until
  /// it goes.
  void watch(AttemptInFlight& attempt, unsigned worker) {
    slots_[worker].attempts.push_back(attempt);
  }

  /// What this worker knows; replaced by the next news.
  const std::shared_ptr<const SetView>& view(unsigned worker) const { return slots_[worker].view; }

  /// Waits, on this worker, until there is news of any mirror, until `until`, or until a stop is
  /// requested. Have the set checked before: check_now(). With `for_slot` also until that got a
  /// slot.
  Task<void> news(Loop& loop, TimePoint until, Stop& stop, SlotWaiter* for_slot = nullptr);
  /// Has every mirror pinged at once, or as soon as SD-004 allows; from any thread (SS-128).
  void check_now();
  /// The same for a barrier: its pings may follow each other as fast as it looks (CO-073, CO-074).
  void check_generations();
  /// Something other than the picture has changed: wakes all that wait for news, on every worker.
  /// From any thread.
  void stir();
  bool closed(unsigned worker) const { return slots_[worker].closed; }
  bool pinged() const { return options_.state.pinged; }
  /// An error was met at a mirror; from any thread (SD-020 …).
  void on_error(std::size_t mirror, UseError error, TimePoint now);

  // Worker 0 only: what pings find out, and who pings.
  void ping_answered(std::size_t mirror, Description told, Micros trip, TimePoint now);
  /// True when it shall be pinged once more at once (SD-008).
  bool ping_failed(std::size_t mirror, PingFailure failure, std::string why, TimePoint now);
  void pinger(std::size_t mirror, std::weak_ptr<Pings> by) { pingers_[mirror] = std::move(by); }
  /// What pings told of mirrors that were in the set before goes over to this one. Once, before it
  /// is in use.
  void take_over();
  /// The set is not in use any more: its pings end, and waiting queries are told. From worker 0.
  void close();

  /// Mirrors where no attempt may begin now (`max_in_flight`). A branch, where there are no limits.
  Candidates full() const;
  /// The limits of its agents have changed; from any thread.
  void look_at_limits();
  /// Those who wait because all are full, and how many may, with so many per slot.
  WaitQueue& line() { return line_; }
  const WaitQueue& line() const { return line_; }
  std::uint64_t longest_line(unsigned per_slot) const;
  const Loops& loops() const { return loops_; }

  /// The probability of each mirror to be the next query's first choice, as this worker sees it;
  /// all 0 when none suits.
  std::vector<double> shares(const SelectionCriteria& criteria, unsigned worker) const;

  /// Weights once a block, quantiles once a second, what `noerrors` looks at, the failure floor and
  /// the load each time: call about ten times a second.
  void refresh(TimePoint now);

  /// What a failed attempt counts for in the latency mean, at least (so that a failure never makes
  /// a mirror look fast).
  Micros failure_floor() const { return Micros{floor_.load(std::memory_order_relaxed)}; }

  /// How long this set's answers took in the last 30 to 60 s; at most a second old. Any thread.
  RecentLatency recent_latency() const { return latency_.get(); }
  /// How busy its mirrors are, those that are reachable. Any thread.
  SetLoad load() const;

 private:
  using Views = boost::container::static_vector<MirrorView, Candidates::kMost>;
  struct Waiter {
    AsyncEvent signal;
    std::uint64_t seen = 0;  ///< the news it was woken for last
  };
  /// One worker's share; touched by that worker alone.
  struct alignas(64) Slot {
    std::shared_ptr<const SetView> view;
    std::uint64_t news = 0;
    bool closed = false;
    std::vector<Waiter*> waiting;
    AttemptsInFlight attempts;
  };

  void take_over_karma();
  MirrorViews fill(Views& views) const;
  SelectionCriteria with_selector(SelectionCriteria criteria) const;
  void publish(Candidates unreachable = {});
  void take_generation(std::size_t mirror);
  void show(unsigned worker, std::shared_ptr<const SetView> view);
  void wake(Slot& slot);
  static void interrupt(Slot& slot, Candidates mirrors);
  void apply(const Effects& effects);
  void refresh_load(TimePoint now);

  std::vector<std::unique_ptr<Mirror>> mirrors_;
  SetOptions options_;
  const std::shared_ptr<LatencyQuantiles> latencies_;  ///< the mirrors write to it
  const Loops& loops_;
  std::atomic<bool> limited_{false};
  WaitQueue line_;
  SetState state_;                             ///< worker 0's
  std::vector<std::weak_ptr<Pings>> pingers_;  ///< worker 0's
  std::vector<Slot> slots_;
  std::atomic<bool> check_posted_{false};
  std::atomic<bool> barrier_posted_{false};
  std::int64_t block_ = -1;  ///< the block that was current at the last refresh
  std::atomic<std::int64_t> floor_{0};
  std::optional<TimePoint> latency_at_;  ///< of the last look at the quantiles
  PublishedLatency latency_;
  LoadBaseline usual_;  ///< worker 0's
  std::atomic<std::uint32_t> typical_load_{0};
  std::atomic<double> usual_load_{-1};  ///< negative: not known yet
};

}  // namespace karmad
