#pragma once

#include <atomic>
#include <boost/container/static_vector.hpp>
#include <boost/smart_ptr/local_shared_ptr.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agent/health/former_places.hpp"
#include "agent/health/state.hpp"
#include "agent/mirrors/agent.hpp"
#include "agent/mirrors/mirror_signals.hpp"
#include "agent/stats/load_baseline.hpp"
#include "agent/stats/mirror_latency.hpp"
#include "agent/transport/loop/loop.hpp"
#include "strategies/estimates/karma_weights.hpp"
#include "strategies/select.hpp"

namespace karmad {

class MirrorSet;

/// Least time between the end of a ping and a check on demand (SD-004); the second is for a
/// barrier, which waits until mirrors have caught up (CO-074).
inline constexpr Micros kRecheck = 500ms;
inline constexpr Micros kBarrierRecheck = 5ms;
/// Without pings, a mirror that its strategy does not accept gets a search after this time, because
/// nothing else would show that it works again.
inline constexpr Micros kUnasked = 10s;

/// The pinger of a mirror, as its set uses it. Worker 0 only.
class Pings {
 public:
  virtual ~Pings() = default;
  /// Pings at once, but not within `spacing` of the end of the last ping. Ignored while a ping is
  /// in progress (SD-004).
  virtual void check_now(Micros spacing) = 0;
  /// Cancels the ping in progress without notifying any set (SD-020).
  virtual void break_off() = 0;
};

/// Statistics of one mirror from the queries of its shard; survives reloads.
struct MirrorRecord {
  MirrorRecord(unsigned workers, Micros period)
      : tally(workers), latency(workers, period), quantiles(workers), answers(workers) {}
  Tally tally;                 ///< since the start
  PeriodLatency latency;       ///< the input of karma
  LatencyQuantiles quantiles;  ///< the input of hedging
  RecentAnswers answers;       ///< to tell a slow mirror
  MirrorSignals signals;       ///< the input of strategies that react at once
};

/// An agent as one of several holders of a shard. Numbers of the host belong to the agent; latency
/// and share of this shard's queries belong to the mirror.
class Mirror {
 public:
  Mirror(std::shared_ptr<Agent> where, std::vector<std::string> names,
         std::shared_ptr<MirrorRecord> of_it, double factor = 1)
      : agent(std::move(where)),
        tables(std::move(names)),
        record(std::move(of_it)),
        tally(record->tally),
        latency(record->latency),
        signals(record->signals),
        weight_(factor) {}
  Mirror(std::shared_ptr<Agent> where, std::vector<std::string> names, unsigned workers,
         Micros period)
      : Mirror(std::move(where), std::move(names),
               std::make_shared<MirrorRecord>(workers, period)) {}

  const std::shared_ptr<Agent> agent;
  const std::vector<std::string> tables;  ///< the table's names at this mirror
  const std::shared_ptr<MirrorRecord> record;
  Tally& tally;  ///< of `record`; so are the next two
  PeriodLatency& latency;
  MirrorSignals& signals;
  double karma() const { return karma_.load(std::memory_order_relaxed); }
  /// From the configuration or the operator, without slow start.
  double weight() const { return weight_.load(std::memory_order_relaxed); }

 private:
  friend class MirrorSet;
  std::atomic<double> weight_;
  std::atomic<double> karma_{1.0};
  std::atomic<float> critical_{ErrorRates{}.critical};
  std::atomic<float> errors_{ErrorRates{}.errors};
};

/// What the configuration or the operator says of a mirror; changes without a new set.
struct MirrorService {
  ServiceState state = ServiceState::ready;
  double weight = 1;
};

/// The mirrors that the operator has taken out.
struct OutOfService {
  Candidates drained;  ///< get no new searches
  Candidates maint;    ///< get nothing

  Candidates all() const { return drained | maint; }
};

/// Counts the queries that waited because all suitable mirrors of a set were full. Any thread.
struct WaitQueue {
  std::atomic<std::uint32_t> waiting{0};
  std::atomic<std::uint64_t> waited{0};   ///< since the start
  std::atomic<std::uint64_t> refused{0};  ///< the queue was too long, or the wait
  std::atomic<std::uint64_t> micros{0};   ///< waiting time of all finished waits

