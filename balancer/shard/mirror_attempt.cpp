#include "balancer/shard/mirror_attempt.hpp"

#include "agent/mirrors/advice.hpp"
#include "agent/mirrors/state_error.hpp"
#include "agent/transport/http/http_syntax.hpp"
#include "agent/transport/http/http_write.hpp"
#include "balancer/core/long_work.hpp"
#include "balancer/shard/complaints.hpp"

namespace karmad {
namespace {

constexpr std::string_view kForwardedFor = "X-Forwarded-For";

/// The addresses that forwarded the request: those in the client's own field, then the client.
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
bool tell_set(MirrorSet& set, std::size_t mirror, AttemptEnd& end) {
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
Micros query_timeout(const ShardOrder& order, unsigned attempts_before) {
  if (order.parsed.options.agent_query_timeout) return *order.parsed.options.agent_query_timeout;
  const auto& steps = order.table.search_timeouts;
  if (steps.empty() || !order.parsed.read) return order.table.query_timeout;
  return steps[std::min<std::size_t>(attempts_before, steps.size() - 1)];
}

/// Nothing without a trace consumer.
std::optional<OpenAttempt> open_trace(const AttemptPlace& place, const action::Send& send,
                                      const Mirror& mirror,
                                      const std::optional<HedgeRules>& hedging) {
  if (!place.query.wants_trace) return std::nullopt;
  AttemptStart start{
      .shard = place.shard_number,
      .mirror = mirror.agent->name,
      .reason = send.reason,
      .choice = {.strategy = place.shard.mirrors->strategy_name(),
                 .suitable = static_cast<std::uint8_t>(send.pick.suitable.size()),
                 .acceptable = static_cast<std::uint8_t>(send.pick.acceptable.size())},
      .pause = send.pause,
      .at = Loop::now()};
  if (send.reason == AttemptReason::initial) start.hedging = hedging;
  return place.query.trace.begin(start);
}

/// In answers of an unknown server (dialect `http`) 410 and 449 have their plain HTTP meaning,
/// unless a sub-status shows otherwise.
bool is_plain(const ShardOrder& order, const AttemptEnd& end, const Advice& advice) {
  return !order.table.dialect.capabilities.understands_errors && advice.sub_status == 0 &&
         (end.reply.status == 410 || end.reply.status == 449);
}

/// What an error answer says of the state of its mirror, or of what to do next.
Advice advice_in(const ShardOrder& order, const AttemptEnd& end) {
  if (end.reply.status < 400) return {};
  ResponseHead head;
  if (!parse_response_head(end.reply.head(), {64 << 10, kMaxFields}, false, head)) return {};
  const auto advice =
      advice_of(end.reply.status, head, end.reply.body(), std::chrono::system_clock::now());
  return is_plain(order, end, advice) ? Advice{} : advice;
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

AttemptOrder order_of(const Query& query, const ShardOrder& order, const action::Send& send,
                      TimePoint began, const AgentRequest& request, std::span<const Field> extra) {
  const auto& settings = query.topology->settings;
  return {.began = began,
          .method = request.method,
          .target = request.target,
          .content_type = request.content_type,
          .body = request.body.empty() && request.method != "POST" && request.method != "PUT"
                      ? std::nullopt
                      : std::optional(request.body),
          .extra = extra,
          .passed_on = order.table.dialect.capabilities.passes_fields ? &query.head : nullptr,
          .repeatable = order.parsed.read && !order.parsed.follow_up,
          .connect_timeout = send.connect_timeout,
          .first_byte_timeout = order.table.first_byte_timeout,
          .query_timeout = query_timeout(order, send.number),
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

MirrorAttempt::MirrorAttempt(const AttemptPlace& place, const action::Send& send, Seat seat,
                             TimePoint began, const std::optional<HedgeRules>& hedging,
                             AttemptEnd& end)
    : AttemptInFlight(send.pick.mirror),
      place_(place),
      query_(place.query),
      order_(place.order),
      slot_(send.slot),
      end_(end),
      set_(*place.shard.mirrors),
      mirror_(set_[mirror]),
      seat_(std::move(seat)),
      aware_(order_.selection.at(place.shard) != nullptr),
      written_(query_.worker.loop.buffers),
      extra_(query_, order_,
             order_.selection.passed_on(set_.view(query_.worker.loop.index)->picture, mirror)),
      attempt_(order_of(query_, order_, send, began,
                        order_.dialect.write(query_.request, order_.parsed, order_.plan,
                                             mirror_.tables, *written_),
                        extra_.all())),
      trace_(open_trace(place, send, mirror_, hedging)),
      stop_(query_) {
  if (written_->empty()) written_.give_back();  // the client's own words go out
  written_memory_.charge(query_.memory, written_->capacity());
  query_.worker.counters.add(Count::attempts);
  mirror_.tally.attempted(query_.worker.loop.index);
  set_.watch(*this, query_.worker.loop.index);
}

Task<void> MirrorAttempt::ask() {
  auto& worker = query_.worker;
  return attempt(worker.loop, worker.pool(mirror_.agent), attempt_, stop_, end_);
}

void MirrorAttempt::cancel(bool lost_race) {
  lost_race_ = lost_race;
  static_cast<Stop&>(stop_).request(Why::cancelled);
}

/// The attempt ends now if that is of use: where it may be repeated, by the rules that would hold
/// if it had ended so itself.
void MirrorAttempt::unreachable() {
  if (!query_.topology->settings.interrupt_unreachable.value) return;
  const auto arrived = end_.reply.bytes.size();
  if (arrived > std::exchange(arrived_, arrived)) return;  // it is answering
  AttemptReport report;
  report.outcome = Outcome::unreachable;
  report.sent = end_.sent_at != TimePoint{};
  if (place_.owner.would_repeat(slot_, report)) static_cast<Stop&>(stop_).request(Why::unreachable);
}

/// Where the rest of the reply is still to come: it goes on with what the attempt holds. Without an
/// answer it is not needed.
void MirrorAttempt::keep_rest(char ends_in, std::unique_ptr<RestOfReply>& rest) {
  const bool answered =
      end_.outcome == Outcome::answered || end_.outcome == Outcome::answered_with_warning;
  if (!answered) return std::exchange(end_.rest_on, {})->close();
  auto& breaker = place_.shard.protection->breaker;
  const RestOfReply::Source source{.loop = query_.worker.loop,
                                   .pool = query_.worker.pool(mirror_.agent),
                                   .set = set_,
                                   .number = mirror,
                                   .aware = aware_,
                                   .breaker = breaker ? &*breaker : nullptr,
                                   .patience = attempt_.query_timeout,
                                   .ends_in = ends_in};
  rest = std::make_unique<RestOfReply>(source, std::move(seat_), end_);
}

Judgement MirrorAttempt::check() const {
  const auto& reply = end_.reply;
  return order_.dialect.judge(
      {reply.status, reply.content_type(), reply.body(), reply.left == 0, &query_.request},
      order_.plan != nullptr);
}

/// Of most answers only the beginning is looked at, and the rest is passed over in large steps.
bool MirrorAttempt::is_long_to_check() const {
  constexpr std::size_t kQuick = 4;
  return !aside_ && end_.outcome == Outcome::answered &&
         is_long_work(query_, end_.reply.body().size() / kQuick);
}

Task<void> MirrorAttempt::check_aside() {
  aside_ = true;
  auto work = [this] { checked_ = check(); };
  Stop& stop = stop_;
  stop.at(query_.deadline, Why::deadline);
  const auto ended = co_await query_.worker.process.helpers->run(query_.worker.loop, stop, work);
  stop.disarm();
  if (ended == HelperPool::End::done) co_return;
  end_.outcome = Outcome::cancelled;
  end_.out_of_time = stop.why() == Why::deadline;
  end_.why = "its answer was not looked through any more";
  no_helper_ = ended == HelperPool::End::refused;
}

/// Whether it is not known yet whose fault the error is. It is the mirror's where the answer says
/// something of its state; and the client's where another mirror says the same: then `end_` says
/// so.
bool MirrorAttempt::is_undecided(std::string_view complaint) {
  if (end_.outcome != Outcome::agent_error) return false;
  if (aware_ && state_error(end_.reply.body())) return false;
  const auto advice = advice_in(order_, end_);
  if (advice.kind != Advice::Kind::none || advice.overload) return false;
  if (!is_mistake_of_query(query_, order_, place_.shard, mirror, place_.owner.untried(slot_),
                           complaint, end_))
    return true;
  end_.outcome = Outcome::client_mistake;
  return false;
}

void MirrorAttempt::count_end() const {
  auto& counters = query_.worker.counters;
  if (end_.stale) counters.add(Count::stale_connections);
  if (end_.outcome == Outcome::connect_timeout) counters.add(Count::connect_timeouts);
  if (end_.outcome == Outcome::unreachable) counters.add(Count::attempts_interrupted);
  if (end_.outcome == Outcome::query_timeout)
    counters.add(end_.first_byte_timeout ? Count::first_byte_timeouts : Count::query_timeouts);
}

void MirrorAttempt::end_trace() {
  if (!trace_) return;
  if (end_.connect) trace_->connected(end_.sent_at);
  if (end_.first_byte) trace_->first_byte(*end_.first_byte);
  trace_->end(end_.ended, end_.outcome, end_.why);
}

AttemptReport MirrorAttempt::judge(std::unique_ptr<RestOfReply>& rest) {
  end_.outrun = lost_race_ && end_.outcome == Outcome::cancelled;
  count_end();
  char ends_in = 0;
  std::string complaint;
  if (end_.outcome == Outcome::answered) {
    auto judgement = checked_ ? *std::move(checked_) : check();
    end_.outcome = judgement.outcome;
    if (!judgement.message.empty()) end_.why = std::move(judgement.message);
    ends_in = judgement.ends_in;
    complaint = std::move(judgement.complaint);
  }
  const bool gone = aware_ && tell_set(set_, mirror, end_);
  const bool undecided = !complaint.empty() && is_undecided(complaint);
  if (end_.outcome == Outcome::client_mistake &&
      order_.table.dialect.capabilities.understands_errors)
    settle_complaints(query_, order_, &place_.shard, end_.outcome);
  tell_seat(seat_, end_);
  if (end_.rest_on) keep_rest(ends_in, rest);
  end_trace();
  const bool answered =
      end_.outcome == Outcome::answered || end_.outcome == Outcome::answered_with_warning;
  if (!rest && !undecided && (order_.plan == nullptr || !answered))
    record(mirror_, set_.failure_floor(), query_.worker.loop.index, end_.ended, end_);
  if (answered && !query_.complaints.empty()) refute_complaints(query_, order_, place_.shard);
  auto report = this->report();
  report.gone = gone;
  report.undecided = undecided;
  report.passed_on = rest != nullptr;
  return report;
}

/// What the shard request has to know of the end.
AttemptReport MirrorAttempt::report() {
  const auto connected = end_.sent_at != TimePoint{} ? end_.sent_at : end_.ended;
  AttemptReport report;
  report.outcome = end_.outcome;
  report.status = static_cast<unsigned>(end_.reply.status);
  report.connecting = std::chrono::duration_cast<Micros>(connected - attempt_.began);
  report.sent = end_.sent;
  report.out_of_time = end_.out_of_time;
  const bool answered =
      end_.outcome == Outcome::answered || end_.outcome == Outcome::answered_with_warning;
  if (!answered) {
    report.advice = advice_in(order_, end_);
    report.nothing_done = end_.nothing_done;
    report.unreachable = end_.outcome == Outcome::query_timeout &&
                         mirror_.agent->vitals.unreachable_since(end_.ended - end_.took);
    report.replaced = !query_.former && query_.worker.topology_now() != query_.topology;
    report.no_helper = no_helper_;
    report.why = std::move(end_.why);
  }
  if (by_quorum(query_, order_) || report.advice.kind == Advice::Kind::generation_low)
    report.generation = generation_in(end_.reply);
  return report;
}

}  // namespace karmad
