#include "agent/mirrors/attempt.hpp"

#include <algorithm>
#include <array>
#include <cassert>

#include "agent/json/equals_literal.hpp"
#include "agent/transport/http/field_names.hpp"
#include "agent/transport/http/http_write.hpp"

namespace karmad {
namespace {

/// Arms `stop` for a step of at most `longest`, bounded by the query's deadline.
void allow(Stop& stop, TimePoint now, Micros longest, StopReason why, TimePoint deadline) {
  if (now + longest <= deadline) {
    stop.arm(now + longest, why);
  } else {
    stop.arm(deadline, StopReason::deadline);
  }
}

/// Arms `stop` for the reply; the result says what holds from its first byte on.
FirstByte allow_reply(Stop& stop, TimePoint now, const AttemptRequest& request) {
  FirstByte first_byte;
  const auto whole = now + request.query_timeout;
  if (request.rest != nullptr || !request.first_byte_timeout ||
      *request.first_byte_timeout >= request.query_timeout) {
    allow(stop, now, request.query_timeout, StopReason::query_timeout, request.deadline);
    return first_byte;
  }
  first_byte.then = std::min(whole, request.deadline);
  first_byte.then_why =
      whole <= request.deadline ? StopReason::query_timeout : StopReason::deadline;
  allow(stop, now, *request.first_byte_timeout, StopReason::first_byte_timeout, request.deadline);
  return first_byte;
}

/// Writes the request's head; X-Timeout-Ms tells the agent how long karmad will wait, unless that
/// is the client's time as well, X-Karmad-Hops how many karmads the request has passed.
void write_head(std::string& head, const AttemptRequest& request, std::string_view host,
                Micros left) {
  const std::array<NumberField, 2> numbers{
      {{kTimeoutMs, static_cast<std::uint64_t>(std::max<std::int64_t>(1, left.count() / 1000))},
       {kHops, request.hops}}};
  const std::size_t skipped = request.rest != nullptr ? 1 : 0;
  const std::size_t hops = request.hops == 0 ? 0 : 1;
  std::optional<std::uint64_t> length;
  if (request.body) length = request.body->size();
  if (request.rest != nullptr) length = request.rest->length();
  write_request_head(head, {.method = request.method,
                            .target = request.target,
                            .host = !request.host.empty()   ? request.host
                                    : host.starts_with('/') ? "localhost"
                                                            : host,
                            .content_type = request.content_type,
                            .content_length = length,
                            .numbers = std::span(numbers).subspan(skipped, 1 - skipped + hops),
                            .extra = request.extra,
                            .passed_on = request.passed_on,
                            .withheld = request.withheld});
}

void unasked(Pool& pool, AttemptResult& result) {
  result.unasked = true;
  pool.unasked();
}

/// Returns a connection after its exchange, unless the result has something to read on it.
void pass_or_return(ConnectionPtr connection, const ExchangeResult& exchanged, Pool& pool,
                    AttemptResult& result) {
  if (exchanged.upgraded) {
    connection->keep_no_more();
    result.reply.upgraded = std::move(connection);
  } else if (result.reply.left > 0) {
    result.rest = {std::move(connection), exchanged.keep_connection};
  } else if (exchanged.keep_connection) {
    pool.give(std::move(connection));
  } else {
    connection->close();
  }
}

}  // namespace

// One coroutine, because another would cost every request a frame.
// NOLINTNEXTLINE(readability-function-cognitive-complexity)
Task<void> attempt(Loop& loop, Pool& pool, const AttemptRequest& request, Stop& stop,
                   AttemptResult& result) {
  assert(request.began != TimePoint{});
  auto now = request.began;
  pool.agent().counts.last_query.store(now.time_since_epoch().count(), std::memory_order_relaxed);
  result.generation = pool.agent().generation.load(std::memory_order_relaxed);
  // The agent may have just closed a kept connection. That is no error of the agent: the request is
  // sent again on a new connection (SS-018).
  for (auto from = Pool::From::idle;; from = Pool::From::fresh) {
    auto connection = from == Pool::From::idle ? pool.take_idle() : ConnectionPtr();
    bool reused = connection != nullptr;
    if (!reused) {
      allow(stop, now, request.connect_timeout, StopReason::connect_timeout, request.deadline);
      auto taken = co_await pool.take(from, stop);
      if (!taken) {
        result.outcome = taken.error().outcome;
        result.why = std::move(taken.error().why);
        result.name_refused = taken.error().name_refused;
        break;
      }
      now = Loop::now();
      reused = taken->reused;
      result.connect = taken->connect;
      connection = std::move(taken->connection);
    }
    result.generation = connection->generation;
    if (reused && (!request.repeatable || request.looks_first)) {
      const auto came = connection->look_for_unasked();
      if (came == Stream::Unasked::bytes) unasked(pool, result);
      if (came != Stream::Unasked::nothing) {
        connection->close();
        result.stale = true;
        continue;
      }
    }
    const bool notes = request.note_first_byte || request.first_byte_timeout;
    auto first_byte = allow_reply(stop, now, request);
    result.sent_at = now;
    loop.head.clear();
    write_head(loop.head, request, pool.agent().name,
               std::min(request.query_timeout,
                        std::chrono::duration_cast<Micros>(request.deadline - now)));
    Outgoing outgoing{loop.head, request.body.value_or("")};
    if (outgoing.body.size() <= kJoinedBody) outgoing = {loop.head.append(outgoing.body), {}};
    ExchangeResult exchanged;
    co_await exchange(loop, *connection, outgoing, equals_literal(request.method, "HEAD"),
                      request.limits, stop, result.reply, exchanged, notes ? &first_byte : nullptr,
                      {request.rest, request.query_timeout});
    if (exchanged.unasked) unasked(pool, result);
    // Nothing was sent, so the connection counts as not used.
    if (exchanged.unsent && reused) {
      connection->close();
      result.stale = true;
      now = Loop::now();
      continue;
    }
    result.sent = !exchanged.unsent;
    result.first_byte = first_byte.at;
    result.head = first_byte.head;
    result.outcome = exchanged.outcome;
    if (!exchanged.why.empty()) result.why = std::move(exchanged.why);
    pass_or_return(std::move(connection), exchanged, pool, result);
    const bool stale =
        reused && !exchanged.any_bytes &&
        (result.outcome == Outcome::closed_early || result.outcome == Outcome::broken);
    result.stale = result.stale || stale;
    if (stale && !request.repeatable) {
      result.outcome = Outcome::local_error;
      result.why =
          "closed a kept connection while the request was sent; the request may have taken effect";
    }
    if (!stale || !request.repeatable) break;
    loop.buffers.give(std::move(result.reply.bytes));
    result.why.clear();
    now = Loop::now();
  }
  stop.disarm();
  result.ended = Loop::now();
  result.out_of_time = stop.why() == StopReason::deadline;
  result.first_byte_timeout = stop.why() == StopReason::first_byte_timeout;
  result.took = std::chrono::duration_cast<Micros>(result.ended - request.began);
}

namespace {

/// Whether the agent sent unrequested bytes, and the outcome does not show it.
bool also_wrong(const AttemptResult& result) {
  return result.unasked && result.outcome != Outcome::wrong_reply;
}

/// Whether an end without a reply suggests that the agent is unreachable. A timeout suggests it for
/// a ping only: a query may be slow.
bool shows_unreachable(const AttemptResult& result, bool ping) {
  const auto outcome = result.outcome;
  return outcome == Outcome::connect_timeout || (outcome == Outcome::query_timeout && ping) ||
         (outcome == Outcome::connect_failed && !result.name_refused);
}

bool reports_overload(const AttemptResult& result) {
  return result.outcome == Outcome::agent_error &&
         (result.reply.status == 429 || result.reply.status == 503);
}

/// Records the end of an attempt in the agent's shared counters.
void record(Agent& agent, unsigned worker, TimePoint now, const AttemptResult& result,
            const Event& event) {
  const auto leads_to = consequence(result.outcome);
  auto& counters = agent.counters;
  agent.history.add(worker, now, event);
  if (is_reply(result.outcome)) {
    counters.last_reply.store(now.time_since_epoch().count(), std::memory_order_relaxed);
  } else if (shows_unreachable(result, event.ping) && !counters.replied_since(now - result.took)) {
    counters.last_unreachable.store(now.time_since_epoch().count(), std::memory_order_relaxed);
  }
  if (result.outcome != Outcome::cancelled) {
    counters.last_answer.store(now.time_since_epoch().count(), std::memory_order_relaxed);
    counters.last_took.store(result.took.count(), std::memory_order_relaxed);
  }
  if (leads_to.success) {
    counters.answered.store(true, std::memory_order_relaxed);
    // Checked first: writing a cache line that all workers read is more expensive.
    if (!result.unasked && counters.errors_in_a_row.load(std::memory_order_relaxed) != 0)
      counters.errors_in_a_row.store(0, std::memory_order_relaxed);
  }
  if (also_wrong(result)) {
    agent.history.add(worker, now, {.counter = Counter::wrong_replies});
    counters.errors_in_a_row.fetch_add(1, std::memory_order_relaxed);
    agent.last_error("sent unrequested bytes");
  }
  if (leads_to.error) {
    counters.errors_in_a_row.fetch_add(1, std::memory_order_relaxed);
    agent.last_error(result.why);
  }
}

}  // namespace

void record(Mirror& mirror, Micros failure_floor, unsigned worker, TimePoint now,
            const AttemptResult& result) {
  const auto leads_to = consequence(result.outcome);
  const Event event{.counter = leads_to.counter, .took = result.took, .connect = result.connect};
  record(*mirror.agent, worker, now, result, event);
  mirror.tally.add(worker, event);
  if (also_wrong(result)) mirror.tally.add(worker, {.counter = Counter::wrong_replies});
  const bool answered = is_answered(result.outcome);
  if (answered) {
    mirror.latency.add(worker, now, result.took);
    mirror.signals.answered(now, result.took);
  }
  // Ended by the query's deadline or by a faster mirror: no error of the mirror, but a sign of
  // slowness.
  const bool cut_off = (result.out_of_time || result.lost_race) && result.sent;
  if (leads_to.slow || cut_off)
    mirror.latency.add(worker, now, std::max(result.took, failure_floor));
  if (cut_off || result.outcome == Outcome::query_timeout) mirror.signals.cut_off(now, result.took);
  const bool overtaken =
      result.outcome == Outcome::query_timeout &&
      mirror.signals.answered_at() > (now - result.took).time_since_epoch().count();
  if (leads_to.error) mirror.signals.failed(result.took, reports_overload(result), !overtaken);
  // Slow attempts are included: otherwise a quantile used as a limit would fall each time.
  if (answered || cut_off || result.outcome == Outcome::query_timeout ||
      (result.outcome == Outcome::unreachable && result.sent)) {
    mirror.record->quantiles.add(worker, now, result.took);
    if (!result.update) mirror.record->answers.add(worker, now, result.took);
  }
}

void record_ping(Agent& agent, unsigned worker, TimePoint now, Micros trip,
                 const AttemptResult& result) {
  const auto leads_to = consequence(result.outcome);
  if (leads_to.success) agent.counters.ping_trip.store(trip.count(), std::memory_order_relaxed);
  record(
      agent, worker, now, result,
      {.counter = leads_to.counter, .ping = true, .took = result.took, .connect = result.connect});
}

}  // namespace karmad
