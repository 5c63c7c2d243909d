#include "balancer/shard/again.hpp"

#include "agent/mirrors/ping.hpp"
#include "balancer/shard/retry_target.hpp"
#include "balancer/shard/select_mirror.hpp"
#include "balancer/shard/waiting.hpp"

namespace karmad {
namespace {

AttemptReason traced_as(Reason reason) {
  switch (reason) {
    case Reason::overload:
      return AttemptReason::overload;
    case Reason::throttled:
      return AttemptReason::throttled;
    case Reason::moved:
    case Reason::migrating:
    case Reason::recreated:
    case Reason::lost_copy:
    case Reason::draining:
      return AttemptReason::moved;
    case Reason::zone:
      return AttemptReason::zone;
    case Reason::conflict:
      return AttemptReason::conflict;
    case Reason::hedge:
      return AttemptReason::hedge;
    default:
      return AttemptReason::retry;
  }
}

void count_retry(Query& query, Reason reason) {
  query.worker.counters.add(Count::retries);
  if (reason == Reason::overload) query.worker.counters.add(Count::overload_retries);
  if (reason == Reason::throttled) query.worker.counters.add(Count::throttled_retries);
  if (reason == Reason::generation_low) query.worker.counters.add(Count::generation_retries);
  if (reason == Reason::new_primary) query.worker.counters.add(Count::primary_retries);
}

}  // namespace

namespace {

bool take(ShardPart& part, RetryBudget::For what) {
  if (auto taken = part.shard->protection->budget.take(what)) part.extra.emplace(*std::move(taken));
  return part.extra.has_value();
}

/// A wait for news of how the mirrors of a set stand, which are told as long as it lives.
class Listening {
 public:
  Listening(Standings& standings, std::atomic<std::uint32_t>& waiting)
      : standings_(standings), waiting_(waiting) {
    standings_.wait_begins();
  }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;
  ~Listening() { standings_.wait_ends(); }
  std::uint32_t before() const { return waiting_.before(); }

 private:
  Standings& standings_;
  Waiting waiting_;
};

/// Waits until an attempt under way has told how its mirror stands. False: it waits no longer.
Task<bool> hears(ShardCall& call, std::optional<Listening>& listening) {
  auto& [query, order, part] = call;
  auto& worker = query.worker;
  if (!listening) {
    listening.emplace(part.shard->protection->standings, worker.process.waiting_selections);
    if (listening->before() >= query.topology->settings.max_waiting_selections.value)
      co_return false;
    worker.counters.add(Count::retries_waited);
    co_return true;  // the news may have come before the wait was registered
  }
  const auto now = Loop::now();
  if (now >= query.deadline) co_return false;
  PartStop stop(query, part);
  co_await part.shard->mirrors->news(worker.loop, std::min(query.deadline, now + kRecheck), stop);
  co_return !part.over(query);
}

/// At once, at any mirror not tried yet.
Task<bool> elsewhere(ShardCall& call) {
  auto& [query, order, part] = call;
  auto& protection = *part.shard->protection;
  std::optional<Listening> listening;
  for (;;) {
    part.among = {};
    const auto open = untried(query, order, part);
    if (open.empty()) co_return take(part, RetryBudget::For::other);
    const auto preferred = open - question_now(query, order, part).avoided;
    const auto target =
        retry_target(preferred, open, protection.standings.groups(), protection.budget.saved() > 0);
    if (target.among != preferred) part.among = target.among;
    if (target.on == RetryTarget::On::nothing) co_return take(part, RetryBudget::For::proven);
    if (target.on == RetryTarget::On::budget) co_return take(part, RetryBudget::For::untried);
    const bool heard = co_await hears(call, listening);
    if (!heard) co_return false;
  }
}

}  // namespace

Task<bool> may_retry(ShardCall& call, const Decision& next) {
  auto& part = call.part;
  part.extra.reset();
  part.among = {};
  bool may = false;
  if (next.avoid && next.pause == Micros{0} && !part.wanted) {
    may = co_await elsewhere(call);
  } else {
    may = take(part, RetryBudget::For::other);
  }
  if (!may) call.query.worker.counters.add(Count::retries_refused);
  co_return may;
}

Task<bool> again(ShardCall& call, const Decision& next) {
  auto& [query, order, part] = call;
  if (part.over(query) || !next.again()) co_return false;
  const bool may = co_await may_retry(call, next);
  if (!may || part.over(query)) co_return false;
  part.reason = traced_as(next.reason);
  part.retry_reason = next.reason;
  part.pause = next.pause;
  if (next.pause > Micros{0}) {
    PartStop stop(query, part);
    co_await sleep(query.worker.loop, Loop::now() + next.pause, stop);
    if (part.over(query)) co_return false;
  }
  count_retry(query, next.reason);
  co_return true;
}

}  // namespace karmad