  /// The numbers at one moment.
  struct Status {
    std::uint32_t waiting = 0;
    std::uint64_t waited = 0;
    std::uint64_t refused = 0;
    Micros time{};
  };
  Status status() const;
};
void write(StatsWriter& out, const WaitQueue::Status& line);

/// What is worth keeping of a mirror over a restart of the process.
struct MirrorLearnedState {
  double karma = 0;
  std::optional<Description> description;  ///< of a mirror that is known; else the next ping tells
  Micros trip{};                           ///< smoothed round trip of its pings
  MirrorSignals::Memory signals;
  LatencyCounts latencies{};  ///< recent ones
  bool operator==(const MirrorLearnedState&) const = default;
};

/// A worker's picture of a mirror set: immutable, replaced as a whole.
struct SetView {
  SetDescription picture;
  std::vector<MirrorState> mirrors;
  std::optional<std::size_t> primary;
  Candidates unreachable;  ///< at the last ping: no connection, or a timeout
  bool mixed = false;      ///< some mirrors report roles, others none; the latter are not searched
};

/// A view as one worker holds it, counted by that worker only and without locked instructions.
using ViewPtr = boost::local_shared_ptr<const SetView>;

/// Strategy and settings of a mirror set, and its initial state.
struct SetOptions {
  std::unique_ptr<Strategy> strategy;
  std::string strategy_name;
  KarmaRules karma;
  SlowStartRules slow_start{};
  std::uint32_t dead_after = kDefaultSettings.dead_after.value;  ///< more: it is dead
  Micros period{};
  unsigned workers = 1;
  SetSettings state;
  std::vector<Member> members;  ///< from the configuration; empty: no roles or tags configured
  Selector selector;            ///< of the application, if any (SS-020)
  std::shared_ptr<MirrorSet> before{};  ///< the set it replaces at a reload
  FormerPlaces places{};                ///< positions in `before`, one per mirror
};

/// The mirrors of a shard, their state, and the strategy that chooses among them. Picks run on any
/// worker; `refresh` and the state machine run on worker 0, which posts changes to all workers.
class MirrorSet : public std::enable_shared_from_this<MirrorSet> {
 public:
  MirrorSet(std::vector<std::unique_ptr<Mirror>> mirrors, SetOptions options, const Loops& loops);

  std::size_t size() const { return mirrors_.size(); }
  Mirror& operator[](std::size_t i) const { return *mirrors_[i]; }
  const std::string& strategy_name() const { return options_.strategy_name; }

  const Strategy& strategy() const { return *options_.strategy; }

  /// What a pick saw and decided: its steps, and the numbers of each mirror at that moment.
  struct PickRecord {
    PickSteps& steps;
    MirrorView* mirrors;  ///< gets size() of them
  };

  /// Chooses the mirror to try, from this worker's view (select.hpp). Nothing if none is suitable.
  /// No allocation, no lock. `record`: filled in, unless null.
  std::optional<Pick> pick(const SelectionCriteria& criteria, unsigned worker, RandomSource& random,
                           const PickRecord* record = nullptr) const;
  /// The mirrors that pick() would choose from.
  Candidates acceptable(const SelectionCriteria& criteria, unsigned worker,
                        const PickRecord* record = nullptr) const;

  /// Notifies the attempt when pings find its mirror unreachable; on that worker, until it is
  /// destroyed.
  void watch(AttemptInFlight& attempt, unsigned worker) {
    slots_[worker].attempts[attempt.mirror].add(attempt);
  }

  /// This worker's view; replaced at the next change.
  const ViewPtr& view(unsigned worker) const { return slots_[worker].view; }

  /// Waits on this worker until the view changes, until `until`, or until a stop is requested; with
  /// `for_slot` also until a slot is granted to it. Call check_now() first to have the set pinged.
  Task<void> news(Loop& loop, TimePoint until, Stop& stop, SlotWaiter* for_slot = nullptr);
  /// Pings every mirror at once, or as soon as SD-004 allows; from any thread (SS-128).
  void check_now();
  /// The same for a barrier, whose pings may follow each other faster (CO-073, CO-074).
  void check_generations();
  /// Wakes all waits in news(), on every worker, for a change that no view shows. Any thread.
  void wake_waiters();
  bool closed(unsigned worker) const { return slots_[worker].closed; }
  bool pinged() const { return options_.state.pinged; }
  /// Reports an error of a mirror; from any thread (SD-020 …).
  void on_error(std::size_t mirror, UseError error, TimePoint now);

