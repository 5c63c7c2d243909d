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

/// The mirror is behind what the client has seen: remembered for this query, and for a moment for
/// all of this shard that want as much (CO-034).
void note_behind(ShardCall& call, std::size_t asked) {
  auto& [query, order, part] = call;
  const auto generation = generation_in(part.reply);
  part.behind.insert(asked);
  part.generations.add(asked, generation);
  if (!query.min_generation) return;
  const auto missing =
      generation && *generation < *query.min_generation ? *generation + 1 : *query.min_generation;
  part.shard->protection->behind.mark(asked, missing,
                                      Loop::now() + order.table.retry_rules.behind_mark);
}

/// Of the mirrors that said they are behind, the one known to have seen most; of equals `asked`.
std::size_t newest_behind(const ShardPart& part, const SetView& view, std::size_t asked) {
  auto newest = asked;
  for (const auto mirror : part.behind)
    if (part.generations.known(mirror, view) > part.generations.known(newest, view))
      newest = mirror;
  return newest;
}

/// What follows from a decision for the mirror that was asked, whether or not another one is.
void obey(ShardCall& call, std::size_t asked, const Decision& next) {
  auto& part = call.part;
  const auto& view = *part.shard->mirrors->view(call.query.worker.loop.index);
  part.report = next.status;
  if (part.advice.kind == Advice::Kind::generation_low) note_behind(call, asked);
  if (next.unavailable > Micros{0})
    part.shard->protection->unavailable.mark(asked, Loop::now(), next.unavailable);
  if (next.retry_after > Micros{0})
    part.shard->protection->unavailable.mark_paused(asked, Loop::now(), next.retry_after);
  if (next.again() && call.order.parsed.follow_up) {  // nobody else has what it continues
    Candidates same;
    same.insert(asked);
    part.excluded = Candidates::first(part.shard->mirrors->size()) - same;
  }
  if (next.refresh) part.shard->mirrors->check_now();
  if (next.again() && next.avoid) part.avoided.insert(asked);
  if (next.leave_zone) part.left = part.left | zone_mates(view.picture, asked);
  if (next.prefer == Decision::Prefer::newest_behind)
    part.wanted = newest_behind(part, view, asked);
  if (next.prefer == Decision::Prefer::primary) part.wanted = view.primary;
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
  part.advice = advice_in(order, end);
  part.sub_status = part.advice.sub_status;
  if (!part.retries) {  // whoever is to be left alone is, whoever found out
    const auto alone = leave_alone(order.table.retry_rules, part.advice);
    return {.unavailable = alone.unavailable, .retry_after = alone.retry_after};
  }
  auto next = decide(call, *part.retries, end, part.advice, &part.shard->protection->tokens);
  if (goes_on_after_timeout(order, part, end.outcome)) next.pause = {};  // CO-044
  return next;
}

bool would_be_repeated(const ShardCall& call, const AttemptEnd& end) {
  const auto& [query, order, part] = call;
  if (!part.retries) return true;  // whoever asks several mirrors goes on with the others
  const bool waits = part.waits && order.selection.at(*part.shard) != nullptr;
  if (!waits && !has_untried(query, order, part)) return false;
  auto retries = *part.retries;
  return decide(call, retries, end, {}, nullptr).again();
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
  part.among = {};
  if (part.shard->protection->standings.take_news()) part.shard->mirrors->stir();
  part.outcome = end.outcome;
  part.timed_out = end.out_of_time || end.outcome == Outcome::query_timeout ||
                   end.outcome == Outcome::connect_timeout || end.outcome == Outcome::unreachable;
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
