#include "balancer/status/snapshot.hpp"

#include "balancer/core/counters.hpp"

namespace karmad {

using enum StatKind;

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
  write(out, process.counters);
  write(out, process.sources);
}

void write_periods(StatsWriter& out, const Snapshot& snapshot) {
  out.add({"period", "length of a period (ha_period_karma)", gauge, Unit::seconds, "period_seconds",
           "period_s", 0},
          snapshot.period);
  out.add({"stored_periods", "number of periods that are kept", gauge}, snapshot.stored_periods);
}

}  // namespace karmad