  // Worker 0 only: results of pings, and the pingers.
  void ping_answered(std::size_t mirror, Description told, Micros trip, TimePoint now);
  /// True if the mirror must be pinged once more at once (SD-008).
  bool ping_failed(std::size_t mirror, PingFailure failure, std::string why, TimePoint now);
  void pinger(std::size_t mirror, std::weak_ptr<Pings> by) { pingers_[mirror] = std::move(by); }
  /// Takes over the state of mirrors that the former set had. Once, before the set is used.
  void take_over();
  /// What is known of a mirror. Worker 0 only.
  MirrorLearnedState memory(std::size_t mirror, TimePoint now) const;
  /// Restores what a former process knew: one entry per mirror, null for those it did not know.
  /// Known mirrors keep the proportions of their karma. After the constructor, before the workers
  /// run.
  void restore(std::span<const MirrorLearnedState* const> memories, TimePoint now);
  /// The set is no longer used: stops its pings and wakes waiting queries. From worker 0.
  void close();

  /// Mirrors at which no attempt may start now (`max_in_flight`). Costs a branch without limits.
  Candidates full() const;
  /// Mirrors without an attempt or a ping for kUnasked, or since the set was made.
  Candidates unasked(TimePoint now) const;
  /// Starting mirrors with as many attempts in flight as their few answers allow. Costs a load
  /// while no mirror is starting.
  Candidates at_starting_limit() const;
  /// Begins slow start of a mirror. Worker 0 only.
  void start_slowly(std::size_t mirror, TimePoint now);
  /// Applies weights and states, one per mirror; worker 0 only. A mirror that comes back from
  /// maintenance starts slowly. Wakes waiting queries if a state changes.
  void serve(std::span<const MirrorService> service, TimePoint now);
  /// Gives these mirrors an even share of karma, until the next period computes it anew. Worker 0.
  void reset_karma(Candidates mirrors);
  /// Any thread.
  OutOfService out_of_service() const {
    return {Candidates::from_bits(drained_.load(std::memory_order_relaxed)),
            Candidates::from_bits(maint_.load(std::memory_order_relaxed))};
  }
  /// Reads the limits of its agents after a change; from any thread.
  void read_limits();
  /// The queue of queries that wait because all mirrors are full, also those that still use the set
  /// that this one has replaced, and its bound for `per_slot`.
  WaitQueue& wait_queue() { return *queue_; }
  const WaitQueue& wait_queue() const { return *queue_; }
  std::uint64_t longest_queue(unsigned per_slot) const;
  const Loops& loops() const { return loops_; }

  /// For each mirror the probability to be the next query's first choice, by this worker's view;
  /// all 0 if none is suitable.
  std::vector<double> shares(const SelectionCriteria& criteria, unsigned worker) const;

  /// Updates weights once a block, quantiles once a second, and at each call the error sums of
  /// `noerrors`, the failure floor, the signals and the load. Call about ten times a second.
  void refresh(TimePoint now);
  /// Whether a set that is not asked needs a refresh: attempts were in flight at the last one, or
  /// two seconds or a block have passed since. Worker 0 only; so is the next.
  bool refresh_is_due(TimePoint now) const;
  /// Whether an attempt has started since the last refresh.
  bool is_asked() const;

  /// The lowest latency a failed attempt counts as, so that failures never make a mirror look fast.
  Micros failure_floor() const { return Micros{floor_.load(std::memory_order_relaxed)}; }

  /// Latencies in the last 30 to 60 s of the mirrors that are not slow; at most a second old. Any
  /// thread.
  RecentLatency recent_latency() const { return latency_.get(); }
  /// The load of its reachable mirrors. Any thread.
  SetLoad load() const;

