#include "balancer/shard/try_mirror.hpp"

#include "agent/mirrors/state_error.hpp"
#include "agent/transport/http/http_syntax.hpp"
#include "agent/transport/http/http_write.hpp"
#include "balancer/core/long_work.hpp"
#include "balancer/shard/after_attempt.hpp"
#include "balancer/shard/complaints.hpp"

namespace karmad {
namespace {

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
      end.nothing_done = error && error->nothing_done;
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

/// Time-outs that escalate hold for attempts in their order (CO-044).
Micros query_timeout(const ShardOrder& order, const ShardPart& part) {
  if (order.parsed.options.agent_query_timeout) return *order.parsed.options.agent_query_timeout;
  const auto& steps = order.table.search_timeouts;
  if (steps.empty() || !order.parsed.read) return order.table.query_timeout;
  return steps[std::min<std::size_t>(part.attempts, steps.size() - 1)];
}

/// Nothing without a trace consumer.
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
  if (outcome == query_timeout || outcome == connect_timeout || outcome == unreachable ||
      end.out_of_time || refused)
    seat.dropped();
}

AttemptOrder order_of(Query& query, const ShardOrder& order, const ShardPart& part,
                      const AgentRequest& request, std::span<const Field> extra,
                      Micros connect_timeout) {
  const auto& settings = query.topology->settings;
  return {.began = query.attempt_begins(),
          .method = request.method,
          .target = request.target,
          .content_type = request.content_type,
          .body = request.body.empty() && request.method != "POST" && request.method != "PUT"
                      ? std::nullopt
                      : std::optional(request.body),
          .extra = extra,
          .passed_on = order.table.dialect.capabilities.passes_fields ? &query.head : nullptr,
          .repeatable = order.parsed.read && !order.parsed.follow_up,
          .connect_timeout = connect_timeout,
          .first_byte_timeout = order.table.first_byte_timeout,
          .query_timeout = query_timeout(order, part),
          .note_first_byte = query.wants_trace,
          .deadline = query.deadline,
          .limits = {.most = settings.max_packet_size.value,
                     .whole = order.plan == nullptr && order.parsed.read
                                  ? settings.reply_buffer_size.value
                                  : settings.max_packet_size.value,
                     .memory = query.memory}};
}

}  // namespace

ExtraFields::ExtraFields(const Query& query, const ShardOrder& order, std::string&& preference) {
  add("X-Backpressure", "1");  // BP-032
  const bool passes_fields = order.table.dialect.capabilities.passes_fields;
  if (passes_fields && !query.client.empty()) {
    from_ = forwarded_for(query);
    add(kForwardedFor, from_);
  }
  if (!preference.empty()) add(kReadPreference, preference_ = std::move(preference));
  if (query.min_generation) add(kMinGeneration, query.head.find(kMinGeneration));
  if (const auto key = query.head.find(kIdempotencyKey); !passes_fields && !key.empty())
    add(kIdempotencyKey, key);
}

MirrorTry::MirrorTry(Query& query, const ShardOrder& order, ShardPart& part, Selected selected,
                     AttemptEnd& end)
    : AttemptInFlight(selected.mirror),
      query_(query),
      order_(order),
      part_(part),
      selected_(std::move(selected)),
      end_(end),
      set_(*part.shard->mirrors),
      mirror_(set_[selected_.mirror]),
      aware_(order.selection.at(*part.shard) != nullptr),
      written_(query.worker.loop.buffers),
      extra_(
          query, order,
          order.selection.passed_on(set_.view(query.worker.loop.index)->picture, selected_.mirror)),
      attempt_(order_of(
          query, order, part,
          order.dialect.write(query.request, order.parsed, order.plan, mirror_.tables, *written_),
          extra_.all(), selected_.connect_timeout)),
      trace_(traced(query, order, part, mirror_)),
      under_way_(part.shard->protection->standings, selected_.mirror),
      stop_(query, part) {
  if (written_->empty()) written_.give_back();  // the client's own words go out
  written_memory_.charge(query.memory, written_->capacity());
  query.worker.counters.add(Count::attempts);
  mirror_.tally.attempted(query.worker.loop.index);
  ++part.attempts;
  set_.watch(*this, query.worker.loop.index);
}

Task<void> MirrorTry::ask() {
  auto& worker = query_.worker;
  return attempt(worker.loop, worker.pool(mirror_.agent), attempt_, stop_, end_);
}

/// The attempt ends now if that is of use: where it may be repeated, by the rules that would hold
/// if it had ended so itself.
void MirrorTry::unreachable() {
  if (!query_.topology->settings.interrupt_unreachable.value) return;
  const auto arrived = end_.reply.bytes.size();
  if (arrived > std::exchange(arrived_, arrived)) return;  // it is answering
  AttemptEnd end;
  end.outcome = Outcome::unreachable;
  end.sent = end_.sent_at != TimePoint{};
  const ShardCall call{query_, order_, part_};
  if (would_be_repeated(call, end)) static_cast<Stop&>(stop_).request(Why::unreachable);
}

