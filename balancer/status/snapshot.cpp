#include "balancer/status/snapshot.hpp"

#include <algorithm>
#include <cassert>

#include "agent/transport/loop/thread_pool.hpp"
#include "balancer/admission/admission.hpp"
#include "balancer/core/counters.hpp"
#include "balancer/selection/shard_query.hpp"
#include "balancer/trace/line_writer.hpp"
#include "strategies/read_preference.hpp"

namespace karmad {
namespace {

using enum StatKind;

std::optional<Micros> since(TimePoint now, std::int64_t then) {
  if (then == 0) return std::nullopt;
  return std::max(Micros{0}, now.time_since_epoch() - Micros{then});
}

/// As in the search server: all connections may be kept, but only an `agent_persistent` line counts
/// as a pool.
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
  AgentStatus status{.address = agent.name, .numbers = numbers_of(agent, now)};
  status.pinged = topology.settings.ha_ping_interval.value > Micros{0} &&
                  std::ranges::any_of(topology.pinged_agents,
                                      [&](const auto& other) { return other.get() == &agent; });
  status.has_pool = has_persistent_pool(agent, topology);
  status.need_resolve =
      agent.named() && topology.settings.hostname_lookup.value == LookUp::on_request;
  status.alive = live(agent, topology.settings);
  // A past error says nothing about an agent that works now.
  if (status.numbers.errors_in_a_row > 0 ||
      !agent.counters.answered.load(std::memory_order_relaxed)) {
    status.last_error = agent.last_error();
    status.last_error_at = agent.last_error_at();
  }
  return status;
}

class Collector {
 public:
  Collector(const Topology& topology, Worker& worker, TimePoint now)
      : topology_(topology), worker_(worker), watch_(worker.monitoring.watch), now_(now) {
    for (const auto& agent : topology.agents) {
      if (agent->id >= places_.size()) places_.resize(agent->id + 1);
      places_[agent->id] = snapshot_.agents.size();
      snapshot_.agents.push_back(status_of(*agent, topology, now));
    }
  }

