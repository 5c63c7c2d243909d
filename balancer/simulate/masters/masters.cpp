#include "balancer/simulate/masters/masters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "balancer/topology/topology.hpp"
#include "config/load.hpp"
#include "config/text/source_text.hpp"

// Waits of simulated requests: for a time, for news of their mirrors, for a slot.

namespace karmad::simulate {
namespace {

constexpr auto kFile = "simulated.conf";
constexpr unsigned kFirstSettingLine = 4;

std::string key_of(std::string_view setting) {
  auto key = setting.substr(0, setting.find('='));
  key = key.substr(0, key.find_last_not_of(" \t") + 1);
  return lower(key.substr(std::min(key.find_first_not_of(" \t"), key.size())));
}

/// The problem of a setting, at the place where the user wrote it.
Problem problem_of(const SettingLine& setting, std::string message) {
  if (setting.at.file == "--set")
    return {{}, fmt::format("--set {}: {}", in_quotes(setting.text), message)};
  return {setting.at, std::move(message)};
}

/// The last line of each key.
std::vector<SettingLine> lines_in_force(const Scenario& scenario, Problems& problems) {
  std::vector<SettingLine> lines;
  for (const auto& setting : scenario.settings) {
    const auto key = key_of(setting.text);
    if (key.empty() || !setting.text.contains('=') ||
        setting.text.find_first_of("\n\r{}") != std::string::npos) {
      problems.push_back(problem_of(setting, "expected KEY = VALUE in one line"));
      continue;
    }
    if (key == "ha_strategy" || key == "listen") {
      problems.push_back(problem_of(setting, key == "listen"
                                                 ? "listen has no meaning in a simulation"
                                                 : "give the strategies with --strategy"));
      continue;
    }
    std::erase_if(lines, [&](const SettingLine& other) { return key_of(other.text) == key; });
    lines.push_back(setting);
  }
  return lines;
}

std::vector<unsigned> weights_of(const Scenario& scenario) {
  std::vector<unsigned> weights(scenario.mirrors, 1);
  for (const auto& statement : scenario.mirror_statements) {
    if (!statement.weight) continue;
    for (unsigned i = 0; i < weights.size(); ++i)
      if (statement.mirrors.contains(i)) weights[i] = *statement.weight;
  }
  return weights;
}

std::string config_text(const Scenario& scenario, std::string_view strategy,
                        const std::vector<SettingLine>& lines) {
  auto text = fmt::format("searchd {{\nlisten = 127.0.0.1:9308\nha_strategy = {}\n", strategy);
  for (const auto& line : lines) text += line.text + '\n';
  text += "}\n";
  const auto weights = weights_of(scenario);
  const auto layout = layout_of(scenario);
  for (unsigned set = 0; set < layout.sets(); ++set) {
    text += fmt::format("table set{} {{\ntype = distributed\nagent = ", set + 1);
    for (auto i = layout.first(set); i < layout.first(set + 1); ++i) {
      if (i != layout.first(set)) text += '|';
      // Nothing connects to these addresses. They are numeric, so that no name is looked up.
      text += fmt::format("10.0.{}.{}:9306:t", i / 250, i % 250 + 1);
      if (weights[i] != 1) text += fmt::format("[weight={}]", weights[i]);
    }
    text += "\n}\n";
  }
  return text;
}

/// As the server's.
constexpr Micros kUpkeepInterval = std::chrono::milliseconds(100);

/// Lists of waits also have outdated entries; more of them are removed now and then.
constexpr std::size_t kManyWaits = 1024;

}  // namespace

std::expected<Settings, Problems> settings_for(const Scenario& scenario,
                                               std::string_view strategy) {
  Problems problems;
  const auto lines = lines_in_force(scenario, problems);
  if (!problems.empty()) return std::unexpected(std::move(problems));
  const auto text = config_text(scenario, strategy, lines);
  const Environment environment{
      .read_file = [&](const std::string&, std::size_t,
                       FileKind) -> std::expected<std::string, std::string> { return text; },
      .glob = [](const std::string&) { return std::vector<std::string>(); },
      .variable = [](const std::string&) { return std::optional<std::string>(); }};
  const auto judge = [](const Settings& settings, Problems& found, Problems& notices) {
    Topology::judge(settings, dialects(), found, notices);
  };
  auto loaded = load(kFile, environment, FileKind::any, judge);
  for (const auto& problem : loaded.problems) {
    const auto line = problem.at.line;
    if (line >= kFirstSettingLine && line < kFirstSettingLine + lines.size())
      problems.push_back(problem_of(lines[line - kFirstSettingLine], problem.message));
    else
      problems.push_back(problem);
  }
  if (!problems.empty()) return std::unexpected(std::move(problems));
  const auto& ping_type = loaded.settings->searchd.ping_type;
  if (ping_type.value != "http" && ping_type.value != "none") {
    const auto index = ping_type.at.line - kFirstSettingLine;
    return std::unexpected(Problems{
        problem_of(lines.at(index), "simulated mirrors answer pings of the type http only")});
  }
  return *std::move(loaded.settings);
}

Masters::Masters(World& world, const Settings& settings)
    : world_(world),
      pings_(world),
      client_timeout_(std::llround(world.scenario.timeout * 1000)),
      request_timeout_(settings.searchd.request_timeout.value) {
  for (unsigned i = 0; i < world.scenario.masters; ++i) {
    auto& master = *masters_.emplace_back(std::make_unique<Master>(
        settings, world.layout, random_stream(world.seed, RandomStream::master, i), world.now));
    for (const auto& set : master.sets) pings_.add(master, *set);
    world.events.add_at(world.now + kUpkeepInterval * i / world.scenario.masters, EventKind::upkeep,
                        {i});
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

void Masters::handle(const Event& event) {
  const auto [index, version] = event.subject;
  const auto of_request = [&](void (Masters::*take)(std::uint32_t)) {
    if (requests_[index].version == version) (this->*take)(index);
  };
  const auto of_wait = [&](const ShardEvent& happened) {
    if (requests_[index].wait == version) process(index, happened);
  };
  const auto of_attempt = [&](const Ending& ending) {
    if (attempts_.find(event.subject) != nullptr) end_attempt(index, ending);
  };
  switch (event.kind) {
    case EventKind::reply_arrives:
      return reply_arrives(event);
    case EventKind::attempt_times_out:
      return of_attempt({.outcome = Outcome::query_timeout});
    case EventKind::connection_wait_ends:
      if (const auto* const pooled = attempts_.find(event.subject);
          pooled != nullptr && !pooled->attempt->has_connection)
        end_attempt(index, {.outcome = Outcome::local_error, .sent = false});
      return;
    case EventKind::attempt_interrupted:
      return of_attempt({.outcome = Outcome::unreachable});
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
      return of_wait(event::SetChanged{});
    case EventKind::slot_granted:
      if (requests_[index].wait == version) slot_granted(index);
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
  const ObjectName name{index, request.version};
  world_.events.add_after(world_.now, client_timeout_, EventKind::client_gives_up, name);
  if (request_timeout_ < client_timeout_)
    world_.events.add_after(world_.now, request_timeout_, EventKind::request_expires, name);
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
  boost::container::small_vector<std::pair<std::uint32_t, action::Cancel::Why>, 2> cancelled;
  bool finished = false;
  for (const auto& action : request.machine->next(event, request.master->moment(set, world_.now))) {
    if (const auto* const sent = std::get_if<action::Send>(&action)) {
      send(index, *sent);
    } else if (const auto* const cancel = std::get_if<action::Cancel>(&action)) {
      cancelled.emplace_back(request.attempts[cancel->slot], cancel->why);
    } else if (std::holds_alternative<action::NotifyWaiters>(action)) {
      tell_news(set);
    } else if (const auto* const check = std::get_if<action::CheckMirrors>(&action)) {
      check->generations ? set.mirrors().check_generations() : set.mirrors().check_now();
    } else if (const auto* const waits = std::get_if<action::Wait>(&action)) {
      wait = *waits;
    } else if (std::holds_alternative<action::Finish>(action)) {
      finished = true;
    }
  }
  if (set.return_slots()) give_slots(set);
  if (finished) return end_request(index, request.machine->result().answered());
  begin_wait(index, wait);
  for (const auto& [attempt, why] : cancelled)
    end_attempt(attempt, {.outcome = Outcome::cancelled,
                          .lost_race = why == action::Cancel::Why::lost_race});
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
  auto& wait = request.ticket_wait.emplace(world_, ObjectName{index, request.version});
  switch (admission.searches.ask(wait, world_.now)) {
    case TicketPool::AskResult::admitted:
      return ticket_granted(index);
    case TicketPool::AskResult::refused:
      return end_request(index, false);
    case TicketPool::AskResult::queued:
      break;
  }
  if (const auto longest = admission.queue_timeout(); longest > Micros{0})
    world_.events.add_after(world_.now, longest, EventKind::ticket_wait_ends,
                            {index, request.version});
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

void Masters::begin_wait(std::uint32_t index, const std::optional<action::Wait>& wait) {
  auto& request = requests_[index];
  if (wait && wait->until)
    world_.events.add_at(std::max(*wait->until, world_.now), EventKind::wait_ends,
                         {index, request.wait});
  if (wait && wait->news) {
    auto& list = request.set->waiting_for_news;
    if (list.size() >= kManyWaits && list.size() == list.capacity())
      std::erase_if(
          list, [&](const ObjectName& name) { return requests_[name.index].wait != name.version; });
    list.push_back({index, request.wait});
  }
  if (wait && !wait->slots.empty()) {
    wait_for_slot(index, wait->slots);
  } else if (request.queued_wait) {
    request.queued_wait.reset();
    give_slots(*request.set);
  }
}

void Masters::wait_for_slot(std::uint32_t index, Candidates mirrors) {
  auto& request = requests_[index];
  auto& set = *request.set;
  if (!request.queued_wait) request.queued_wait.emplace(set.mirrors(), 0);
  request.queued_wait->wants(mirrors);
  if (!std::exchange(request.is_listed_for_slot, true))
    set.waiting_for_slot.push_back({index, request.version});
  give_slots(set);
}

/// Finds the requests whose wait for a slot has ended.
void Masters::give_slots(Set& set) {
  if (set.waiting_for_slot.empty()) return;
  std::erase_if(set.waiting_for_slot, [&](const ObjectName& name) {
    auto& request = requests_[name.index];
    if (request.version != name.version) return true;
    const auto* const waiter = request.queued_wait ? request.queued_wait->waiter() : nullptr;
    if (waiter != nullptr && !waiter->got()) return false;
    request.is_listed_for_slot = false;
    if (waiter != nullptr)
      world_.events.add_at(world_.now, EventKind::slot_granted, {name.index, request.wait});
    return true;
  });
}

void Masters::slot_granted(std::uint32_t index) {
  auto& request = requests_[index];
  if (!request.queued_wait) return;
  auto got = request.queued_wait->take();
  if (!got) return;
  request.set->add_slot(got->mirror, std::move(got->slot));
  process(index, event::SlotFreed{got->mirror});
}

void Masters::tell_news(Set& set) {
  for (const auto& name : set.waiting_for_news)
    if (requests_[name.index].wait == name.version)
      world_.events.add_at(world_.now, EventKind::news, name);
  set.waiting_for_news.clear();
}

void Masters::upkeep(std::uint32_t number) {
  auto& master = *masters_[number];
  master.upkeep(world_.now, number == 0 ? &watch_ : nullptr);
  for (const auto& set : master.sets) give_slots(*set);
  world_.events.add_after(world_.now, kUpkeepInterval, EventKind::upkeep, {number});
}

}  // namespace karmad::simulate
