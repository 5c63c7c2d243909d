#include "balancer/status/collect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "agent/transport/loop/helper_pool.hpp"
#include "balancer/admission/admission.hpp"
#include "balancer/shard/selection.hpp"
#include "balancer/status/readiness.hpp"
#include "balancer/trace/line_writer.hpp"
#include "strategies/read_preference_text.hpp"

namespace karmad {
namespace {

std::optional<Micros> since(TimePoint now, std::int64_t then) {
  if (then == 0) return std::nullopt;
  return std::max(Micros{0}, now.time_since_epoch() - Micros{then});
}

/// As in the search server: connections are kept whatever the line says, but only a line
/// `agent_persistent` asks for a pool of them.
bool has_persistent_pool(const Agent& agent, const Topology& topology) {
  const auto& limit = topology.settings.persistent_connections_limit;
  if (limit && limit->value == 0) return false;
  for (const auto& table : topology.tables)
    for (const auto& shard : table->shards)
      for (std::size_t i = 0; shard->persistent && i < shard->mirrors->size(); ++i)
        if ((*shard->mirrors)[i].agent.get() == &agent) return true;
  return false;
}

AgentStatus status_of(const Agent& agent, const Topology& topology, TimePoint now) {
  const auto& vitals = agent.vitals;
  const auto read = [](const auto& value) { return value.load(std::memory_order_relaxed); };
  AgentStatus status;
  status.address = agent.name;
  status.pinged = topology.settings.ha_ping_interval.value > Micros{0} &&
                  std::ranges::any_of(topology.pinged_agents,
                                      [&](const auto& other) { return other.get() == &agent; });
  status.has_pool = has_persistent_pool(agent, topology);
  status.need_resolve =
      agent.named() && topology.settings.hostname_lookup.value == LookUp::on_request;
  status.alive = live(agent, topology.settings);
  status.errors_in_a_row = read(vitals.errors_in_a_row);
  // An error that is over says nothing of an agent that is well.
  if (status.errors_in_a_row > 0 || !read(vitals.answered)) status.last_error = agent.last_error();
  status.last_query = since(now, read(agent.counts.last_query));
  status.last_answer = since(now, read(vitals.last_answer));
  if (read(vitals.last_answer) != 0) status.last_period = Micros{read(vitals.last_took)};
  if (const auto trip = read(vitals.ping_trip); trip != 0) status.ping_trip = Micros{trip};
  status.in_flight = read(vitals.in_flight);
  status.max_in_flight = agent.seats.limit();
  status.over_in_flight = agent.seats.over();
  status.open_connections = read(agent.counts.open);
  status.waiting = read(agent.counts.waiting);
  for (std::size_t i = 0; i < kShownPeriods.size(); ++i)
    status.periods[i] = agent.history.over(kShownPeriods[i], now);
  status.latency = agent.history.quantiles(now);
  return status;
}

class Collector {
 public:
  Collector(const Topology& topology, unsigned worker, TimePoint now)
      : topology_(topology), worker_(worker) {
    for (const auto& agent : topology.agents) {
      if (agent->id >= places_.size()) places_.resize(agent->id + 1);
      places_[agent->id] = snapshot_.agents.size();
      snapshot_.agents.push_back(status_of(*agent, topology, now));
    }
  }

  Snapshot run() {
    for (const auto& table : topology_.tables) {
      TableStatus status{.name = table->name, .dialect = std::string(table->dialect.name)};
      for (const auto& shard : table->shards) status.shards.push_back(shard_status(*table, *shard));
      for (const auto& blackhole : table->blackholes) {
        status.blackholes.resize(blackhole.line + 1);
        status.blackholes.back().mirrors.push_back(
            {.agent = place_of(*blackhole.agent), .tables = blackhole.tables, .blackhole = true});
      }
      snapshot_.tables.push_back(std::move(status));
    }
    return std::move(snapshot_);
  }

 private:
  std::size_t place_of(const Agent& agent) {
    const auto place = places_[agent.id];
    ++snapshot_.agents[place].references;
    return place;
  }

  ShardStatus shard_status(const Table& table, const Shard& shard) {
    const auto& set = *shard.mirrors;
    const auto& view = *set.view(worker_);
    const Selection selection(std::nullopt, table, topology_.settings, Operation::read);
    ShardStatus status{.strategy = set.strategy_name(),
                       .kind = std::string(name(view.picture.kind)),
                       .criteria = selection.at(shard) != nullptr ? selection.criteria() : "",
                       .budget = budget_of(shard.protection->budget),
                       .line = line_of(set.line()),
                       .mixed = view.mixed};
    const auto shares = set.shares(selection.question(shard, {}), worker_);
    double karma = 0;
    for (std::size_t i = 0; i < set.size(); ++i) karma += set[i].karma() * set[i].weight;
    for (std::size_t i = 0; i < set.size(); ++i) {
      const auto& mirror = set[i];
      status.mirrors.push_back({.agent = place_of(*mirror.agent),
                                .tables = mirror.tables,
                                .weight = karma > 0 ? mirror.karma() * mirror.weight / karma : 0,
                                .probability = shares[i],
                                .persistent = shard.persistent,
                                .standing = standing(selection.at(shard), view, i),
                                .attempts = mirror.tally.attempts(),
                                .since_start = mirror.tally.totals()});
    }
    return status;
  }

