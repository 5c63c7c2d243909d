#include "balancer/dispatch/shard_query.hpp"

#include <array>

#include "agent/transport/http_syntax.hpp"
#include "balancer/dispatch/retry_plan.hpp"

namespace karmad {
namespace {

constexpr std::string_view kForwardedFor = "X-Forwarded-For";

RetrySettings retry_settings(const Query& query, const ShardOrder& order, const Shard& shard) {
  const auto& options = order.parsed.options;
  return {.per_mirror_of_query = options.retry_count,
          .absolute_of_line = shard.retry_count,
          .per_mirror = order.table.retry_count,
          .delay = options.retry_delay.value_or(query.topology->settings.agent_retry_delay.value)};
}

/// Whom the request came from: those the client names, and then the client.
std::string forwarded_for(const Query& query) {
  std::string names;
  for (const auto& field : query.head.all())
    if (wire::same_word(field.name, kForwardedFor) && !field.value.empty())
      names.append(field.value).append(", ");
  return names.append(query.client);
}

/// One attempt at one mirror, judged and recorded.
Task<AttemptEnd> try_mirror(Query& query, const ShardOrder& order, const MirrorSet& set,
                            Mirror& mirror) {
  auto& worker = query.worker;
  const auto& settings = query.topology->settings;
  Buffer written(worker.loop.buffers);
  const auto request =
      order.dialect.write(query.request, order.parsed, order.plan, mirror.tables, *written);
  const bool opaque = order.table.opaque != nullptr;
  const bool forwards = opaque && !query.client.empty();
  const auto from = forwards ? forwarded_for(query) : std::string();
  const std::array<Field, 1> forwarded{{{kForwardedFor, from}}};
  const AttemptOrder attempt_order{
      .method = request.method,
      .target = request.target,
      .content_type = request.content_type,
      .body = request.body.empty() && request.method != "POST" && request.method != "PUT"
                  ? std::nullopt
                  : std::optional(request.body),
      .extra = forwards ? std::span<const Field>(forwarded) : std::span<const Field>(),
      .passed_on = opaque ? &query.head : nullptr,
      .repeatable = order.parsed.read,
      .connect_timeout = order.table.connect_timeout,
      .query_timeout = order.parsed.options.agent_query_timeout.value_or(order.table.query_timeout),
      .deadline = query.deadline,
      .max_reply = settings.max_packet_size.value};
  worker.counters.add(Count::attempts);
  mirror.attempts.fetch_add(1, std::memory_order_relaxed);
  const Flight flight(mirror.agent->vitals.in_flight);
  QueryStop stop(query);
  auto end = co_await attempt(worker.loop, worker.pool(mirror.agent), attempt_order, stop);
  if (end.stale) worker.counters.add(Count::stale_connections);
  if (end.outcome == Outcome::answered) {
    auto judgement = order.dialect.judge(
        {end.reply.status, end.reply.content_type(), end.reply.body()}, order.plan != nullptr);
    end.outcome = judgement.outcome;
    end.why = std::move(judgement.message);
  }
  const bool answered =
      end.outcome == Outcome::answered || end.outcome == Outcome::answered_with_warning;
  if (order.plan == nullptr || !answered)
    record(mirror, set.failure_floor(), worker.loop.index, Loop::now(), end);
  co_return end;
}

void give_back(Query& query, Reply& reply) {
  query.worker.loop.buffers.give(std::move(reply.bytes));
  query.worker.loop.buffers.give(std::move(reply.decoded));
  reply = Reply();
}

}  // namespace

Task<void> ask_shard(Query& query, const ShardOrder& order, ShardPart& part) {
  auto& worker = query.worker;
  const auto& set = *part.shard->mirrors;
  const auto retry = retry_settings(query, order, *part.shard);
  for (;;) {
    if (query.stopped) co_return;
    const auto chosen = set.pick(part.tried, worker.loop.random);
    auto& mirror = set[chosen];
    part.tried.insert(chosen);
    part.mirror = &mirror;
    give_back(query, part.reply);
    auto end = co_await try_mirror(query, order, set, mirror);
    part.outcome = end.outcome;
    part.reply = std::move(end.reply);
    if (part.answered() && order.plan != nullptr)
      part.unsettled = AttemptEnd{.outcome = end.outcome, .took = end.took, .connect = end.connect};
    part.timed_out = end.out_of_time || end.outcome == Outcome::query_timeout ||
                     end.outcome == Outcome::connect_timeout;
    if (part.answered() || end.outcome == Outcome::client_mistake) co_return;
    part.failed.push_back({&mirror, std::move(end.why)});
    const auto now = Loop::now();
    const auto pause =
        next_attempt(retry, {.outcome = part.outcome,
                             .read = order.parsed.read,
                             .sent = end.sent,
                             .retries_made = part.retries,
                             .tried = part.tried.size(),
                             .mirrors = set.size(),
                             .left = std::chrono::duration_cast<Micros>(query.deadline - now)});
    if (!pause) co_return;
    if (*pause > Micros{0}) {
      QueryStop stop(query);
      co_await sleep(worker.loop, now + *pause, stop);
    }
    ++part.retries;
    worker.counters.add(Count::retries);
  }
}

bool reject(Query& query, const ShardOrder& order, ShardPart& part, std::string why) {
  const auto& set = *part.shard->mirrors;
  query.worker.counters.add(Count::merge_rejected);
  part.outcome = part.unsettled->outcome = Outcome::wrong_reply;
  part.unsettled->why = why;
  part.failed.push_back({part.mirror, std::move(why)});
  settle(query, part);
  const auto left = std::chrono::duration_cast<Micros>(query.deadline - Loop::now());
  const auto pause =
      next_attempt(retry_settings(query, order, *part.shard), {.outcome = part.outcome,
                                                               .read = order.parsed.read,
                                                               .sent = true,
                                                               .retries_made = part.retries,
                                                               .tried = part.tried.size(),
                                                               .mirrors = set.size(),
                                                               .left = left});
  if (query.stopped || pause != Micros{0}) return false;
  ++part.retries;
  query.worker.counters.add(Count::retries);
  return true;
}

void settle(Query& query, ShardPart& part) {
  if (part.unsettled)
    record(*part.mirror, part.shard->mirrors->failure_floor(), query.worker.loop.index, Loop::now(),
           *part.unsettled);
  part.unsettled.reset();
  give_back(query, part.reply);
}

}  // namespace karmad
