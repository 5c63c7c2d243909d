#include "balancer/dispatch/try_mirror.hpp"

#include <array>

#include "agent/state_error.hpp"
#include "agent/transport/http_syntax.hpp"
#include "agent/transport/http_write.hpp"

namespace karmad {
namespace {

constexpr std::string_view kIdempotencyKey = "Idempotency-Key";

constexpr std::string_view kForwardedFor = "X-Forwarded-For";

/// Whom the request came from: those the client names, and then the client.
std::string forwarded_for(const Query& query) {
  std::string names;
  for (const auto& field : query.head.all())
    if (wire::same_word(field.name, kForwardedFor) && !field.value.empty())
      names.append(field.value).append(", ");
  return names.append(query.client);
}

/// Tells the set's state machine what the attempt showed of the mirror, and takes an error answer
/// that says so for what it is: the mirror's state, not the client's mistake (SD-020 … SD-023).
/// True when the mirror is gone by that.
bool report(MirrorSet& set, std::size_t mirror, AttemptEnd& end) {
  using What = UseError::What;
  std::optional<UseError> error;
  switch (end.outcome) {
    case Outcome::broken:
    case Outcome::closed_early:
      error = UseError{.what = What::network, .why = end.why};
      break;
    case Outcome::connect_failed:
      if (end.name_refused)
        error = UseError{
            .when = UseError::When::connecting, .what = What::name_refused, .why = end.why};
      break;
    case Outcome::agent_error:
    case Outcome::client_mistake:
      error = state_error(end.reply.body());
      if (error && end.outcome == Outcome::client_mistake) {
        end.outcome = Outcome::agent_error;
        end.why = error->why;
      }
      break;
    default:
      break;
  }
  if (!error) return false;
  error->generation = end.generation;
  set.met(mirror, *std::move(error), Loop::now());
  return true;
}

/// The fields of one attempt that are ours.
class Extra {
 public:
  Extra(const Query& query, const ShardOrder& order, std::string preference)
      : preference_(std::move(preference)) {
    add("X-Backpressure", "1");  // BP-032
    const bool opaque = order.table.opaque != nullptr;
    if (opaque && !query.client.empty()) {
      from_ = forwarded_for(query);
      add(kForwardedFor, from_);
    }
    if (!preference_.empty()) add(kReadPreference, preference_);
    if (query.min_generation) add(kMinGeneration, query.head.find(kMinGeneration));
    if (const auto key = query.head.find(kIdempotencyKey); !opaque && !key.empty())
      add(kIdempotencyKey, key);
  }
  Extra(const Extra&) = delete;
  Extra& operator=(const Extra&) = delete;
  std::span<const Field> fields() const { return {fields_.data(), count_}; }

 private:
  void add(std::string_view name, std::string_view value) { fields_[count_++] = {name, value}; }