  static BudgetStatus budget_of(const RetryBudget& budget) {
    return {.live = budget.live(),
            .extras = budget.extras(),
            .saved = budget.saved(),
            .given = budget.given(),
            .refused = budget.refused()};
  }

  static LineStatus line_of(const SeatLine& line) {
    const auto read = [](const auto& value) { return value.load(std::memory_order_relaxed); };
    return {.waiting = read(line.waiting),
            .waited = read(line.waited),
            .refused = read(line.refused),
            .time = Micros{static_cast<Micros::rep>(read(line.micros))}};
  }

  static Standing standing(const Need* need, const SetView& view, std::size_t i) {
    const auto& facts = view.picture.mirrors[i];
    const auto& state = view.mirrors[i];
    Standing standing{.role = std::string(name(facts.role)),
                      .tags = text(facts.tags),
                      .generation = state.told.generation,
                      .rtt = facts.rtt,
                      .load = state.told.load};
    if (facts.role == Role::replica) standing.staleness = staleness(view.picture, i);
    if (const auto least = state.trips.least(); least > Micros{0}) standing.least_rtt = least;
    if (need != nullptr) standing.unsuitable = why_unsuitable(*need, view.picture, i);
    if (!standing.unsuitable.empty() && !state.why.empty())
      standing.unsuitable.append(": ").append(state.why);
    return standing;
  }

