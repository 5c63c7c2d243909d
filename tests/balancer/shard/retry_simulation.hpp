#pragma once

#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "balancer/shard/shard_request.hpp"
#include "strategies/kinds/registry.hpp"

namespace karmad::testing {

using namespace std::chrono_literals;

/// What a simulated mirror does with an attempt.
enum class Does { work, refuse, reset, say_500, fail_half };

/// The mirrors of a simulated shard. They have no pings and no limits.
class SimulatedMirrors final : public ShardMirrors {
 public:
  SimulatedMirrors(std::size_t count, std::string_view strategy)
      : numbers(count), strategy_(make_strategy(strategy, {})) {
    known_.picture.kind = SetKind::flat;
    known_.picture.mirrors.resize(count, {.role = Role::router});
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
  std::optional<Pick> pick(const SelectionCriteria& criteria, bool by_share,
                           RandomSource& random) const override {
    return by_share ? select_by_share(criteria, known_.picture, numbers, *strategy_, random)
                    : select(criteria, known_.picture, numbers, *strategy_, random);
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
  HedgeConditions hedge_conditions() const override { return {}; }

  std::vector<MirrorView> numbers;

 private:
  std::unique_ptr<Strategy> strategy_;
  SetView known_;
  WaitQueue queue_;
};

/// One shard on a virtual clock: requests come at given times, attempts take a while, and each
/// request is driven by the machine of the server (ShardRequest).
class RetrySimulation {
 public:
  struct Setup {
    std::string strategy = "random";
    RetrySettings retries;
    Micros answer_after = 5ms;  ///< and as long again at most, by chance
    std::uint64_t seed = 1;
  };
  RetrySimulation(std::vector<Does> mirrors, Setup setup)
      : does_(std::move(mirrors)),
        setup_(std::move(setup)),
        mirrors_(does_.size(), setup_.strategy),
        protection_(does_.size(), ProtectionRules{}),
        random_(setup_.seed) {
    need_.preference.mode = Mode::nearest;
  }

  void request(Micros at) {
    ++requests;
    put(at, [this] { begin(); });
  }
  void change(Micros at, std::vector<Does> mirrors) {
    put(at, [this, mirrors] {
      does_ = mirrors;
      for (const auto& mirror : mirrors_.numbers) at_change += mirror.in_flight;
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

  std::size_t requests = 0;
  std::size_t attempts = 0;
  std::size_t answered = 0;
  std::size_t lost = 0;       ///< without an answer, though a mirror that works was not tried
  std::size_t failed = 0;     ///< without an answer
  std::size_t stranded = 0;   ///< still waiting in the end
  std::size_t at_change = 0;  ///< attempts in flight when the mirrors changed

 private:
  struct Request {
    ShardRules rules;
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

  void begin() {
    const auto r = std::make_shared<Request>();
    r->rules.need = &need_;
    r->rules.any_mirror = true;
    r->rules.retry = &retry_rules_;
    r->rules.subject = {.mirrors = does_.size(), .ordinary = setup_.retries};
    r->rules.deadline = time() + 10s;
    r->rules.connect_timeout = 1s;
    r->rules.selection_timeout = 5s;
    r->rules.probe_every = 1s;
    r->rules.waiting_selections = &waiting_selections_;
    r->rules.max_waiting_selections = 1000;
    r->machine.emplace(r->rules);
    handle(r, event::Started{});
  }

  void handle(const Ptr& r, const ShardEvent& event) {
    ++r->waits;
    const ShardMoment moment{time(), random_, protection_, mirrors_, counters_};
    for (const auto& action : r->machine->next(event, moment))
      std::visit([&](const auto& what) { carry_out(r, what); }, action);
  }

  void carry_out(const Ptr& r, const action::Send& send) {
    const auto mirror = send.pick.mirror;
    ++attempts;
    r->tried.insert(mirror);
    const auto outcome = outcome_of(does_[mirror]);
    const auto longest = outcome == Outcome::connect_failed ? Micros(100us)
                         : outcome == Outcome::broken       ? Micros(1ms)
                                                            : setup_.answer_after;
    const Micros takes{
        static_cast<std::int64_t>((1 + random_.uniform()) * static_cast<double>(longest.count()))};
    ++mirrors_.numbers[mirror].in_flight;
    put(now_ + takes,
        [this, r, slot = send.slot, mirror, outcome] { end_attempt(r, slot, mirror, outcome); });
  }
  void carry_out(const Ptr&, const action::Cancel&) {}  // nothing is hedged
  void carry_out(const Ptr&, const action::TellOthers&) {
    for (auto& [waiting, number] : std::exchange(waiting_, {}))
      put(now_, [this, waiting, number] {
        if (waiting->waits == number) handle(waiting, event::News{});
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
  void carry_out(const Ptr& r, const action::Finish&) {
    if (r->machine->result().answered()) {
      ++answered;
      return;
    }
    ++failed;
    for (const auto mirror : Candidates::first(does_.size()) - r->tried)
      if (does_[mirror] == Does::work) {
        ++lost;
        break;
      }
  }

  void end_attempt(const Ptr& r, std::size_t slot, std::size_t mirror, Outcome outcome) {
    auto& numbers = mirrors_.numbers[mirror];
    --numbers.in_flight;
    numbers.errors_in_a_row = outcome == Outcome::answered ? 0 : numbers.errors_in_a_row + 1;
    AttemptReport report;
    report.outcome = outcome;
    report.sent = outcome != Outcome::connect_failed;
    handle(r, event::AttemptEnded{slot, report});
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
        return Outcome::agent_error;
      case Does::fail_half:
        return random_.uniform() < 0.5 ? Outcome::agent_error : Outcome::answered;
    }
    return {};
  }

  static constexpr TimePoint kStart{std::chrono::hours(1)};

  std::vector<Does> does_;
  Setup setup_;
  SimulatedMirrors mirrors_;
  Protection protection_;
  RetryRules retry_rules_;
  Need need_;
  std::atomic<std::uint32_t> waiting_selections_{0};
  Counters counters_;
  SeededRandom random_;
  Micros now_{};
  std::uint64_t numbers_ = 0;
  std::priority_queue<Event> events_;
  std::vector<std::pair<Ptr, std::uint64_t>> waiting_;
};

}  // namespace karmad::testing
