#include "balancer/dispatch/attempts.hpp"

#include "agent/advice.hpp"
#include "balancer/dispatch/selection_log.hpp"
#include "balancer/dispatch/try_mirror.hpp"

namespace karmad {
namespace {

/// Whoever stands in front of an unknown server must not take 410 and 449 for more than they say
/// there, unless a sub-status shows what is meant.
bool is_plain(const ShardOrder& order, const AttemptEnd& end, const Advice& advice) {
  return order.table.opaque && advice.sub_status == 0 &&
         (end.reply.status == 410 || end.reply.status == 449);
}

Advice advice_in(const ShardOrder& order, const AttemptEnd& end) {
  if (end.reply.status < 400) return {};
  ResponseHead head;
  if (!parse_response_head(end.reply.head(), {64 << 10, kMaxFields}, false, head)) return {};
  const auto advice =
      advice_of(end.reply.status, head, end.reply.body(), std::chrono::system_clock::now());
  return is_plain(order, end, advice) ? Advice{} : advice;
}

/// A search that ran into a time-out may go on while the list of time-outs does (CO-044).
Outcome retried_as(const ShardOrder& order, const ShardPart& part, Outcome outcome) {
  const bool more = part.attempts < order.table.search_timeouts.size();
  return outcome == Outcome::query_timeout && more && order.parsed.read ? Outcome::closed_early
                                                                        : outcome;
}

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
}

}  // namespace

void give_back(Query& query, Reply& reply) {
  query.worker.loop.buffers.give(std::move(reply.bytes));
  query.worker.loop.buffers.give(std::move(reply.decoded));
  reply = Reply();
}

Decision after_attempt(Query& query, const ShardOrder& order, ShardPart& part,
                       const AttemptEnd& end) {
  if (end.outcome == Outcome::answered || end.outcome == Outcome::answered_with_warning)
    return part.retries->after({.outcome = end.outcome}, Micros{0}, 0,
                               &part.shard->protection->tokens);
  const auto& shard = *part.shard;
  part.advice = advice_in(order, end);
  const auto& advice = part.advice;
  part.sub_status = advice.sub_status;
  const bool fresh_left = has_untried(query, order, part);
  const auto& view = *shard.mirrors->view(query.worker.loop.index);
  const auto left = std::chrono::duration_cast<Micros>(query.deadline - Loop::now());
  auto next = part.retries->after(
      {.outcome = retried_as(order, part, end.outcome),
       .advice = advice,
       .sent = end.sent,
       .tried = fresh_left ? std::min(part.tried.size(), shard.mirrors->size() - 1)
                           : shard.mirrors->size(),
       .set = view.picture.kind},
      left, query.worker.loop.random.uniform(), &shard.protection->tokens);
  if (retried_as(order, part, end.outcome) != end.outcome) next.pause = {};  // CO-044
  return next;
}

bool take_budget(Query& query, ShardPart& part, const Decision& next) {
  const bool first = part.attempts == 1 && next.pause == Micros{0} && next.avoid;
  auto taken = part.shard->protection->budget.take(
      first ? RetryBudget::For::first_retry : RetryBudget::For::other, Loop::now());
  part.extra.reset();
  if (taken) part.extra.emplace(*std::move(taken));
  if (!taken) query.worker.counters.add(Count::retries_refused);
  return part.extra.has_value();
}

Task<void> make_attempts(Query& query, const ShardOrder& order, ShardPart& part) {
  auto& worker = query.worker;
  auto& set = *part.shard->mirrors;
  auto& protection = *part.shard->protection;
  std::optional<std::size_t> wanted;  // the mirror of the next attempt, when a rule names it
  Micros pause{};
  for (;;) {
    if (part.over(query)) co_return;
    std::optional<Selected> selected;
    if (wanted) {
      selected = Selected{*wanted, order.table.connect_timeout};
      wanted.reset();
    } else {
      selected = select_now(query, order, part);
      if (!selected && !part.refused && part.waits)
        selected = co_await wait_for_mirror(query, order, part);
    }
    if (!selected) co_return;
    const auto chosen = selected->mirror;
    auto& mirror = set[chosen];
    if (order.selection.at(*part.shard) != nullptr)
      worker.process.selection_log->succeeded({query, order.selection, *part.shard}, *mirror.agent);
    part.tried.insert(chosen);
    part.mirror = &mirror;
    give_back(query, part.reply);
    auto end = co_await try_mirror(query, order, part, *selected, pause);
    part.outcome = end.outcome;
    part.timed_out = end.out_of_time || end.outcome == Outcome::query_timeout ||
                     end.outcome == Outcome::connect_timeout;
    part.status = static_cast<unsigned>(end.reply.status);
    Decision next;
    if (part.retries) {
      next = after_attempt(query, order, part, end);
    } else {
      part.advice = advice_in(order, end);
      part.sub_status = part.advice.sub_status;  // a hedge is not retried, but judged (CO-081)
    }
    part.reply = std::move(end.reply);
    if (part.answered()) {
      if (part.extra) part.extra->succeeded();
      if (order.plan != nullptr)
        part.unsettled =
            AttemptEnd{.outcome = end.outcome, .took = end.took, .connect = end.connect};
      co_return;
    }
    part.extra.reset();
    if (next.unavailable > Micros{0})
      protection.unavailable.mark(chosen, Loop::now(), next.unavailable);
    if (next.refresh) set.check_now();
    if (end.outcome == Outcome::client_mistake && !next.again()) {
      if (part.advice.kind == Advice::Kind::none) co_return;
      part.outcome = Outcome::agent_error;  // it says something of the mirror
    }
    part.failed.push_back({&mirror, std::move(end.why)});
    if (part.over(query) || !next.again()) co_return;
    // Counted from here, before the pause: what waits to be sent is as much a load to come.
    if (!take_budget(query, part, next)) co_return;
    if (next.avoid) part.avoided.insert(chosen);
    if (next.prefer == Decision::Prefer::same) wanted = chosen;
    if (next.prefer == Decision::Prefer::primary) wanted = set.view(worker.loop.index)->primary;
    pause = next.pause;
    part.reason = traced_as(next.reason);
    if (pause > Micros{0}) {
      PartStop stop(query, part);
      co_await sleep(worker.loop, Loop::now() + pause, stop);
      if (part.over(query)) co_return;
    }
    count_retry(query, next.reason);
  }
}

}  // namespace karmad
