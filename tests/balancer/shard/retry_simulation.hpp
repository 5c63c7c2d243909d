#pragma once

#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "balancer/shard/shard_request.hpp"
#include "strategies/kinds/registry.hpp"

namespace karmad::testing {

using namespace std::chrono_literals;

/// What a simulated mirror does with an attempt. `hang`: it never answers, and pings are answered.
enum class Does { work, refuse, reset, say_500, say_429, fail_half, hang };

/// How the mirrors of a set differ, and which ones requests prefer. The default: a flat set.
struct SimulatedSet {
  std::string name = "flat";
  SetDescription picture;  ///< its mirrors; empty: as many routers as there are mirrors
  std::optional<ReadPreference> preference;
  std::vector<double> weights;  ///< empty: 1 each
};

/// The mirrors of a simulated shard. They have no pings and no limits.
class SimulatedMirrors final : public ShardMirrors {
 public:
  SimulatedMirrors(std::size_t count, std::string_view strategy, const SimulatedSet& set)
      : numbers(count), strategy_(make_strategy(strategy, {})) {
    known_.picture = set.picture;
    if (known_.picture.mirrors.empty()) {
      known_.picture.kind = SetKind::flat;
      known_.picture.mirrors.resize(count, {.role = Role::router});
    }
    for (std::size_t i = 0; i < set.weights.size(); ++i) {
      numbers[i].weight = set.weights[i];
      numbers[i].karma = set.weights[i];
    }
    for (std::size_t i = 0; i < count; ++i)
      if (known_.picture.mirrors[i].role == Role::primary) known_.primary = i;
    known_.mirrors.resize(count);
  }
  const SetView& view() const override { return known_; }
  std::string_view name(std::size_t) const override { return "mirror"; }
  std::string last_error(std::size_t) const override { return {}; }
  Candidates failing() const override {
    Candidates failing;
    for (std::size_t i = 0; i < numbers.size(); ++i)
      if (numbers[i].errors_in_a_row > 0) failing.insert(i);
    return failing;
  }
  std::optional<Pick> pick(const SelectionCriteria& criteria, RandomSource& random) const override {
    return select(criteria, known_.picture, numbers, *strategy_, random);
  }
  Candidates acceptable(const SelectionCriteria& criteria) const override {
    return karmad::acceptable(criteria, known_.picture, numbers, *strategy_);
  }
  bool pinged() const override { return false; }
  bool closed() const override { return false; }
  Candidates full() const override { return {}; }
  bool limited() const override { return false; }
  bool try_take_slot(std::size_t) override { return true; }
  WaitQueue& wait_queue() override { return queue_; }
  std::uint64_t longest_queue() const override { return 0; }
  RecentLatency recent_latency() const override { return {}; }
  bool loaded_for_hedging() const override { return false; }

  std::vector<MirrorView> numbers;

 private:
  std::unique_ptr<Strategy> strategy_;
  SetView known_;
  WaitQueue queue_;
};

/// Shards on a virtual clock: requests come at given times, attempts take a while, and each request
/// is driven by the machine of the server (ShardRequest). A query asks all shards, whose mirrors
/// fail in the same way; each counts as a request.
class RetrySimulation {
 public:
  struct Setup {
    std::string strategy = "random";
    RetrySettings retries;
    Micros answer_after = 5ms;  ///< and as long again at most, by chance
    std::uint64_t seed = 1;
    SimulatedSet set;
    std::size_t shards = 1;
    bool quorum = false;  ///< all answers have the same generation
    Hedging hedging;
    Micros query_timeout = 3s;
    unsigned timeout_steps = 0;
  };
  RetrySimulation(std::vector<Does> mirrors, Setup setup)
      : does_(std::move(mirrors)), setup_(std::move(setup)), random_(setup_.seed) {
    need_.preference = setup_.set.preference.value_or(ReadPreference{.mode = Mode::nearest});
    for (std::size_t i = 0; i < setup_.shards; ++i)
      shards_.push_back(std::make_unique<Shard>(*this));
    retry_rules_.overload_max_retries = 10;
    retry_rules_.timeout_steps = setup_.timeout_steps;
  }