  std::string from_;
  std::string preference_;
  std::array<Field, kMaxExtra> fields_;
  std::size_t count_ = 0;
};

/// Time-outs that escalate hold for attempts in their order (CO-044).
Micros query_timeout(const ShardOrder& order, const ShardPart& part) {
  if (order.parsed.options.agent_query_timeout) return *order.parsed.options.agent_query_timeout;
  const auto& steps = order.table.search_timeouts;
  if (steps.empty() || !order.parsed.read) return order.table.query_timeout;
  return steps[std::min<std::size_t>(part.attempts, steps.size() - 1)];
}

/// Nothing where nobody will read it.
std::optional<OpenAttempt> traced(Query& query, const ShardOrder& order, const ShardPart& part,
                                  const Mirror& mirror) {
  if (!query.wants_trace) return std::nullopt;
  const auto& set = *part.shard->mirrors;
  const auto [suitable, acceptable] =
      set.counts(question_of(query, order, part), query.worker.loop.index);
  AttemptStart start{.shard = part.number,
                     .mirror = mirror.agent->name,
                     .reason = part.reason,
                     .choice = {.strategy = set.strategy_name(),
                                .suitable = static_cast<std::uint8_t>(suitable),
                                .acceptable = static_cast<std::uint8_t>(acceptable)},
                     .pause = part.pause,
                     .at = Loop::now()};
  if (part.reason == AttemptReason::initial) start.hedging = part.hedging;
  return query.trace.begin(start);
}

/// What the attempt shows of how busy the agent is (`max_in_flight = auto`).
void tell_seat(Seat& seat, const AttemptEnd& end) {
  using enum Outcome;
  const auto outcome = end.outcome;
  const bool refused =
      outcome == agent_error && (end.reply.status == 429 || end.reply.status == 503);
  if (outcome == answered || outcome == answered_with_warning || (end.outrun && end.sent))
    return seat.answered(end.took);
  if (outcome == query_timeout || outcome == connect_timeout || end.out_of_time || refused)
    seat.dropped();
}

/// Where the rest of the reply is still to come: it goes on with what the attempt holds. Without an
/// answer nobody wants it.
void keep_rest(Query& query, ShardPart& part, Selected& selected, AttemptEnd& end, bool aware,
               Micros patience, char ends_in) {
  const bool answered =
      end.outcome == Outcome::answered || end.outcome == Outcome::answered_with_warning;
  if (!answered) return std::exchange(end.rest_on, {})->close();
  auto& set = *part.shard->mirrors;
  auto& breaker = part.shard->protection->breaker;
  const RestOfReply::Source source{.loop = query.worker.loop,
                                   .pool = query.worker.pool(set[selected.mirror].agent),
                                   .set = set,
                                   .number = selected.mirror,
                                   .aware = aware,
                                   .breaker = breaker ? &*breaker : nullptr,
                                   .patience = patience,
                                   .ends_in = ends_in};
  part.rest = std::make_unique<RestOfReply>(source, std::move(selected.seat), end);
}

}  // namespace

Task<void> try_mirror(Query& query, const ShardOrder& order, ShardPart& part, Selected selected,
                      AttemptEnd& end) {
  const auto& shard = *part.shard;
  auto& set = *shard.mirrors;
  auto& mirror = set[selected.mirror];
  auto& worker = query.worker;
  const auto& settings = query.topology->settings;
  const bool aware = order.selection.at(shard) != nullptr;
  Buffer written(worker.loop.buffers);
  const auto request =
      order.dialect.write(query.request, order.parsed, order.plan, mirror.tables, *written);
  if (written->empty()) written.give_back();  // the client's own words go out
  const Extra extra(
      query, order,
      order.selection.passed_on(set.view(worker.loop.index)->picture, selected.mirror));
  const AttemptOrder attempt_order{
      .method = request.method,
      .target = request.target,
      .content_type = request.content_type,
      .body = request.body.empty() && request.method != "POST" && request.method != "PUT"
                  ? std::nullopt
                  : std::optional(request.body),
      .extra = extra.fields(),
      .passed_on = order.table.opaque ? &query.head : nullptr,
      .repeatable = order.parsed.read,
      .connect_timeout = selected.connect_timeout,
      .first_byte_timeout = order.table.first_byte_timeout,
      .query_timeout = query_timeout(order, part),
      .note_first_byte = query.wants_trace,
      .deadline = query.deadline,
      .limits = {.most = settings.max_packet_size.value,
                 .whole = order.plan == nullptr && order.parsed.read
                              ? settings.reply_buffer_size.value
                              : settings.max_packet_size.value}};
  worker.counters.add(Count::attempts);
  mirror.attempts.fetch_add(1, std::memory_order_relaxed);
  auto trace = traced(query, order, part, mirror);
  ++part.attempts;
  PartStop stop(query, part);
  co_await attempt(worker.loop, worker.pool(mirror.agent), attempt_order, stop, end);
  end.outrun = part.outrun && end.outcome == Outcome::cancelled;
  if (end.stale) worker.counters.add(Count::stale_connections);
  if (end.outcome == Outcome::connect_timeout) worker.counters.add(Count::connect_timeouts);
  if (end.outcome == Outcome::query_timeout)
    worker.counters.add(end.first_byte_timeout ? Count::first_byte_timeouts
                                               : Count::query_timeouts);
  char ends_in = 0;
  if (end.outcome == Outcome::answered) {
    auto judgement = order.dialect.judge(
        {end.reply.status, end.reply.content_type(), end.reply.body(), end.reply.left == 0},
        order.plan != nullptr);
    end.outcome = judgement.outcome;
    end.why = std::move(judgement.message);
    ends_in = judgement.ends_in;
  }
  if (aware && report(set, selected.mirror, end))
    part.gone.emplace_back(selected.mirror, Loop::now());
  tell_seat(selected.seat, end);
  if (end.rest_on)
    keep_rest(query, part, selected, end, aware, attempt_order.query_timeout, ends_in);
  if (auto& breaker = shard.protection->breaker; breaker && !part.rest)
    breaker->ended(selected.mirror, order.parsed.read ? Operation::read : Operation::write,
                   end.outcome, Loop::now());
  if (trace) {
    if (end.connect) trace->connected(end.sent_at);
    if (end.first_byte) trace->first_byte(*end.first_byte);
    trace->end(end.ended, end.outcome, end.why);
  }
  const bool answered =
      end.outcome == Outcome::answered || end.outcome == Outcome::answered_with_warning;
  if (!part.rest && (order.plan == nullptr || !answered))
    record(mirror, set.failure_floor(), worker.loop.index, end.ended, end);
}

}  // namespace karmad
