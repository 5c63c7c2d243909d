#pragma once

#include <array>
#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "balancer/rules/retry_plan.hpp"
#include "balancer/rules/retry_target.hpp"
#include "balancer/rules/zones.hpp"
#include "strategies/registry.hpp"
#include "strategies/select.hpp"

namespace karmad::testing {

using namespace std::chrono_literals;

/// What a simulated mirror does with an attempt.
enum class Does { work, refuse, reset, say_500, fail_half };

/// One mirror set on a virtual clock: requests come at given times, attempts take a while, and what
/// follows is decided by the real rules: selection, retries, standings, targets and budget.
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
        strategy_(make_strategy(setup_.strategy, {})),
        standings_(does_.size()),
        views_(does_.size()),
        random_(setup_.seed) {
    picture_.kind = SetKind::flat;
    picture_.mirrors.resize(does_.size());
  }

  void request(Micros at) {
    ++requests;
    put(at, [this] { begin(); });
  }
  void change(Micros at, std::vector<Does> mirrors) {
    put(at, [this, mirrors] {
      does_ = mirrors;
      for (const auto& view : views_) at_change += view.in_flight;
    });
  }
  void run() {
    while (!events_.empty()) {
      const auto event = events_.top();
      events_.pop();
      now_ = event.at;
      event.happens();
    }
    stranded = waiting_.size();
  }

  std::size_t requests = 0;
  std::size_t attempts = 0;
  std::size_t answered = 0;
  std::size_t lost = 0;       ///< without an answer, though a mirror that works was not tried
  std::size_t failed = 0;     ///< without an answer
  std::size_t stranded = 0;   ///< still waiting in the end
  std::size_t at_change = 0;  ///< requests under way when the mirrors changed

 private:
  struct Request {
    Request(RetryBudget& budget, const RetryRules& rules, const RetrySubject& subject)
        : live(budget), loop(rules, subject) {}
    RetryBudget::InFlightPermit live;
    std::optional<RetryBudget::RetryPermit> retry_permit;
    RetryLoop loop;
    Candidates tried;
    Candidates among;
    bool waits = false;
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
  TimePoint time() const { return TimePoint{} + std::chrono::hours(1) + now_; }
  Candidates all() const { return Candidates::first(does_.size()); }

  void begin() {
    const RetrySubject subject{.mirrors = does_.size(), .ordinary = setup_.retries};
    attempt(std::make_shared<Request>(budget_, rules_, subject), /*first=*/true);
  }

  Candidates avoided(const Request& r) const {
    const auto others = r.among.empty() ? Candidates{} : all() - r.among;
    const std::array reasons{r.tried, others, standings_.unreachable()};
    return avoided_for(nullptr, picture_, all(), reasons);
  }

  std::size_t pick(const Request& r, bool first) {
    if (first)
      if (const auto due = standings_.try_probe(standings_.unreachable(), time(), 1s)) return *due;
    const SelectionCriteria criteria{.avoided = avoided(r)};
    return select(criteria, picture_, views_, *strategy_, random_)->mirror;
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

  void attempt(const Ptr& r, bool first) {
    const auto mirror = pick(*r, first);
    ++attempts;
    r->tried.insert(mirror);
    r->among = {};
    const auto outcome = outcome_of(does_[mirror]);
    const auto longest = outcome == Outcome::connect_failed ? Micros(100us)
                         : outcome == Outcome::broken       ? Micros(1ms)
                                                            : setup_.answer_after;
    const Micros takes{
        static_cast<std::int64_t>((1 + random_.uniform()) * static_cast<double>(longest.count()))};
    auto under_way = std::make_shared<std::optional<Standings::InFlightGuard>>();
    under_way->emplace(standings_, mirror);
    ++views_[mirror].in_flight;
    put(now_ + takes, [this, r, mirror, outcome, under_way] {
      --views_[mirror].in_flight;
      ended(r, mirror, outcome, *under_way);
    });
  }

  void ended(const Ptr& r, std::size_t mirror, Outcome outcome,
             std::optional<Standings::InFlightGuard>& under_way) {
    standings_.ended(mirror, outcome);
    under_way.reset();
    auto& errors = views_[mirror].errors_in_a_row;
    errors = outcome == Outcome::answered ? 0 : errors + 1;
    const auto decision = r->loop.after(
        {.outcome = outcome, .sent = outcome != Outcome::connect_failed, .tried = r->tried.size()},
        10s, random_.uniform(), nullptr);
    if (outcome == Outcome::answered) {
      ++answered;
      if (r->retry_permit) r->retry_permit->succeeded();
      end_extra(*r);
    } else {
      end_extra(*r);
      if (!decision.is_retry()) {
        give_up(*r);
      } else if (decision.pause > Micros{0}) {
        take(*r, RetryBudget::For::other)
            ? put(now_ + decision.pause, [this, r] { attempt(r, false); })
            : give_up(*r);
      } else {
        retry(r);
      }
    }
    if (standings_.take_news())
      for (const auto& waiting : std::exchange(waiting_, {})) retry(waiting);
  }

  void end_extra(Request& r) {
    if (!r.retry_permit) return;
    r.retry_permit.reset();
    standings_.retry_ended();
  }

  bool take(Request& r, RetryBudget::For what) {
    if (auto taken = budget_.take(what)) r.retry_permit.emplace(std::move(*taken));
    return r.retry_permit.has_value();
  }

  void retry(const Ptr& r) {
    const auto untried = all() - r->tried;
    const auto target =
        retry_target(untried - avoided(*r), untried, standings_.groups(), budget_.saved() > 0);
    const bool free = target.on == RetryTarget::On::nothing;
    const bool waits = !budget_.bears_another() && (free || budget_.saved() > 0);
    if (target.on == RetryTarget::On::news || waits) {
      if (!std::exchange(r->waits, true)) standings_.wait_begins();
      waiting_.push_back(r);
      return;
    }
    if (std::exchange(r->waits, false)) standings_.wait_ends();
    if (!take(*r, free ? RetryBudget::For::proven : RetryBudget::For::untried)) return give_up(*r);
    r->among = target.among;
    attempt(r, false);
  }

  void give_up(Request& r) {
    ++failed;
    for (const auto mirror : all() - r.tried)
      if (does_[mirror] == Does::work) {
        ++lost;
        break;
      }
  }

  std::vector<Does> does_;
  Setup setup_;
  std::unique_ptr<Strategy> strategy_;
  RetryRules rules_;
  RetryBudget budget_;
  Standings standings_;
  SetPicture picture_;
  std::vector<MirrorView> views_;
  SeededRandom random_;
  Micros now_{};
  std::uint64_t numbers_ = 0;
  std::priority_queue<Event> events_;
  std::vector<Ptr> waiting_;
};

}  // namespace karmad::testing
