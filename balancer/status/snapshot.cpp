#include "balancer/status/snapshot.hpp"

#include "balancer/core/counters.hpp"

namespace karmad {

using enum StatKind;

void write(StatsWriter& out, const Standing& standing) {
  out.add({"staleness", "how far a replica is behind", gauge, Unit::milliseconds, "staleness_ms",
           "staleness_ms"},
          standing.staleness);
  out.add({"generation", "the last change it has seen", gauge}, standing.generation);
  out.add({"rtt", "smoothed round trip of pings", gauge, Unit::milliseconds, "rtt_ms", "rtt_ms"},
          standing.rtt);
  out.add({"least_rtt", "least round trip of the last ten pings", gauge, Unit::milliseconds,
           "rtt_ms_least", "rtt_ms_least"},
          standing.least_rtt);
  out.add({"load", "as the mirror reports it", gauge, Unit::count, kHidden}, standing.load);
}

void write_shares(StatsWriter& out, const MirrorStatus& mirror) {
  out.add({"weight", "karma, as its part of the shard's", gauge, Unit::share, "probability_weight"},
          mirror.weight);
  out.add({"probability", "with which a search would go to the mirror now", gauge, Unit::share,
           kHidden},
          mirror.probability);
}

void write_since_start(StatsWriter& out, const MirrorStatus& mirror) {
  out.add({"attempts", "attempts begun, whatever became of them", counter, Unit::count, kHidden},
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

void write_counters(StatsWriter& out, const ProcessStatus& process) {
  out.add({"workers", "threads that serve queries", gauge, Unit::count, "workers_total", kHidden},
          process.workers);
  write(out, process.counters);
}

void write_periods(StatsWriter& out, const Snapshot& snapshot) {
  out.add({"period", "length of a period, ha_period_karma", gauge, Unit::seconds, "period_seconds",
           "period_s", 0},
          snapshot.period);
  out.add({"stored_periods", "how many periods are kept", gauge}, snapshot.stored_periods);
}

}  // namespace karmad