  void request(Micros at) {
    requests += shards_.size();
    put(at, [this] {
      for (const auto& shard : shards_) begin(*shard);
    });
  }
  void change(Micros at, std::vector<Does> mirrors) {
    put(at, [this, mirrors] {
      does_ = mirrors;
      for (const auto& shard : shards_)
        for (const auto& mirror : shard->mirrors.numbers) at_change += mirror.in_flight;
    });
  }
  void run() {
    while (!events_.empty()) {
      const auto event = events_.top();
      events_.pop();
      now_ = event.at;
      event.happens();
    }
    stranded = requests - answered - failed;
  }
  /// Whether a mirror that works is one of those that the preference allows.
  bool can_be_answered() const { return !(allowed() & working()).empty(); }

  std::size_t requests = 0;
  std::size_t attempts = 0;
  std::size_t answered = 0;
  std::size_t lost = 0;       ///< without an answer, though a mirror that works was not tried
  std::size_t failed = 0;     ///< without an answer
  std::size_t stranded = 0;   ///< still waiting in the end
  std::size_t at_change = 0;  ///< attempts in flight when the mirrors changed
  Micros last_lost{};         ///< when a request was last lost
  std::vector<std::size_t> attempts_at = std::vector<std::size_t>(Candidates::kMost);

 private:
  struct Shard {
    explicit Shard(const RetrySimulation& in)
        : mirrors(in.does_.size(), in.setup_.strategy, in.setup_.set),
          protection(in.does_.size(), ProtectionRules{}),
          answered_at(in.does_.size()) {}
    SimulatedMirrors mirrors;
    Protection protection;
    std::vector<Micros> answered_at;
  };
  struct Attempt {
    std::size_t slot = 0;
    std::uint64_t number = 0;
    std::size_t mirror = 0;
    Does does = Does::work;
    Micros at{};
  };
  struct Request {
    explicit Request(Shard& in) : shard(in) {}
    Shard& shard;
    ShardRules rules;
    std::vector<std::uint64_t> running;  ///< the attempt of each slot; 0: it has ended
    std::map<std::size_t, Attempt> mirror_of;
    std::optional<ShardRequest> machine;
    Candidates tried;
    std::uint64_t waits = 0;  ///< number of its last wait
  };
  using Ptr = std::shared_ptr<Request>;
  struct Event {
    Micros at;
    std::uint64_t number;
    std::function<void()> happens;
    bool operator<(const Event& other) const {
      return std::tie(at, number) > std::tie(other.at, other.number);
    }
  };

  void put(Micros at, std::function<void()> happens) {
    events_.push({at, ++numbers_, std::move(happens)});
  }
  TimePoint time() const { return kStart + now_; }

  Candidates working() const {
    return Candidates::first(does_.size()).where([&](std::size_t i) {
      return does_[i] == Does::work;
    });
  }
  Candidates allowed() const {
    return levels_for(need_, shards_.front()->mirrors.view().picture,
                      Candidates::first(does_.size()))
        .all();
  }

  void begin(Shard& shard) {
    const auto r = std::make_shared<Request>(shard);
    r->rules.need = &need_;
    r->rules.any_mirror = !setup_.set.preference;
    r->rules.retry = &retry_rules_;
    r->rules.subject = {.mirrors = does_.size(), .ordinary = setup_.retries};
    r->rules.deadline = time() + 10s;
    r->rules.connect_timeout = 1s;
    r->rules.selection_timeout = 5s;
    r->rules.probe_every = 1s;
    r->rules.quorum = setup_.quorum;
    r->rules.hedging = setup_.hedging;
    r->rules.waiting_selections = &waiting_selections_;
    r->rules.max_waiting_selections = 1000;
    r->machine.emplace(r->rules);
    handle(r, event::Started{});
  }

  void handle(const Ptr& r, const ShardEvent& event) {
    ++r->waits;
    const ShardInputs moment{time(), random_, r->shard.protection, r->shard.mirrors, counters_};
    for (const auto& action : r->machine->next(event, moment))
      std::visit([&](const auto& what) { carry_out(r, what); }, action);
  }

