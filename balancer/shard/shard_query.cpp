#include "balancer/shard/shard_query.hpp"

#include "balancer/shard/after_attempt.hpp"
#include "balancer/shard/again.hpp"
#include "balancer/shard/one_attempt.hpp"

namespace karmad {
namespace {

// Both write where it lies: a copy right behind its parts waits until they have reached the cache.

void fill_in(const Query& query, const ShardOrder& order, const Shard& shard,
             RetrySettings& settings) {
  const auto& options = order.parsed.options;
  settings.per_mirror_of_query = options.retry_count;
  settings.absolute_of_line = shard.retry_count;
  settings.per_mirror = order.table.retry_count;
  settings.delay = options.retry_delay.value_or(query.topology->settings.agent_retry_delay.value);
}

/// Without a word on retries, a list of time-outs allows as many as it has steps (CO-044).
void describe(const Query& query, const ShardOrder& order, const Shard& shard,
              RetrySubject& subject) {
  subject.kind = order.parsed.read           ? RequestClass::read
                 : order.parsed.unclassified ? RequestClass::unclassified
                                             : RequestClass::write;
  subject.follow_up = order.parsed.follow_up;
  subject.has_idempotency_key = !query.head.find("Idempotency-Key").empty();
  subject.mirrors = shard.mirrors->size();
  fill_in(query, order, shard, subject.ordinary);
  const auto steps = order.table.search_timeouts.size();
  auto& ordinary = subject.ordinary;
  if (steps > 1 && !ordinary.per_mirror && !ordinary.per_mirror_of_query)
    ordinary.absolute_of_line =
        ordinary.absolute_of_line.value_or(static_cast<unsigned>(steps - 1));
}

}  // namespace

void begin(Query& query, const ShardOrder& order, ShardPart& part) {
  part.live.emplace(part.shard->protection->budget, query.worker.loop.index);
  describe(query, order, *part.shard, part.retries.emplace(order.table.retry_rules).subject());
}

Task<bool> reject(ShardCall& call, std::string why) {
  auto& [query, order, part] = call;
  query.worker.counters.add(Count::merge_rejected);
  part.outcome = part.unsettled->outcome = Outcome::wrong_reply;
  part.unsettled->why = why;
  part.failed.push_back({part.mirror, std::move(why)});
  AttemptEnd end;
  end.outcome = Outcome::wrong_reply;
  end.sent = true;
  const auto next = after_attempt(call, end);
  const auto& set = *part.shard->mirrors;
  for (std::size_t i = 0; i < set.size(); ++i)
    if (&set[i] == part.mirror) part.shard->protection->standings.ended(i, end.outcome);
  settle(query, part);
  if (query.stopped || !next.again() || next.pause > Micros{0}) co_return false;
  const bool may = co_await may_retry(call, next);
  if (!may || query.stopped) co_return false;
  part.avoided = part.tried;
  part.reason = AttemptReason::retry;
  part.retry_reason = next.reason;
  query.worker.counters.add(Count::retries);
  co_return true;
}

void take_over(ShardCall& call, ShardPart& other) {
  auto& part = call.part;
  settle(call.query, part);
  part.outcome = other.outcome;
  part.status = other.status;
  part.sub_status = other.sub_status;
  part.report = other.report;
  part.timed_out = part.timed_out || other.timed_out;
  part.advice = other.advice;
  part.mirror = other.mirror;
  part.reply = std::move(other.reply);
  part.rest = std::move(other.rest);
  part.unsettled = std::exchange(other.unsettled, std::nullopt);
  part.refused.reset();
}

void settle(Query& query, ShardPart& part) {
  if (part.unsettled)
    record(*part.mirror, part.shard->mirrors->failure_floor(), query.worker.loop.index, Loop::now(),
           *part.unsettled);
  part.unsettled.reset();
  drop_reply(query, part);
}

}  // namespace karmad
