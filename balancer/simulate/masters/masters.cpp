#include "balancer/simulate/masters/masters.hpp"

#include <algorithm>
#include <cmath>

#include "balancer/simulate/scenario/random_streams.hpp"

namespace karmad {
namespace {

/// As the server's.
constexpr Micros kUpkeepInterval = std::chrono::milliseconds(100);

}  // namespace

Masters::Masters(SimulatedWorld& world, const Settings& settings)
    : world_(world),
      pings_(world),
      client_timeout_(std::llround(world.scenario.timeout * 1000)),
      request_timeout_(settings.searchd.request_timeout.value) {
  for (unsigned i = 0; i < world.scenario.masters; ++i) {
    auto& master = *masters_.emplace_back(std::make_unique<SimulatedMaster>(
        settings, world.layout, random_stream(world.seed, RandomStream::master, i), world.now));
    for (const auto& set : master.sets) pings_.add(master, *set);
    world.events.add_at(world.now + kUpkeepInterval * i / world.scenario.masters,
                        {.subject = i, .kind = EventKind::upkeep});
  }
  pings_.start();
}

void Masters::News::tell(const OperatorEvent& event, TimePoint now, WallTime) {
  if (event.kind != OperatorEvent::Kind::mirror) return;
  const auto& sets = masters_.masters_.front()->sets;
  const auto set = std::ranges::find(
      sets, event.table, [](const auto& of) -> std::string_view { return of->table.name; });
  masters_.world_.recorder.told(
      {.mirror = (*set)->first_mirror + static_cast<unsigned>(event.mirror),
       .state = std::string(event.state),
       .former_state = std::string(event.former_state),
       .reason = event.reason},
      now);
}

void Masters::handle(const SimulatedEvent& event) {
  const auto index = event.subject;
  const auto of_request = [&](void (Masters::*take)(std::uint32_t)) {
    if (requests_[index].version == event.version) (this->*take)(index);
  };
  const auto of_wait = [&](const ShardEvent& happened) {
    if (requests_[index].wait == event.version) process(index, happened);
  };
  switch (event.kind) {
    case EventKind::reply_arrives:
      return reply_arrives(event);
    case EventKind::attempt_times_out:
      if (attempts_.find(index, event.version) != nullptr)
        end_attempt(index, {.outcome = Outcome::query_timeout});
      return;
    case EventKind::connection_wait_ends:
      if (const auto* const pooled = attempts_.find(index, event.version);
          pooled != nullptr && !pooled->attempt->has_connection)
        end_attempt(index, {.outcome = Outcome::local_error, .sent = false});
      return;
    case EventKind::attempt_interrupted:
      if (attempts_.find(index, event.version) != nullptr)
        end_attempt(index, {.outcome = Outcome::unreachable});
      return;
    case EventKind::client_gives_up:
      return of_request(&Masters::client_gives_up);
    case EventKind::request_expires:
      return of_request(&Masters::request_expires);
    case EventKind::ticket_granted:
      return of_request(&Masters::ticket_granted);
    case EventKind::ticket_wait_ends:
      return of_request(&Masters::ticket_wait_ends);
    case EventKind::wait_ends:
      return of_wait(event::TimePassed{});
    case EventKind::news:
      return of_wait(event::News{});
    case EventKind::slot_granted:
      if (requests_[index].wait == event.version) slot_granted(index);
      return;
    case EventKind::upkeep:
      return upkeep(index);
    default:
      if (auto* const set = pings_.handle(event)) tell_news(*set);
  }
}

void Masters::request_arrives(unsigned master, unsigned set) {
  const auto index = requests_.take();
  auto& request = requests_[index];
  request.arrived = world_.now;
  request.master = masters_[master].get();
  request.set = request.master->sets[set].get();
  const SimulatedEvent event{.subject = index, .version = request.version};
  auto timeout = event;
  timeout.kind = EventKind::client_gives_up;
  world_.events.add_after(world_.now, client_timeout_, timeout);
  if (request_timeout_ < client_timeout_) {
    timeout.kind = EventKind::request_expires;
    world_.events.add_after(world_.now, request_timeout_, timeout);
  }
  if (request.master->limits_searches()) {
    wait_for_ticket(index);
  } else {
    start(index);
  }
}

void Masters::start(std::uint32_t index) {
  auto& request = requests_[index];
  request.rules = request.set->rules;
  request.rules.deadline = request.arrived + request_timeout_;
  request.machine.emplace(request.rules);
  process(index, event::Started{});
}

/// Hands an event to the machine and carries out its actions.
void Masters::process(std::uint32_t index, const ShardEvent& event) {
  auto& request = requests_[index];
  auto& set = *request.set;
  ++request.wait;
  std::optional<action::Wait> wait;
  boost::container::small_vector<std::pair<std::uint32_t, bool>, 2> cancelled;
  bool finished = false;
  for (const auto& action : request.machine->next(event, request.master->moment(set, world_.now))) {
    if (const auto* const sent = std::get_if<action::Send>(&action)) {
      send(index, *sent);
    } else if (const auto* const cancel = std::get_if<action::Cancel>(&action)) {
      cancelled.emplace_back(request.attempts[cancel->slot], cancel->lost_race);
    } else if (std::holds_alternative<action::TellOthers>(action)) {
      tell_news(set);
    } else if (const auto* const check = std::get_if<action::CheckMirrors>(&action)) {
      check->generations ? set.mirrors().check_generations() : set.mirrors().check_now();
    } else if (const auto* const waits = std::get_if<action::Wait>(&action)) {
      wait = *waits;
    } else {
      finished = true;
    }
  }
  if (!set.slots.empty()) {
    set.slots.clear();
    give_slots(set);
  }
  if (finished) return end_request(index, request.machine->result().answered());
  begin_wait(index, wait);
  for (const auto& [attempt, lost_race] : cancelled)
    end_attempt(attempt, {.outcome = Outcome::cancelled, .lost_race = lost_race});
}

void Masters::end_request(std::uint32_t index, bool answered) {
  auto& request = requests_[index];
  world_.recorder.request_ended(request.arrived, answered, world_.now);
  ++request.wait;
  request.machine.reset();
  request.attempts.clear();
  request.queued_wait.reset();
  request.is_listed_for_slot = false;
  auto& set = *request.set;
  auto ticket = std::move(request.ticket);
  request.ticket_wait.reset();
  requests_.give_back(index);
  if (ticket) ticket.give_back(world_.now);
  give_slots(set);
}

void Masters::client_gives_up(std::uint32_t index) {
  auto& request = requests_[index];
  if (request.machine) return process(index, event::Cancelled{});
  auto& pool = request.master->admission.searches;
  // A ticket that was granted in this moment is returned.
  if (!pool.cancel(*request.ticket_wait, world_.now))
    request.ticket = pool.collect(*request.ticket_wait, world_.now);
  end_request(index, false);
}

/// The deadline ends all attempts.
void Masters::request_expires(std::uint32_t index) {
  auto& request = requests_[index];
  if (!request.machine) return client_gives_up(index);
  const auto version = request.version;
  // The end of one attempt may end others.
  for (std::size_t slot = 0; request.version == version && slot < request.attempts.size(); ++slot)
    if (const auto attempt = request.attempts[slot]; attempt != kNoAttempt)
      end_attempt(attempt, {.outcome = Outcome::cancelled, .out_of_time = true});
}

void Masters::wait_for_ticket(std::uint32_t index) {
  auto& request = requests_[index];
  auto& admission = request.master->admission;
  auto& wait = request.ticket_wait.emplace(world_, RequestName{index, request.version});
  switch (admission.searches.ask(wait, world_.now)) {
    case TicketPool::AskResult::admitted:
      return ticket_granted(index);
    case TicketPool::AskResult::refused:
      return end_request(index, false);
    case TicketPool::AskResult::queued:
      break;
  }
  if (const auto longest = admission.queue_timeout(); longest > Micros{0})
    world_.events.add_after(
        world_.now, longest,
        {.subject = index, .version = request.version, .kind = EventKind::ticket_wait_ends});
}

void Masters::ticket_granted(std::uint32_t index) {
  auto& request = requests_[index];
  request.ticket = request.master->admission.searches.collect(*request.ticket_wait, world_.now);
  request.ticket_wait.reset();
  if (!request.ticket) return end_request(index, false);
  start(index);
}

void Masters::ticket_wait_ends(std::uint32_t index) {
  auto& request = requests_[index];
  if (!request.ticket_wait) return;
  // Otherwise it was served or shed in this moment.
  if (request.master->admission.searches.cancel(*request.ticket_wait, world_.now))
    end_request(index, false);
}

}  // namespace karmad
