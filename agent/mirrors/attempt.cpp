#include "agent/mirrors/attempt.hpp"

#include <algorithm>
#include <cassert>
#include <charconv>

#include "agent/json/same.hpp"
#include "agent/transport/http/http_write.hpp"

namespace karmad {
namespace {

/// Arms `stop` for a step that may take `longest`, and never longer than the query has.
void allow(Stop& stop, TimePoint now, Micros longest, Why why, TimePoint deadline) {
  if (now + longest <= deadline) {
    stop.at(now + longest, why);
  } else {
    stop.at(deadline, Why::deadline);
  }
}

/// The agent is told how long we shall wait for it.
void write_head(std::string& head, const AttemptOrder& order, std::string_view host, Micros left) {
  std::array<char, 24> digits;
  const auto ms = std::max<std::int64_t>(1, left.count() / 1000);
  const auto* end = std::to_chars(digits.data(), digits.data() + digits.size(), ms).ptr;
  std::array<Field, kMaxExtra + 1> extra;
  extra[0] = {kTimeoutMs, {digits.data(), static_cast<std::size_t>(end - digits.data())}};
  std::ranges::copy(order.extra, extra.begin() + 1);
  write_request_head(
      head, {.method = order.method,
             .target = order.target,
             .host = host.starts_with('/') ? "localhost" : host,
             .content_type = order.content_type,
             .content_length =
                 order.body ? std::optional<std::uint64_t>(order.body->size()) : std::nullopt,
             .extra = {extra.data(), order.extra.size() + 1},
             .passed_on = order.passed_on});
}

}  // namespace

namespace {

void unasked(Pool& pool, AttemptEnd& end) {
  end.unasked = true;
  pool.unasked();
}

}  // namespace

Task<void> attempt(Loop& loop, Pool& pool, const AttemptOrder& order, Stop& stop, AttemptEnd& end) {
  assert(order.began != TimePoint{});
  auto now = order.began;
  pool.agent().counts.last_query.store(now.time_since_epoch().count(), std::memory_order_relaxed);
  end.generation = pool.agent().generation.load(std::memory_order_relaxed);
  // The agent may have closed a kept connection just now. That is no error of the agent: the
  // request is sent once more, on a new connection (SS-018).
  for (auto from = Pool::From::idle;; from = Pool::From::fresh) {
    auto connection = from == Pool::From::idle ? pool.take_idle() : ConnectionPtr();
    bool reused = connection != nullptr;
    if (!reused) {
      allow(stop, now, order.connect_timeout, Why::connect_timeout, order.deadline);
      auto taken = co_await pool.take(from, stop);
      if (!taken) {
        end.outcome = taken.error().outcome;
        end.why = std::move(taken.error().why);
        end.name_refused = taken.error().name_refused;
        break;
      }
      now = Loop::now();
      reused = taken->reused;
      end.connect = taken->connect;
      connection = std::move(taken->connection);
    }
    end.generation = connection->generation;
    if (reused && !order.repeatable) {
      const auto came = connection->look_for_unasked();
      if (came == Stream::Unasked::bytes) unasked(pool, end);
      if (came != Stream::Unasked::nothing) {
        connection->close();
        end.stale = true;
        continue;
      }
    }
    FirstByte first_byte;
    const bool notes = order.note_first_byte || order.first_byte_timeout;
    if (order.first_byte_timeout && *order.first_byte_timeout < order.query_timeout) {
      const auto whole = now + order.query_timeout;
      first_byte.then = std::min(whole, order.deadline);
      first_byte.then_why = whole <= order.deadline ? Why::query_timeout : Why::deadline;
      allow(stop, now, *order.first_byte_timeout, Why::first_byte_timeout, order.deadline);
    } else {
      allow(stop, now, order.query_timeout, Why::query_timeout, order.deadline);
    }

    end.sent_at = now;
    loop.head.clear();
    write_head(
        loop.head, order, pool.agent().name,
        std::min(order.query_timeout, std::chrono::duration_cast<Micros>(order.deadline - now)));
    Outgoing request{loop.head, order.body.value_or("")};
    if (request.body.size() <= kJoinedBody) request = {loop.head.append(request.body), {}};
    ExchangeEnd exchanged;
    co_await exchange(loop, *connection, request, same(order.method, "HEAD"), order.limits, stop,
                      end.reply, exchanged, notes ? &first_byte : nullptr);
    if (exchanged.unasked) unasked(pool, end);
    // Nothing was sent yet: as good as not taken.
    if (exchanged.unsent && reused) {
      connection->close();
      end.stale = true;
      now = Loop::now();
      continue;
    }
    end.sent = !exchanged.unsent;
    end.first_byte = first_byte.at;
    end.outcome = exchanged.outcome;
    if (!exchanged.why.empty()) end.why = std::move(exchanged.why);
    if (end.reply.left > 0) {
      end.rest_on = std::move(connection);
      end.keep_connection = exchanged.keep_connection;
    } else if (exchanged.keep_connection) {
      pool.give(std::move(connection));
    } else {
      connection->close();
    }
    const bool stale = reused && !exchanged.any_bytes &&
                       (end.outcome == Outcome::closed_early || end.outcome == Outcome::broken);
    end.stale = end.stale || stale;
    if (stale && !order.repeatable) {
      end.outcome = Outcome::own_trouble;
      end.why = "closed a kept connection while the request was sent; it may have taken effect";
    }
    if (!stale || !order.repeatable) break;
    loop.buffers.give(std::move(end.reply.bytes));
    end.why.clear();
    now = Loop::now();
  }
  stop.disarm();
  end.ended = Loop::now();
  end.out_of_time = stop.why() == Why::deadline;
  end.first_byte_timeout = stop.why() == Why::first_byte_timeout;
  end.took = std::chrono::duration_cast<Micros>(end.ended - order.began);
}

namespace {

/// Whether the agent sent unrequested bytes and the outcome does not say so.
bool also_wrong(const AttemptEnd& end) {
  return end.unasked && end.outcome != Outcome::wrong_reply;
}

/// Whether an end without a reply suggests that the agent cannot be reached: a query may just be
/// slow, a ping is not.
bool shows_unreachable(const AttemptEnd& end, bool ping) {
  switch (end.outcome) {
    case Outcome::connect_failed:
      return !end.name_refused;
    case Outcome::connect_timeout:
      return true;
    case Outcome::query_timeout:
      return ping;
    default:
      return false;
  }
}

/// Enters the end of an attempt into what all workers share about the agent.
void record(Agent& agent, unsigned worker, TimePoint now, const AttemptEnd& end,
            const Event& event) {
  const auto leads_to = consequence(end.outcome);
  auto& vitals = agent.vitals;
  agent.history.add(worker, now, event);
  if (is_reply(end.outcome)) {
    vitals.last_reply.store(now.time_since_epoch().count(), std::memory_order_relaxed);
  } else if (shows_unreachable(end, event.ping) && !vitals.replied_since(now - end.took)) {
    vitals.last_unreachable.store(now.time_since_epoch().count(), std::memory_order_relaxed);
  }
  if (end.outcome != Outcome::cancelled) {
    vitals.last_answer.store(now.time_since_epoch().count(), std::memory_order_relaxed);
    vitals.last_took.store(end.took.count(), std::memory_order_relaxed);
  }
  if (leads_to.success) {
    vitals.answered.store(true, std::memory_order_relaxed);
    // Looked at first: writing a line that all workers read costs more.
    if (!end.unasked && vitals.errors_in_a_row.load(std::memory_order_relaxed) != 0)
      vitals.errors_in_a_row.store(0, std::memory_order_relaxed);
  }
  if (also_wrong(end)) {
    agent.history.add(worker, now, {.counter = Counter::wrong_replies});
    vitals.errors_in_a_row.fetch_add(1, std::memory_order_relaxed);
    agent.last_error("sent unrequested bytes");
  }
  if (leads_to.error) {
    vitals.errors_in_a_row.fetch_add(1, std::memory_order_relaxed);
    agent.last_error(end.why);
  }
}

}  // namespace

void record(Mirror& mirror, Micros failure_floor, unsigned worker, TimePoint now,
            const AttemptEnd& end) {
  const auto leads_to = consequence(end.outcome);
  const Event event{.counter = leads_to.counter, .took = end.took, .connect = end.connect};
  record(*mirror.agent, worker, now, end, event);
  mirror.tally.add(worker, event);
  if (also_wrong(end)) mirror.tally.add(worker, {.counter = Counter::wrong_replies});
  if (leads_to.success || end.outcome == Outcome::answered_with_warning)
    mirror.latency.add(worker, now, end.took);
  // Cut off by the query's own deadline or by a faster mirror: not the mirror's error, but it was
  // not fast either.
  const bool cut_off = (end.out_of_time || end.outrun) && end.sent;
  if (leads_to.slow || cut_off) mirror.latency.add(worker, now, std::max(end.took, failure_floor));
  // Without those that were too slow to be heard, a quantile would sink each time it is used.
  if (leads_to.success || end.outcome == Outcome::answered_with_warning || cut_off ||
      end.outcome == Outcome::query_timeout || (end.outcome == Outcome::unreachable && end.sent))
    mirror.took(worker, now, end.took);
}

void record_ping(Agent& agent, unsigned worker, TimePoint now, const AttemptEnd& end) {
  const auto leads_to = consequence(end.outcome);
  if (leads_to.success)
    agent.vitals.ping_trip.store((end.took - end.connect.value_or(Micros{})).count(),
                                 std::memory_order_relaxed);
  record(agent, worker, now, end,
         {.counter = leads_to.counter, .ping = true, .took = end.took, .connect = end.connect});
}

}  // namespace karmad