/// Where the rest of the reply is still to come: it goes on with what the attempt holds. Without an
/// answer it is not needed.
void MirrorTry::keep_rest(char ends_in) {
  const bool answered =
      end_.outcome == Outcome::answered || end_.outcome == Outcome::answered_with_warning;
  if (!answered) return std::exchange(end_.rest_on, {})->close();
  auto& breaker = part_.shard->protection->breaker;
  const RestOfReply::Source source{.loop = query_.worker.loop,
                                   .pool = query_.worker.pool(mirror_.agent),
                                   .set = set_,
                                   .number = selected_.mirror,
                                   .aware = aware_,
                                   .breaker = breaker ? &*breaker : nullptr,
                                   .patience = attempt_.query_timeout,
                                   .ends_in = ends_in};
  part_.rest = std::make_unique<RestOfReply>(source, std::move(selected_.seat), end_);
}

Judgement MirrorTry::check() const {
  const auto& reply = end_.reply;
  return order_.dialect.judge(
      {reply.status, reply.content_type(), reply.body(), reply.left == 0, &query_.request},
      order_.plan != nullptr);
}

/// Of most answers only the beginning is looked at, and the rest is passed over in large steps.
bool MirrorTry::is_long_to_check() const {
  constexpr std::size_t kQuick = 4;
  return end_.outcome == Outcome::answered &&
         is_long_work(query_, end_.reply.body().size() / kQuick);
}

Task<void> MirrorTry::check_aside() {
  auto work = [this] { checked_ = check(); };
  Stop& stop = stop_;
  stop.at(query_.deadline, Why::deadline);
  const auto ended = co_await query_.worker.process.helpers->run(query_.worker.loop, stop, work);
  stop.disarm();
  if (ended == HelperPool::End::done) co_return;
  end_.outcome = Outcome::cancelled;
  end_.out_of_time = stop.why() == Why::deadline;
  end_.why = "its answer was not looked through any more";
  if (ended == HelperPool::End::refused) part_.refused = too_much_long_work();
}

/// Whether it is not known yet whose fault the error is. It is the mirror's where the answer says
/// something of its state; and the client's where another mirror says the same: then `end_` says
/// so.
bool MirrorTry::is_undecided(std::string_view complaint) {
  if (end_.outcome != Outcome::agent_error) return false;
  if (aware_ && state_error(end_.reply.body())) return false;
  const auto advice = advice_in(order_, end_);
  if (advice.kind != Advice::Kind::none || advice.overload) return false;
  if (!is_mistake_of_query(query_, order_, part_, selected_.mirror, complaint, end_)) return true;
  end_.outcome = Outcome::client_mistake;
  return false;
}

void MirrorTry::judge() {
  auto& counters = query_.worker.counters;
  if (auto& left = part_.selection_left) {  // connecting, or waiting to, took of it (SS-111)
    const auto connected = end_.sent_at != TimePoint{} ? end_.sent_at : end_.ended;
    *left -= std::chrono::duration_cast<Micros>(connected - attempt_.began);
  }
  end_.outrun = part_.outrun && end_.outcome == Outcome::cancelled;
  if (end_.stale) counters.add(Count::stale_connections);
  if (end_.outcome == Outcome::connect_timeout) counters.add(Count::connect_timeouts);
  if (end_.outcome == Outcome::unreachable) counters.add(Count::attempts_interrupted);
  if (end_.outcome == Outcome::query_timeout)
    counters.add(end_.first_byte_timeout ? Count::first_byte_timeouts : Count::query_timeouts);
  char ends_in = 0;
  std::string complaint;
  if (end_.outcome == Outcome::answered) {
    auto judgement = checked_ ? *std::move(checked_) : check();
    end_.outcome = judgement.outcome;
    if (!judgement.message.empty()) end_.why = std::move(judgement.message);
    ends_in = judgement.ends_in;
    complaint = std::move(judgement.complaint);
  }
  if (aware_ && report(set_, selected_.mirror, end_))
    part_.gone.emplace_back(selected_.mirror, Loop::now());
  const bool undecided = !complaint.empty() && is_undecided(complaint);
  if (end_.outcome == Outcome::client_mistake &&
      order_.table.dialect.capabilities.understands_errors)
    settle_complaints(query_, order_, part_.shard, end_.outcome);
  if (!undecided) part_.shard->protection->standings.ended(selected_.mirror, end_.outcome);
  tell_seat(selected_.seat, end_);
  if (end_.rest_on) keep_rest(ends_in);
  if (auto& breaker = part_.shard->protection->breaker; breaker && !part_.rest && !undecided)
    breaker->ended(selected_.mirror, order_.parsed.read ? Operation::read : Operation::write,
                   end_.outcome, Loop::now());
  if (trace_) {
    if (end_.connect) trace_->connected(end_.sent_at);
    if (end_.first_byte) trace_->first_byte(*end_.first_byte);
    trace_->end(end_.ended, end_.outcome, end_.why);
  }
  const bool answered =
      end_.outcome == Outcome::answered || end_.outcome == Outcome::answered_with_warning;
  if (!part_.rest && !undecided && (order_.plan == nullptr || !answered))
    record(mirror_, set_.failure_floor(), query_.worker.loop.index, end_.ended, end_);
}

}  // namespace karmad