  void carry_out(const Ptr& r, const action::Send& send) {
    const auto mirror = send.pick.mirror;
    ++attempts;
    ++attempts_at[mirror];
    r->tried.insert(mirror);
    const auto outcome = outcome_of(does_[mirror]);
    const auto longest = outcome == Outcome::connect_failed ? Micros(100us)
                         : outcome == Outcome::broken       ? Micros(1ms)
                                                            : setup_.answer_after;
    const Micros takes = outcome == Outcome::query_timeout
                             ? setup_.query_timeout
                             : Micros{static_cast<std::int64_t>(
                                   (1 + random_.uniform()) * static_cast<double>(longest.count()))};
    ++r->shard.mirrors.numbers[mirror].in_flight;
    if (r->running.size() <= send.slot) r->running.resize(send.slot + 1);
    const Attempt attempt{send.slot, ++sent_, mirror, does_[mirror], now_};
    r->running[send.slot] = attempt.number;
    r->mirror_of[send.slot] = attempt;
    put(now_ + takes, [this, r, attempt, outcome] { end_attempt(r, attempt, outcome); });
  }
  void carry_out(const Ptr& r, const action::Cancel& cancel) {
    put(now_, [this, r, attempt = r->mirror_of[cancel.slot]] {
      end_attempt(r, attempt, Outcome::cancelled);
    });
  }
  void carry_out(const Ptr&, const action::NotifyWaiters&) {
    for (auto& [waiting, number] : std::exchange(waiting_, {}))
      put(now_, [this, waiting, number] {
        if (waiting->waits == number) handle(waiting, event::SetChanged{});
      });
  }
  void carry_out(const Ptr&, const action::CheckMirrors&) {}
  void carry_out(const Ptr& r, const action::Wait& wait) {
    const auto number = r->waits;
    if (wait.news) waiting_.emplace_back(r, number);
    if (!wait.until) return;
    put(std::chrono::duration_cast<Micros>(*wait.until - kStart), [this, r, number] {
      if (r->waits == number) handle(r, event::TimePassed{});
    });
  }
  void carry_out(const Ptr&, const action::Log&) {}
  void carry_out(const Ptr& r, const action::Finish&) {
    if (r->machine->result().answered()) {
      ++answered;
      return;
    }
    ++failed;
    if ((allowed() & (working() - r->tried)).empty()) return;
    ++lost;
    last_lost = now_;
  }

  void end_attempt(const Ptr& r, const Attempt& attempt, Outcome outcome) {
    if (r->running[attempt.slot] != attempt.number) return;  // it has ended before
    r->running[attempt.slot] = 0;
    auto& numbers = r->shard.mirrors.numbers[attempt.mirror];
    --numbers.in_flight;
    if (outcome == Outcome::answered) numbers.errors_in_a_row = 0;
    if (consequence(outcome).error) ++numbers.errors_in_a_row;
    if (attempt.does == Does::hang) numbers.errors_in_a_row = 0;  // pings
    auto& answered_at = r->shard.answered_at[attempt.mirror];
    if (outcome == Outcome::answered) answered_at = now_;
    AttemptReport report;
    report.outcome = outcome;
    report.sent = outcome != Outcome::connect_failed;
    report.silent = outcome == Outcome::query_timeout && answered_at < attempt.at;
    if (outcome == Outcome::answered) report.generation = 1;
    if (outcome == Outcome::agent_error) report.status = 500;
    if (outcome == Outcome::agent_error && attempt.does == Does::say_429) {
      report.status = 429;
      report.hint = {.kind = ErrorHint::Kind::overload, .overload = true, .retryable = true};
    }
    handle(r, event::AttemptEnded{attempt.slot, report});
  }

  Outcome outcome_of(Does does) {
    switch (does) {
      case Does::work:
        return Outcome::answered;
      case Does::refuse:
        return Outcome::connect_failed;
      case Does::reset:
        return Outcome::broken;
      case Does::say_500:
      case Does::say_429:
        return Outcome::agent_error;
      case Does::hang:
        return Outcome::query_timeout;
      case Does::fail_half:
        return random_.uniform() < 0.5 ? Outcome::agent_error : Outcome::answered;
    }
    return {};
  }

  static constexpr TimePoint kStart{std::chrono::hours(1)};

  std::vector<Does> does_;
  Setup setup_;
  std::vector<std::unique_ptr<Shard>> shards_;
  RetryRules retry_rules_;
  Need need_;
  std::atomic<std::uint32_t> waiting_selections_{0};
  Counters counters_;
  SeededRandom random_;
  Micros now_{};
  std::uint64_t numbers_ = 0;
  std::uint64_t sent_ = 0;
  std::priority_queue<Event> events_;
  std::vector<std::pair<Ptr, std::uint64_t>> waiting_;
};

}  // namespace karmad::testing
