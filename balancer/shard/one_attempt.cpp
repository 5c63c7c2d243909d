#include "balancer/shard/one_attempt.hpp"

#include <spdlog/spdlog.h>

#include "balancer/rules/zones.hpp"
#include "balancer/shard/after_attempt.hpp"
#include "balancer/shard/complaints.hpp"
#include "balancer/shard/selection_log.hpp"
#include "balancer/shard/try_mirror.hpp"
#include "balancer/shard/wait_for_mirror.hpp"

namespace karmad {
namespace {

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

bool is_retry(AttemptReason reason) {
  using enum AttemptReason;
  return reason != initial && reason != hedge && reason != quorum;
}

/// BP-031: each retry is a line, a bounded number of them each second; all at level debug.
void log_retry(const ShardCall& call, const Mirror& next) {
  const auto& [query, order, part] = call;
  if (!spdlog::should_log(spdlog::level::info)) return;
  const auto left_out = spdlog::should_log(spdlog::level::debug)
                            ? std::optional<std::uint64_t>(0)
                            : query.worker.retry_lines.may_write(Loop::now());
  if (!left_out) return;
  // What an agent said is quoted, it may hold line ends.
  const auto failed = part.failed.empty()
                          ? std::string()
                          : fmt::format("; {} said {:?}", part.failed.back().mirror->agent->name,
                                        std::string_view(part.failed.back().why));
  spdlog::info("query {}: table {}, shard {}: attempt {} ({}) after a pause of {} ms at {}{}{}",
               query.id, order.table.name, part.number, part.attempts + 1, name(part.retry_reason),
               std::chrono::duration<double, std::milli>(part.pause).count(), next.agent->name,
               failed,
               *left_out == 0 ? "" : fmt::format(" ({} retries before it not logged)", *left_out));
}

/// No mirror for an attempt that does not wait, or whose query is over: its selection has begun and
/// has an end in the log, too (SS-174). What waited for a mirror in vain has told already.
void log_failed_selection(const ShardCall& call) {
  const auto& [query, order, part] = call;
  if (part.refused || order.selection.at(*part.shard) == nullptr) return;
  if (part.waits && !part.over(query)) return;
  query.worker.process.selection_log->failed(
      {query, order.selection, *part.shard},
      part.over(query) ? "the query is over" : "no other mirror is suitable at once");
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
  if (next.again() && call.order.parsed.follow_up) {  // only this mirror holds the cursor
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

Task<Decision> OneAttempt::operator()(ShardCall& call) const {
  auto& [query, order, part] = call;
  constexpr Decision kEnd{};
  if (part.over(query)) co_return kEnd;
  auto selected = select_now(query, order, part);
  if (!selected && !part.refused && part.waits) {
    query.waited = true;
    selected = co_await wait_for_mirror(query, order, part);
  }
  if (!selected) {
    log_failed_selection(call);
    co_return kEnd;
  }
  const auto asked = selected->mirror;
  auto& mirror = (*part.shard->mirrors)[asked];
  if (order.selection.at(*part.shard) != nullptr)
    query.worker.process.selection_log->succeeded({query, order.selection, *part.shard},
                                                  *mirror.agent);
  if (is_retry(part.reason)) log_retry(call, mirror);
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
    if (!query.complaints.empty()) refute_complaints(query, order, *part.shard);
    if (order.plan != nullptr)
      part.unsettled = AttemptEnd{.outcome = end.outcome, .took = end.took, .connect = end.connect};
    auto& decided = co_yield InPlace{};
    decided.final = Final::answered;
    co_return InPlace{};
  }
  auto next = after_attempt(call, end);
  part.reply = std::move(end.reply);
  if (part.extra && end.outcome == Outcome::client_mistake) part.extra->succeeded();
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
