#include "balancer/dispatch/one_attempt.hpp"

#include "agent/advice.hpp"
#include "balancer/dispatch/selection_log.hpp"
#include "balancer/dispatch/try_mirror.hpp"
#include "balancer/dispatch/zones.hpp"

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

/// What follows from a decision for the mirror that was asked, whether or not another one is.
void obey(ShardCall& call, std::size_t asked, const Decision& next) {
  auto& part = call.part;
  part.report = next.status;
  if (next.unavailable > Micros{0})
    part.shard->protection->unavailable.mark(asked, Loop::now(), next.unavailable);
  if (next.refresh) part.shard->mirrors->check_now();
  if (next.again() && next.avoid) part.avoided.insert(asked);
  if (next.leave_zone)
    part.left = part.left |
                zone_mates(part.shard->mirrors->view(call.query.worker.loop.index)->picture, asked);
  if (next.prefer == Decision::Prefer::same) part.wanted = asked;
  if (next.prefer == Decision::Prefer::primary)
    part.wanted = part.shard->mirrors->view(call.query.worker.loop.index)->primary;
}

/// The shard is not there any more, and a reload has said meanwhile where it is: the whole request
/// is planned anew, once (CO-051, CO-052).
bool is_to_plan_anew(const ShardCall& call, const Decision& next) {
  const auto& [query, order, part] = call;
  const auto kind = part.advice.kind;
  const bool gone = kind == Advice::Kind::moved || kind == Advice::Kind::migrating;
  const bool goes_on = next.again() || (!part.retries && order.parsed.read);
  return gone && goes_on && !query.former && query.worker.topology_now() != query.topology;
}

}  // namespace

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
  const auto& shard = *part.shard;
  part.advice = advice_in(order, end);
  const auto& advice = part.advice;
  part.sub_status = advice.sub_status;
  if (!part.retries)  // whoever is going away is left alone, whoever found out
    return {.unavailable = advice.kind == Advice::Kind::draining
                               ? order.table.retry_rules.unavailable_mark
                               : Micros{0}};
  const bool fresh_left = has_untried(query, order, part);
  const auto& view = *shard.mirrors->view(query.worker.loop.index);
  const auto left = std::chrono::duration_cast<Micros>(query.deadline - Loop::now());
  auto next = part.retries->after(
      {.outcome = retried_as(order, part, end.outcome),
       .advice = advice,
       .status = static_cast<unsigned>(end.reply.status),
       .sent = end.sent,
       .tried = fresh_left ? std::min(part.tried.size(), shard.mirrors->size() - 1)
                           : shard.mirrors->size(),
       .set = view.picture.kind,
       .other_zone = has_other_zone(query, order, part)},
      left, query.worker.loop.random.uniform(), &shard.protection->tokens);
  if (retried_as(order, part, end.outcome) != end.outcome) next.pause = {};  // CO-044
  return next;
}

Task<Decision> OneAttempt::operator()(ShardCall& call) const {
  auto& [query, order, part] = call;
  constexpr Decision kEnd{};
  if (part.over(query)) co_return kEnd;
  auto selected = select_now(query, order, part);
  if (!selected && !part.refused && part.waits) {
    query.waited = true;
    selected = co_await wait_for_mirror(query, order, part);
  }
  if (!selected) co_return kEnd;
  const auto asked = selected->mirror;
  auto& mirror = (*part.shard->mirrors)[asked];
  if (order.selection.at(*part.shard) != nullptr)
    query.worker.process.selection_log->succeeded({query, order.selection, *part.shard},
                                                  *mirror.agent);
  part.tried.insert(asked);
  part.mirror = &mirror;
  drop_reply(query, part);
  AttemptEnd end;
  {
    MirrorTry asked_now(query, order, part, *std::move(selected), end);
    co_await asked_now.ask();
    if (asked_now.is_long_to_check()) co_await asked_now.check_aside();
    asked_now.judge();
  }
  part.outcome = end.outcome;
  part.timed_out = end.out_of_time || end.outcome == Outcome::query_timeout ||
                   end.outcome == Outcome::connect_timeout;
  part.status = static_cast<unsigned>(end.reply.status);
  if (part.answered()) {
    after_attempt(call, end);
    part.reply = std::move(end.reply);
    if (part.extra) part.extra->succeeded();
    if (order.plan != nullptr)
      part.unsettled = AttemptEnd{.outcome = end.outcome, .took = end.took, .connect = end.connect};
    auto& decided = co_yield InPlace{};
    decided.final = Final::answered;
    co_return InPlace{};
  }
  auto next = after_attempt(call, end);
  part.reply = std::move(end.reply);
  part.extra.reset();
  obey(call, asked, next);
  if (end.outcome == Outcome::client_mistake && !next.again()) {
    if (part.advice.kind == Advice::Kind::none) co_return next;
    part.outcome = Outcome::agent_error;  // it says something of the mirror
  }
  part.failed.push_back({&mirror, std::move(end.why)});
  if (is_to_plan_anew(call, next)) {
    query.plan_anew = true;
    co_return kEnd;
  }
  co_return next;
}

}  // namespace karmad