  const Topology& topology_;
  unsigned worker_;
  Snapshot snapshot_;
  std::vector<std::size_t> places_;  ///< in it, by Agent::id
};

/// The tickets of one pool, as they are now.
void add_tickets(std::vector<CounterRow>& rows, std::string_view pool, std::string_view what,
                 const TicketPool& tickets) {
  const auto of = tickets.statistics();
  const auto row = [&](std::string_view name, std::string help, std::string value) {
    rows.push_back({fmt::format("{}_tickets_{}", pool, name), std::move(help), std::move(value)});
  };
  const auto or_unlimited = [](const auto& number) {
    return number ? fmt::format("{}", *number) : std::string("unlimited");
  };
  const auto queued = of[Priority::normal].queue_length() + of[Priority::low].queue_length();
  row("out", fmt::format("tickets of {} that are out", what), fmt::format("{}", of.out));
  row("available", fmt::format("tickets of {} that are left", what), or_unlimited(of.available));
  row("total", fmt::format("tickets of {}", what), or_unlimited(of.total));
  row("queued", fmt::format("requests that wait now for a ticket of {}", what),
      fmt::format("{}", queued));
}

void add_log(std::vector<CounterRow>& rows, const std::string& name, std::string_view what,
             const LineWriter* log) {
  rows.push_back({name + "_written", fmt::format("lines written to {}", what),
                  fmt::format("{}", log != nullptr ? log->written() : 0)});
  rows.push_back({name + "_dropped",
                  fmt::format("lines {} had no room for or could not write", what),
                  fmt::format("{}", log != nullptr ? log->dropped() : 0)});
}

/// What no single pool says.
void add_admission(std::vector<CounterRow>& rows, const Admission& admission) {
  add_tickets(rows, "ingress", "all requests", admission.ingress);
  add_tickets(rows, "search", "searches", admission.searches);
  add_tickets(rows, "update", "updates", admission.updates);
  add_tickets(rows, "low_search", "searches of low priority", admission.low_searches);
  add_tickets(rows, "low_update", "updates of low priority", admission.low_updates);
  std::uint64_t exempt = 0;
  std::uint64_t would_wait = 0;
  std::uint64_t would_be_refused = 0;
  for (const auto& [name, pool] : admission.pools()) {
    const auto of = pool->statistics();
    exempt += of[Priority::exempt].started_processing;
    for (const auto priority : {Priority::normal, Priority::low}) {
      would_wait += of[priority].would_queue;
      would_be_refused += of[priority].would_refuse;
    }
  }
  rows.push_back({"tickets_exempt", "requests that needed no ticket", fmt::format("{}", exempt)});
  rows.push_back({"tickets_would_wait",
                  "requests that would have waited but for admission = monitor",
                  fmt::format("{}", would_wait)});
  rows.push_back({"tickets_would_be_refused",
                  "requests that would have been refused but for admission = monitor",
                  fmt::format("{}", would_be_refused)});
}

/// How far the workers keep up, and what helper threads do for them.
void add_loops(std::vector<CounterRow>& rows, const Worker& worker) {
  Micros longest{};
  std::uint64_t late = 0;
  for (const auto& each : worker.all) {
    longest = std::max(longest, each->loop.delay().longest());
    late += each->loop.delay().late();
  }
  const auto row = [&](std::string_view name, std::string_view help, std::uint64_t value) {
    rows.push_back({std::string(name), std::string(help), fmt::format("{}", value)});
  };
  rows.push_back({"loop_longest_delay_ms",
                  "longest a worker came late to its work in the last one to two minutes",
                  fmt::format("{:.1f}", static_cast<double>(longest.count()) / 1000)});
  row("loop_delays", "times a worker came more than 5 ms late to its work", late);
  const auto* helpers = worker.process.helpers;
  row("long_work", "merges, checks and parses done by helper threads",
      helpers != nullptr ? helpers->done() : 0);
  row("long_work_running", "of them, those that run now",
      helpers != nullptr ? helpers->running() : 0);
  row("long_work_waiting", "those that wait now for a thread",
      helpers != nullptr ? helpers->waiting() : 0);
  row("long_work_refused", "those refused because long_work_queue waited already",
      helpers != nullptr ? helpers->refused() : 0);
}

}  // namespace

Snapshot collect(const Worker& worker) {
  const auto topology = worker.topology();
  const auto now = Loop::now();
  auto snapshot = Collector(*topology, worker.loop.index, now).run();
  snapshot.period = topology->settings.ha_period_karma.value;
  auto& process = snapshot.process;
  process.uptime = std::chrono::duration_cast<Micros>(now - worker.process.started);
  process.version = KARMAD_VERSION;
  process.workers = static_cast<unsigned>(worker.all.size());
  for (std::size_t i = 0; i < kCounts; ++i) {
    std::uint64_t sum = 0;
    for (const auto& each : worker.all) sum += each->counters[i];
    if (i == static_cast<std::size_t>(Count::connections)) {
      process.connections = sum;
      continue;
    }
    process.counters.push_back(
        {std::string(kCountText[i].name), std::string(kCountText[i].help), fmt::format("{}", sum)});
  }
  BudgetStatus budget;
  std::uint64_t in_line = 0;
  std::uint64_t over = 0;
  for (const auto& agent : snapshot.agents) over += agent.over_in_flight;
  for (const auto& table : snapshot.tables)
    for (const auto& shard : table.shards) {
      in_line += shard.line.waiting;
      budget.live += shard.budget.live;
      budget.extras += shard.budget.extras;
      budget.given += shard.budget.given;
    }
  const auto row = [&](std::string_view name, std::string_view help, std::uint64_t value) {
    process.counters.push_back({std::string(name), std::string(help), fmt::format("{}", value)});
  };
  row("retry_budget_live", "requests to shards under way, which the retry budget is a share of",
      budget.live);
  row("retry_budget_extras", "retries and hedges queued or under way", budget.extras);
  row("retry_budget_given", "retries and hedges that the budget has allowed", budget.given);
  row("max_in_flight_waiting", "queries that wait now because all mirrors of a shard are full",
      in_line);
  row("max_in_flight_over", "attempts at full agents, let in because that is only watched", over);
  process.counters.push_back(
      {"selections_waiting", "selections of a mirror that wait now because none suits",
       fmt::format("{}", worker.process.waiting_selections.load(std::memory_order_relaxed))});
  std::uint64_t unasked = 0;
  for (const auto& each : worker.all) unasked += each->loop.unasked.get();
  row("unasked_bytes", "times an agent sent unrequested bytes, and lost the connection", unasked);
  process.counters.push_back(
      {"connections_open", "client connections open now",
       fmt::format("{}", worker.process.connections.load(std::memory_order_relaxed))});
  add_loops(process.counters, worker);
  const auto& memory = worker.process.memory;
  row("memory_used", "bytes of buffers that requests hold now (memory_limit)", memory.used());
  row("memory_peak", "the most that was at a time", memory.peak());
  row("memory_limit", "what memory_limit comes to, in bytes; 0: no limit", memory.limit());
  row("connections_queued", "client connections that wait now for their turn",
      worker.process.rates.connections.asleep());
  if (const auto* admission = worker.process.admission) add_admission(process.counters, *admission);
  add_log(process.counters, "access_log", "the access log", worker.process.access_log);
  add_log(process.counters, "log", "the log on standard error", worker.process.log);
  return snapshot;
}

}  // namespace karmad
