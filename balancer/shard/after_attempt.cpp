#include "balancer/shard/after_attempt.hpp"

#include "agent/mirrors/advice.hpp"
#include "balancer/shard/select_mirror.hpp"

namespace karmad {
namespace {

/// Where the errors of a server are not understood, 410 and 449 have their plain HTTP meaning,
/// unless a sub-status shows otherwise.
bool is_plain(const ShardOrder& order, const AttemptEnd& end, const Advice& advice) {
  return !order.table.dialect.capabilities.understands_errors && advice.sub_status == 0 &&
         (end.reply.status == 410 || end.reply.status == 449);
}

/// A search that ran into a time-out may go on while the list of time-outs does (CO-044).
bool goes_on_after_timeout(const ShardOrder& order, const ShardPart& part, Outcome outcome) {
  const bool more = part.attempts < order.table.search_timeouts.size();
  return outcome == Outcome::query_timeout && more && order.parsed.read;
}

/// A time-out is no reason for another attempt, unless it turns out that the mirror was not slow
/// but cannot be reached.
Outcome retried_as(const ShardOrder& order, const ShardPart& part, const AttemptEnd& end) {
  if (goes_on_after_timeout(order, part, end.outcome)) return Outcome::closed_early;
  const bool unreachable = end.outcome == Outcome::query_timeout && part.mirror != nullptr &&
                           part.mirror->agent->vitals.unreachable_since(end.ended - end.took);
  return unreachable ? Outcome::unreachable : end.outcome;
}

/// What the rules of retries make of an attempt that ended so.
Decision decide(const ShardCall& call, RetryLoop& retries, const AttemptEnd& end,
                const Advice& advice, TokenBucket* tokens) {
  const auto& [query, order, part] = call;
  const auto& mirrors = *part.shard->mirrors;
  const bool fresh_left = has_untried(query, order, part);
  const auto left = std::chrono::duration_cast<Micros>(query.deadline - Loop::now());
  return retries.after(
      {.outcome = retried_as(order, part, end),
       .advice = advice,
       .status = static_cast<unsigned>(end.reply.status),
       .sent = end.sent,
       .nothing_done = end.nothing_done,
       .tried = fresh_left ? std::min(part.tried.size(), mirrors.size() - 1) : mirrors.size(),
       .set = mirrors.view(query.worker.loop.index)->picture.kind,
       .other_zone = has_other_zone(query, order, part),
       .up_to_date_left =
           advice.kind == Advice::Kind::generation_low && has_up_to_date(query, order, part)},
      left, query.worker.loop.random.uniform(), tokens);
}

}  // namespace

Advice advice_in(const ShardOrder& order, const AttemptEnd& end) {
  if (end.reply.status < 400) return {};
  ResponseHead head;
  if (!parse_response_head(end.reply.head(), {64 << 10, kMaxFields}, false, head)) return {};
  const auto advice =
      advice_of(end.reply.status, head, end.reply.body(), std::chrono::system_clock::now());
  return is_plain(order, end, advice) ? Advice{} : advice;
}

void drop_reply(Query& query, ShardPart& part) {
  part.rest.reset();
  if (part.reply.head_size == 0 && part.reply.bytes.empty()) return;  // there never was one
  query.worker.loop.buffers.give(std::move(part.reply.bytes));
  part.reply.forget();
}

Decision after_attempt(ShardCall& call, const AttemptEnd& end) {
  auto& [query, order, part] = call;
  if (end.outcome == Outcome::answered || end.outcome == Outcome::answered_with_warning)
    return part.retries ? part.retries->after({.outcome = end.outcome}, Micros{0}, 0,
                                              &part.shard->protection->tokens)
                        : Decision{.final = Final::answered};
  part.advice = advice_in(order, end);
  part.sub_status = part.advice.sub_status;
  if (!part.retries) {  // hedges and quorum reads only mark mirrors
    const auto alone = leave_alone(order.table.retry_rules, part.advice);
    return {.unavailable = alone.unavailable, .retry_after = alone.retry_after};
  }
  auto next = decide(call, *part.retries, end, part.advice, &part.shard->protection->tokens);
  if (goes_on_after_timeout(order, part, end.outcome)) next.pause = {};  // CO-044
  return next;
}

bool would_be_repeated(const ShardCall& call, const AttemptEnd& end) {
  const auto& [query, order, part] = call;
  if (!part.retries) return true;  // a quorum read goes on with the others
  const bool waits = part.waits && order.selection.at(*part.shard) != nullptr;
  if (!waits && !has_untried(query, order, part)) return false;
  auto retries = *part.retries;
  return decide(call, retries, end, {}, nullptr).again();
}

}  // namespace karmad
