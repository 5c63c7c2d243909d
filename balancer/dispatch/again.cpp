#include "balancer/dispatch/again.hpp"

#include <spdlog/spdlog.h>

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

bool take_budget(ShardCall& call, const Decision& next) {
  auto& part = call.part;
  const bool first = part.attempts == 1 && next.pause == Micros{0} && next.avoid;
  auto taken = part.shard->protection->budget.take(
      first ? RetryBudget::For::first_retry : RetryBudget::For::other, Loop::now());
  part.extra.reset();
  if (taken) part.extra.emplace(*std::move(taken));
  if (!taken) call.query.worker.counters.add(Count::retries_refused);
  return part.extra.has_value();
}

Task<bool> again(ShardCall& call, const Decision& next) {
  auto& [query, order, part] = call;
  if (part.over(query) || !next.again()) co_return false;
  if (!take_budget(call, next)) co_return false;
  part.reason = traced_as(next.reason);
  part.pause = next.pause;
  const std::string_view why = part.failed.empty() ? "" : std::string_view(part.failed.back().why);
  spdlog::debug(  // BP-031; what an agent said is quoted, it may hold line ends
      "query {}: table {}, shard {}: attempt {} ({}) after a pause of {} ms; {} said {:?}",
      query.id, order.table.name, part.number, part.attempts + 1, name(next.reason),
      std::chrono::duration<double, std::milli>(next.pause).count(), part.mirror->agent->name, why);
  if (next.pause > Micros{0}) {
    PartStop stop(query, part);
    co_await sleep(query.worker.loop, Loop::now() + next.pause, stop);
    if (part.over(query)) co_return false;
  }
  count_retry(query, next.reason);
  co_return true;
}

}  // namespace karmad