 private:
  using Views = boost::container::static_vector<MirrorView, Candidates::kMost>;
  struct Waiter {
    AsyncEvent signal;
    std::uint64_t seen = 0;  ///< number of the change it was last woken for
  };
  /// One worker's part; used by that worker only.
  struct alignas(64) Slot {
    ViewPtr view;
    std::uint64_t news = 0;
    bool closed = false;
    std::vector<Waiter*> waiting;
    std::vector<AttemptsInFlight> attempts;  ///< by mirror
  };

  void take_over_karma();
  MirrorViews fill(Views& views, TimePoint at, unsigned worker,
                   const PickRecord* record = nullptr) const;
  SelectionCriteria with_selector(SelectionCriteria criteria) const;
  void publish(Candidates unreachable = {});
  void take_generation(std::size_t mirror);
  /// Runs `job(slot)` on each worker.
  template <class Job>
  void on_workers(Job job);
  static void show(Slot& slot, std::shared_ptr<const SetView> view);
  static void wake(Slot& slot);
  void apply(const Effects& effects);
  void refresh_load(TimePoint now);
  void refresh_signals(TimePoint now);
  void refresh_latency(TimePoint now);
  void refresh_karma(TimePoint now);
  std::int64_t oldest_attempt(std::size_t mirror) const;
  std::uint64_t attempts() const;

  std::vector<std::unique_ptr<Mirror>> mirrors_;
  SetOptions options_;
  const Loops& loops_;
  std::atomic<bool> limited_{false};
  std::atomic<std::uint64_t> drained_{0};  ///< bits of mirrors
  std::atomic<std::uint64_t> maint_{0};
  std::shared_ptr<WaitQueue> queue_ = std::make_shared<WaitQueue>();
  bool queue_passed_on_ = false;               ///< worker 0 only
  SetState state_;                             ///< worker 0 only
  std::vector<std::weak_ptr<Pings>> pingers_;  ///< worker 0 only
  std::vector<Slot> slots_;
  std::atomic<bool> check_posted_{false};
  std::atomic<bool> barrier_posted_{false};
  std::int64_t block_ = -1;  ///< the block at the last refresh
  std::atomic<std::int64_t> floor_{0};
  std::optional<TimePoint> latency_at_;     ///< when the quantiles were last computed
  std::optional<TimePoint> refreshed_at_;   ///< when the signals were last refreshed
  std::uint64_t refreshed_attempts_ = 0;    ///< attempts() then
  bool refreshed_in_flight_ = false;        ///< whether an attempt was in flight then
  Candidates absent_;                       ///< dead or unreachable then, or new; worker 0 only
  float failure_cost_ = 0;                  ///< worker 0 only
  std::atomic<float> typical_duration_{0};  ///< typical_duration(), µs
  std::atomic<bool> any_starting_{false};
  std::atomic<std::int64_t> made_{0};  ///< the first refresh, in µs of the process's clock
  PublishedLatency latency_;
  LoadBaseline usual_;  ///< worker 0 only
  std::atomic<std::uint32_t> typical_load_{0};
  std::atomic<double> usual_load_{-1};  ///< negative: unknown
};

/// One query's wait for a slot at any of its suitable mirrors. The destructor leaves the queues; a
/// slot that was granted but not taken goes to the next waiter. One worker's thread only.
class QueuedWait {
 public:
  QueuedWait(MirrorSet& set, unsigned worker) : set_(set), worker_(worker) {}
  QueuedWait& operator=(QueuedWait&&) = delete;
  ~QueuedWait() { leave(); }

  /// Sets the mirrors to wait for; the place in the queues is kept if they are unchanged.
  void wants(Candidates mirrors);
  /// The waiter that MirrorSet::news() must wake.
  SlotWaiter* waiter() const { return waiter_.get(); }

  struct Got {
    std::size_t mirror;
    AgentSlot slot;
  };
  /// The granted slot, once; the wait then has left all queues.
  std::optional<Got> take();

 private:
  void leave() { take(); }

  MirrorSet& set_;
  const unsigned worker_;
  Candidates wanted_;
  std::shared_ptr<SlotWaiter> waiter_;
};

}  // namespace karmad
