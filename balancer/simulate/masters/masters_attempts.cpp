// Attempts of simulated requests.
#include <array>
#include <utility>

#include "agent/health/error_hint.hpp"
#include "balancer/selection/shard_query.hpp"
#include "balancer/shard/attempt_effects.hpp"
#include "balancer/simulate/masters/masters.hpp"

namespace karmad::simulate {
namespace {

/// The outcome of an error answer whose body says nothing.
Outcome outcome_of(const MirrorError& error) {
  return error.status >= 500 || error.status == 429 ? Outcome::agent_error
                                                    : Outcome::client_mistake;
}

constexpr std::array<std::pair<Outcome, std::string_view>, 6> kOutcomeTexts{
    {{Outcome::connect_timeout, "connecting timed out"},
     {Outcome::closed_early, "the connection was closed before the reply was complete"},
     {Outcome::connect_failed, "Connection refused"},
     {Outcome::broken, "Connection reset by peer"},
     {Outcome::local_error, "no connection became free in time (agent_max_connections)"},
     {Outcome::unreachable, "unreachable: its ping timed out"}}};

std::string_view text_of(Outcome outcome) {
  for (const auto& [known, text] : kOutcomeTexts)
    if (known == outcome) return text;
  return name(outcome);
}

}  // namespace

void Masters::send(std::uint32_t index, const action::Send& send) {
  auto& request = requests_[index];
  auto& set = *request.set;
  const auto mirror = send.pick.mirror;
  // A reply is complete when it begins, so the first byte has the same time.
  const auto& timeouts = set.table.timeouts;
  auto timeout = timeouts.of_search(send.number);
  if (timeouts.first_byte) timeout = std::min(timeout, *timeouts.first_byte);
  const auto number = attempts_.take();
  auto& attempt = attempts_[number].attempt.emplace(*this, number, send, index,
                                                    set.use_slot(mirror), timeout, world_.now);
  if (request.attempts.size() <= send.slot) request.attempts.resize(send.slot + 1, kNoAttempt);
  request.attempts[send.slot] = number;
  request.master->counters.add(Count::attempts);
  set.mirror(mirror).tally.attempted(0);
  set.mirrors().watch(attempt, 0);
  world_.recorder.attempt_sent(set.number_in_fleet(mirror), send.reason, world_.now);
  auto& connections = set.connections[mirror];
  const auto most = request.master->settings().agent_max_connections.value;
  if (most == 0 || connections.in_use < most) {
    ++connections.in_use;
    return transmit(number);
  }
  const ObjectName name{number, attempts_[number].version};
  connections.waiting.push_back(name);
  world_.events.add_at(std::min(world_.now + send.connect_timeout, request.rules.deadline),
                       EventKind::connection_wait_ends, name);
}

/// The attempt has a connection. Connections are kept, so that none has to be made.
void Masters::transmit(std::uint32_t number) {
  auto& pooled = attempts_[number];
  auto& attempt = *pooled.attempt;
  auto& request = requests_[attempt.request];
  auto& set = *request.set;
  attempt.has_connection = true;
  attempt.generation = set.mirror(attempt.mirror).agent->generation.load(std::memory_order_relaxed);
  world_.fleet.send({number, pooled.version}, set.number_in_fleet(attempt.mirror), world_.now);
  if (world_.now + attempt.timeout <= request.rules.deadline)
    world_.events.add_after(world_.now, attempt.timeout, EventKind::attempt_times_out,
                            {number, pooled.version});
}

/// A connection became free: the attempt that has waited longest gets it.
void Masters::next_connection(Set& set, std::size_t mirror) {
  auto& connections = set.connections[mirror];
  while (!connections.waiting.empty()) {
    const auto next = connections.waiting.front();
    connections.waiting.pop_front();
    if (attempts_.find(next) != nullptr) return transmit(next.index);
  }
  --connections.in_use;
}

void Masters::reply_arrives(const Event& event) {
  if (attempts_.find(event.subject) == nullptr) return;
  const auto number = event.subject.index;
  const auto reply = MirrorReply::unpack(event.detail);
  switch (reply.kind) {
    case MirrorReply::Kind::answer:
      return end_attempt(number, {.outcome = Outcome::answered, .load = reply.load});
    case MirrorReply::Kind::error: {
      const auto& error = world_.fleet.error(reply);
      return end_attempt(number, {.outcome = outcome_of(error), .error = &error});
    }
    case MirrorReply::Kind::reset:
      return end_attempt(number, {.outcome = Outcome::broken});
    case MirrorReply::Kind::refused:
      return end_attempt(number, {.outcome = Outcome::connect_failed, .sent = false});
    case MirrorReply::Kind::failure: {
      const auto outcome = static_cast<Outcome>(reply.error);
      return end_attempt(number, {.outcome = outcome, .sent = outcome != Outcome::connect_timeout});
    }
  }
}

void Masters::write_result(const Attempt& attempt, const Ending& ending) {
  auto& result = result_;
  result.outcome = ending.outcome;
  result.why.clear();
  if (ending.error != nullptr)
    result.why = "answered with status " + std::to_string(ending.error->status);
  else if (ending.outcome != Outcome::answered)
    result.why = text_of(ending.outcome);
  result.reply.status = ending.error != nullptr ? static_cast<int>(ending.error->status) : 200;
  result.took = std::chrono::duration_cast<Micros>(world_.now - attempt.began);
  result.sent_at = ending.sent ? attempt.began : TimePoint{};
  result.ended = world_.now;
  result.out_of_time = ending.out_of_time;
  result.lost_race = ending.lost_race;
  result.sent = ending.sent;
  result.nothing_done = false;
  result.generation = attempt.generation;
}

/// The same steps as at the end of a real attempt (MirrorAttempt::judge).
void Masters::end_attempt(std::uint32_t number, const Ending& ending) {
  auto& pooled = attempts_[number];
  auto& attempt = *pooled.attempt;
  const auto index = attempt.request;
  const auto slot = attempt.slot;
  auto& request = requests_[index];
  auto& set = *request.set;
  auto& mirror = set.mirror(attempt.mirror);
  const auto at = attempt.mirror;
  const bool had_connection = attempt.has_connection;
  write_result(attempt, ending);
  const auto* const view = set.current_view();
  const bool marked =
      set.tracks_state && report_to_set(set.mirrors(), attempt.mirror, result_,
                                        ErrorBody(std::string_view()), {}, world_.now);
  if (ending.load != MirrorReply::kNoLoad)
    mirror.signals.reported_load(world_.now, ending.load / 1000.0);
  record_slot_outcome(attempt.agent_slot, result_);
  record(mirror, set.mirrors().failure_floor(), 0, world_.now, result_);

  AttemptReport report;
  report_end(report, result_, mirror);
  report.marked_unreachable = marked;
  if (ending.error != nullptr) report.hint = ending.error->hint;
  pooled.attempt.reset();
  attempts_.give_back(number);
  request.attempts[slot] = kNoAttempt;
  world_.recorder.attempt_ended(set.number_in_fleet(at));
  if (had_connection) next_connection(set, at);
  if (set.current_view() != view) tell_news(set);
  give_slots(set);
  process(index, event::AttemptEnded{slot, report});
}

/// Ends the attempt if it may be repeated elsewhere.
void Masters::mirror_unreachable(std::uint32_t number) {
  auto& pooled = attempts_[number];
  const auto& attempt = *pooled.attempt;
  auto& request = requests_[attempt.request];
  if (!request.master->settings().interrupt_unreachable.value) return;
  AttemptReport report;
  report.outcome = Outcome::unreachable;
  report.sent = attempt.has_connection;
  const auto decided = request.machine->next(event::MirrorUnreachable{attempt.slot, report},
                                             request.master->moment(*request.set, world_.now));
  if (!decided.empty())
    world_.events.add_at(world_.now, EventKind::attempt_interrupted, {number, pooled.version});
}

void Masters::mirror_changed(unsigned mirror, bool reset) {
  if (!reset) return;
  for (std::uint32_t number = 0; number < attempts_.size(); ++number) {
    const auto& pooled = attempts_[number];
    if (!pooled.attempt) continue;
    const auto& set = *requests_[pooled.attempt->request].set;
    const bool is_there = set.number_in_fleet(pooled.attempt->mirror) == mirror;
    if (!is_there || !pooled.attempt->has_connection) continue;
    world_.events.add_after(world_.now, world_.fleet.network(mirror), EventKind::reply_arrives,
                            {number, pooled.version},
                            MirrorReply{.kind = MirrorReply::Kind::reset}.packed());
  }
}

}  // namespace karmad::simulate