  Snapshot run() {
    for (const auto& table : topology_.tables) {
      TableStatus status{.name = table->name, .dialect = std::string(table->dialect.name)};
      if (table->requests) status.requests = table->requests->counts(now_);
      status.totals = table->tally->totals();
      if (watch_ != nullptr) status.trouble = watch_->trouble(*table);
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
    const auto& view = *set.view(worker_.loop.index);
    const Selection selection(std::nullopt, table, topology_.settings,
                              SelectionClass::may_use_secondary);
    ShardStatus status{
        .strategy = set.strategy_name(),
        .kind = std::string(name(view.picture.kind)),
        .criteria = selection.at(shard) != nullptr ? criteria_of(selection.need()) : "",
        .budget = shard.protection->budget.status(),
        .line = set.wait_queue().status(),
        .outliers = outliers(shard),
        .mixed = view.mixed};
    if (table.retry_rules.adaptive_retries)
      status.budget.tokens = static_cast<std::uint64_t>(shard.protection->tokens.tenths() / 10);
    const auto shares = first_pick_shares({topology_, table, shard, selection, worker_});
    auto reports = watch_ == nullptr ? std::vector<MirrorReport>{} : watch_->reports(set);
    reports.resize(set.size());
    double karma = 0;
    for (std::size_t i = 0; i < set.size(); ++i) karma += weighted_karma(set[i]);
    for (std::size_t i = 0; i < set.size(); ++i) {
      const auto& mirror = set[i];
      // One with a share of the searches is asked in the place of those that are preferred.
      const auto* const need = shares[i] > 0 ? nullptr : selection.at(shard);
      status.mirrors.push_back({.agent = place_of(*mirror.agent),
                                .tables = mirror.tables,
                                .weight = karma > 0 ? weighted_karma(mirror) / karma : 0,
                                .probability = shares[i],
                                .persistent = shard.persistent,
                                .service = service(set, i),
                                .standing = standing(need, view, i),
                                .signals = signals(mirror.signals),
                                .attempts = mirror.tally.attempts(),
                                .since_start = mirror.tally.totals(),
                                .report = std::move(reports[i])});
    }
    return status;
  }

  static double weighted_karma(const Mirror& mirror) {
    return mirror.karma() * mirror.weight() * mirror.signals.started();
  }

  static MirrorService service(const MirrorSet& set, std::size_t mirror) {
    const auto out = set.out_of_service();
    auto state = ServiceState::ready;
    if (out.drained.contains(mirror)) state = ServiceState::drain;
    if (out.maint.contains(mirror)) state = ServiceState::maint;
    return {.state = state, .weight = set[mirror].weight()};
  }

  static SignalStatus signals(const MirrorSignals& of) {
    const auto micros = [](float time) { return Micros{static_cast<Micros::rep>(time)}; };
    SignalStatus status{.penalty = micros(of.penalty()), .started = of.started()};
    if (of.latency() > 0) status.duration = micros(of.latency());
    return status;
  }

  static std::optional<OutlierStatus> outliers(const Shard& shard) {
    const auto& of = shard.protection->outliers;
    if (!of) return std::nullopt;
    return OutlierStatus{.ejected = of->ejected().size(),
                         .ejections = of->ejections(),
                         .panic = of->panic(),
                         .panics = of->panics()};
  }

  static Standing standing(const Need* need, const SetView& view, std::size_t i) {
    const auto& facts = view.picture.mirrors[i];
    const auto& state = view.mirrors[i];
    Standing standing{.role = std::string(name(facts.role)),
                      .tags = text(facts.tags),
                      .generation = state.description.generation,
                      .rtt = facts.rtt,
                      .load = state.description.load};
    if (facts.role == Role::replica) standing.staleness = staleness(view.picture, i);
    if (const auto least = state.trips.least(); least > Micros{0}) standing.least_rtt = least;
    if (need != nullptr) standing.unsuitable = why_unsuitable(*need, view.picture, i);
    if (!standing.unsuitable.empty() && !state.why.empty())
      standing.unsuitable.append(": ").append(state.why);
    return standing;
  }

  const Topology& topology_;
  Worker& worker_;
  const MirrorWatch* watch_;
  TimePoint now_;
  Snapshot snapshot_;
  std::vector<std::size_t> places_;  ///< in it, by Agent::id
};

/// Sums over all shards.
void write_shards(StatsWriter& out, const Snapshot& snapshot) {
  RetryBudgetStatus budget;
  std::uint64_t in_line = 0;
  std::uint64_t over = 0;
  for (const auto& agent : snapshot.agents) over += agent.numbers.over_in_flight;
  for (const auto& table : snapshot.tables)
    for (const auto& shard : table.shards) {
      in_line += shard.line.waiting;
      budget.live += shard.budget.live;
      budget.extras += shard.budget.extras;
      budget.saved += shard.budget.saved;
      budget.given += shard.budget.given;
      budget.refused += shard.budget.refused;
    }
  write(out, budget);
  out.add({"max_in_flight_waiting",
           "queries that wait because all mirrors of a shard have max_in_flight attempts", gauge},
          in_line);
  out.add({"max_in_flight_over",
           "attempts above max_in_flight, admitted because of admission = monitor"},
          over);
}

void write_admission(StatsWriter& out, const Admission& admission) {
  std::uint64_t exempt = 0;
  std::uint64_t would_wait = 0;
  std::uint64_t would_be_refused = 0;
  for (const auto& [name, label, pool] : admission.pools()) {
    const auto of = pool->statistics();
    out.labelled({"pool", label}, [&] {
      write(out, of);
      write_delinquent(out, of);
      for (std::size_t p = 0; p < kPriorities; ++p)
        out.labelled({"priority", karmad::name(static_cast<Priority>(p))},
                     [&] { write(out, of.by_priority[p]); });
    });
    exempt += of[Priority::exempt].started_processing;
    for (const auto priority : {Priority::normal, Priority::low}) {
      would_wait += of[priority].would_queue;
      would_be_refused += of[priority].would_refuse;
    }
  }
  out.add({"tickets_exempt", "requests that needed no ticket, such as those about karmad itself"},
          exempt);
  out.add({"tickets_would_wait",
           "requests that would have waited for a ticket without admission = monitor"},
          would_wait);
  out.add({"tickets_would_be_refused", "requests that would be refused with admission = enforce"},
          would_be_refused);
  if (const auto probing = admission.probing(); probing.reads || probing.writes)
    write(out, probing);
}

void write_rates(StatsWriter& out, const RateGates& rates, TimePoint now) {
  out.add(kConnectionsQueued, rates.connections.asleep());
  out.add(kConnectionsLeftQueue, rates.left_queue.load(std::memory_order_relaxed));
  out.add(kTimeToHead, static_cast<std::uint64_t>(rates.time_to_head.get()));
  out.labelled({"limiter", "connections"}, [&] {
    write(out, rates.connections.counts(now));
    write_queue(out, rates.connections.counts(now));
  });
  out.labelled({"limiter", "requests"}, [&] { write(out, rates.requests.counts(now)); });
  write(out, rates.client_counts());
}

void write_attempt_results(StatsWriter& out, std::span<const std::unique_ptr<Worker>> workers) {
  static constexpr auto kEndNames = enumerators<AttemptEnd>();
  static constexpr Stat kResults{.name = "attempt_results",
                                 .help = "ended attempts, by their reason and result",
                                 .row = kHidden,
                                 .member = kHidden};
  for (std::size_t reason = 0; reason < kAttemptReasons; ++reason)
    for (std::size_t end = 0; end < kAttemptEnds; ++end) {
      std::uint64_t count = 0;
      for (const auto& worker : workers) count += worker->attempt_results.count(reason, end);
      out.add(kResults, count,
              {{"reason", name(static_cast<AttemptReason>(reason))},
               {"result", kEndNames[static_cast<AttemptEnd>(end)]}});
    }
}

/// Writes numbers that belong neither to an agent nor to a table.
void write(StatsWriter& out, const Worker& worker, const Snapshot& snapshot, TimePoint now) {
  const auto& process = worker.process;
  const auto& limits = worker.limits;
  const auto& monitoring = worker.monitoring;
  const auto read = [](const auto& value) { return value.load(std::memory_order_relaxed); };
  std::uint64_t unasked = 0;
  std::uint64_t shortages = 0;
  std::uint64_t late = 0;
  Micros longest{};
  for (const auto& each : worker.all) {
    unasked += each->loop.unasked.get();
    shortages += each->loop.shortages.get();
    late += each->loop.delay().late();
    longest = std::max(longest, each->loop.delay().longest());
  }
  for (const auto& [count, stat] : kCountStats)
    if (count != Count::connections) out.add(stat, worker.total(count));  // ProcessStatus has these
  write_attempt_results(out, worker.all);
  write(out, monitoring.reloads);
  write_shards(out, snapshot);
  out.add({"selections_waiting", "selections that wait now because no mirror is suitable", gauge},
          read(process.waiting_selections));
  out.add({"unasked_bytes", "connections closed because the agent sent unrequested bytes"},
          unasked);
  out.add({"connection_shortages",
           "connects that failed because karmad had no local port, descriptor or memory"},
          shortages);
  out.add({"event_streams", "clients that read the stream of /events now", gauge},
          read(monitoring.event_streams));
  out.add({"connections_open", "client connections open now", gauge},
          read(worker.connections.open));
  out.add({"admin_connections_open", "connections to the admin listeners open now", gauge},
          read(worker.connections.admin_open));
  out.add({"tunnels_open", "client connections that have changed their protocol, open now", gauge},
          read(worker.connections.tunnels));
  out.add({.name = "loop_longest_delay",
           .help = "longest delay of a worker's event loop in the last one to two minutes",
           .kind = gauge,
           .unit = Unit::milliseconds,
           .row = "loop_longest_delay_ms",
           .decimals = 1},
          longest);
  out.add({"loop_delays", "delays of a worker's event loop of more than 5 ms"}, late);
  write(out, process.helpers);
  write(out, limits.memory);
  write_rates(out, limits.rates, now);
  if (limits.admission != nullptr) write_admission(out, *limits.admission);
  out.labelled({"log", "access_log"}, [&] { write(out, process.access_log); });
  out.labelled({"log", "log"}, [&] { write(out, monitoring.log); });
}

}  // namespace

void write(StatsWriter& out, const Standing& standing) {
  out.add({"staleness", "how far the replica lags behind", gauge, Unit::milliseconds,
           "staleness_ms", "staleness_ms"},
          standing.staleness);
  out.add({"generation", "generation of the latest update that the mirror has", gauge},
          standing.generation);
  out.add({"rtt", "smoothed round trip of pings", gauge, Unit::milliseconds, "rtt_ms", "rtt_ms"},
          standing.rtt);
  out.add({"least_rtt", "shortest round trip of the last ten pings", gauge, Unit::milliseconds,
           "rtt_ms_least", "rtt_ms_least"},
          standing.least_rtt);
  out.add({"load", "load that the mirror reports", gauge, Unit::count, kHidden}, standing.load);
}

void write(StatsWriter& out, const SignalStatus& signals) {
  out.add({"search_duration", "usual duration of a search, which rises and falls at once", gauge,
           Unit::milliseconds, kHidden, "search_duration_ms"},
          signals.duration);
  out.add({"failure_penalty", "what recent failures add to this duration", gauge,
           Unit::milliseconds, kHidden, "failure_penalty_ms"},
          signals.penalty);
  out.add({"started", "part of its weight that slow start leaves it; 1: it has started", gauge,
           Unit::share, kHidden},
          signals.started);
}

void write(StatsWriter& out, const OutlierStatus& outliers) {
  out.add({"ejected", "mirrors that are ejected as outliers now", gauge, Unit::count, kHidden},
          outliers.ejected);
  out.add({"ejections", "ejections of mirrors", counter, Unit::count, kHidden}, outliers.ejections);
  out.add({"panic", "1: ejections do not count, as too few mirrors are left", gauge, Unit::count,
           kHidden},
          outliers.panic ? 1U : 0U);
  out.add({"panics", "times that too few mirrors were left", counter, Unit::count, kHidden},
          outliers.panics);
}

void write_shares(StatsWriter& out, const MirrorStatus& mirror) {
  out.add({"weight", "the mirror's karma as a share of the shard's total", gauge, Unit::share,
           "probability_weight"},
          mirror.weight);
  out.add({"probability", "probability that a search goes to the mirror now", gauge, Unit::share,
           kHidden},
          mirror.probability);
}

void write_since_start(StatsWriter& out, const MirrorStatus& mirror) {
  out.add({"attempts", "attempts started, with any outcome", counter, Unit::count, kHidden},
          mirror.attempts);
  write(out, mirror.since_start, Over::life);
}

void write_begin(StatsWriter& out, const ProcessStatus& process) {
  out.add({"uptime", "time since the start", gauge, Unit::seconds, "uptime", "uptime_s", 0},
          process.uptime);
  auto connections = stat(Count::connections);
  connections.member = kHidden;
  out.add(connections, process.connections);
}

void write_start(StatsWriter& out, const ProcessStatus& process) {
  const std::chrono::duration<double> since_1970 = process.started_at.time_since_epoch();
  out.add(
      {"start_time", "time when the process started, in seconds since 1970", gauge, Unit::seconds},
      since_1970.count());
}

void write_counters(StatsWriter& out, const ProcessStatus& process) {
  out.add({"workers", "threads that serve queries", gauge, Unit::count, "workers_total", kHidden},
          process.workers);
  if (process.certificate_time)
    out.add({"tls_certificate_time", "time until the first certificate for clients expires", gauge,
             Unit::seconds},
            *process.certificate_time);
  write(out, process.counters);
  write(out, process.sources);
}

void write_periods(StatsWriter& out, const Snapshot& snapshot) {
  out.add({"period", "length of a period (ha_period_karma)", gauge, Unit::seconds, "period_seconds",
           "period_s", 0},
          snapshot.period);
  out.add({"stored_periods", "number of periods that are kept", gauge}, snapshot.stored_periods);
}

void add_histories(Snapshot& snapshot, const Topology& topology) {
  const auto now = Loop::now();
  assert(snapshot.agents.size() == topology.agents.size());
  for (std::size_t a = 0; a < topology.agents.size(); ++a) {
    const auto& history = topology.agents[a]->history;
    auto& status = snapshot.agents[a];
    for (std::size_t i = 0; i < kShownPeriods.size(); ++i)
      status.periods[i] = history.over(kShownPeriods[i], now);
    status.latency = history.quantiles(now);
  }
}

Snapshot collect(Worker& worker) {
  const auto topology = worker.topology();
  const auto now = Loop::now();
  auto snapshot = Collector(*topology, worker, now).run();
  snapshot.period = topology->settings.ha_period_karma.value;
  auto& process = snapshot.process;
  process.uptime = std::chrono::duration_cast<Micros>(now - worker.monitoring.started);
  process.version = KARMAD_VERSION;
  process.started_at = worker.monitoring.started_at;
  if (const auto& tls = worker.topology_now()->client_tls)
    process.certificate_time =
        std::chrono::duration_cast<Micros>(tls->expires().at - std::chrono::system_clock::now());
  if (worker.monitoring.sources != nullptr) process.sources = worker.monitoring.sources->all();
  process.workers = static_cast<unsigned>(worker.all.size());
  process.connections = worker.total(Count::connections);
  StatsRecorder recorder;
  write(recorder, worker, snapshot, now);
  process.counters = recorder.take();
  return snapshot;
}

bool live(const Agent& agent, const HealthSettings& settings) {
  const auto& counters = agent.counters;
  const bool known = counters.answered.load(std::memory_order_relaxed) ||
                     settings.ha_ping_interval.value == Micros{0};
  return known &&
         counters.errors_in_a_row.load(std::memory_order_relaxed) <= settings.dead_after.value;
}

AgentNumbers numbers_of(const Agent& agent, TimePoint now) {
  const auto read = [](const auto& value) { return value.load(std::memory_order_relaxed); };
  const auto& counters = agent.counters;
  const auto answered_at = read(counters.last_answer);
  const auto trip = read(counters.ping_trip);
  return {.errors_in_a_row = read(counters.errors_in_a_row),
          .ping_trip = trip != 0 ? std::optional(Micros{trip}) : std::nullopt,
          .last_query = since(now, read(agent.counts.last_query)),
          .last_answer = since(now, answered_at),
          .last_period =
              answered_at != 0 ? std::optional(Micros{read(counters.last_took)}) : std::nullopt,
          .in_flight = read(counters.in_flight),
          .max_in_flight = agent.slots.limit(),
          .over_in_flight = agent.slots.over(),
          .open_connections = read(agent.counts.open),
          .waiting = read(agent.counts.waiting)};
}

void write_errors(StatsWriter& out, const AgentNumbers& agent) {
  out.add({"errors_in_a_row", "failures since the last answer or ping without error", gauge,
           Unit::count, "errorsarow"},
          agent.errors_in_a_row);
}

void write_ping(StatsWriter& out, const AgentNumbers& agent) {
  out.add({"ping", "round trip of the last answered ping", gauge, Unit::milliseconds,
           "pingtripmsec", "ping_ms"},
          agent.ping_trip);
}

void write_load(StatsWriter& out, const AgentNumbers& agent) {
  out.add({"in_flight", "attempts in progress", gauge}, agent.in_flight);
  out.add({"max_in_flight", "limit on attempts in progress (max_in_flight)", gauge},
          agent.max_in_flight != 0 ? StatValue(agent.max_in_flight) : Unlimited{});
  out.add(
      {"over_in_flight", "attempts above max_in_flight, admitted because of admission = monitor",
       counter, Unit::count, kHidden, kHidden},
      agent.over_in_flight);
  out.add({"open_connections", "open connections", gauge, Unit::count, kHidden},
          agent.open_connections);
  out.add({"waiting", "attempts that wait for a connection", gauge, Unit::count, kHidden},
          agent.waiting);
}

void write_times(StatsWriter& out, const AgentNumbers& agent) {
  out.add({"since_last_query", "time since the last attempt or ping started", gauge, Unit::seconds,
           "lastquery", "last_query_s", 2},
          agent.last_query);
  out.add({"since_last_answer", "time since the last attempt or ping ended", gauge, Unit::seconds,
           "lastanswer", "last_answer_s", 2},
          agent.last_answer);
  out.add({"last_answer_time", "duration of the last attempt or ping that ended", gauge,
           Unit::milliseconds, "lastperiodmsec", kHidden},
          agent.last_period);
}

}  // namespace karmad
