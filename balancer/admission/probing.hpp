#pragma once

#include <mutex>

#include "balancer/admission/ticket_pool.hpp"
#include "balancer/rules/admission/throughput_probe.hpp"

namespace karmad {

/// The state of probing, for the status.
struct ProbingStatus {
  bool reads = false;  ///< the pool of searches is probed
  bool writes = false;
  ProbeState state = ProbeState::stable;
  double stable_concurrency = 0;
  double stable_throughput = 0;
  PoolSizes sizes;
  ProbeCounters counters;
  std::uint64_t resize_duration_us = 0;
  std::string last_decision;  ///< empty: none so far
};

/// Writes all numbers, without the two texts (state and last decision).
void write(StatsWriter& out, const ProbingStatus& probing);

/// Applies the probe's decisions to two pools. One thread calls it; any thread may read its status.
class Probing {
 public:
  Probing(TicketPool& reads, TicketPool& writes, unsigned cores);

  /// Selects the pools to probe and the rules. The probe also sets their first sizes.
  void parameters(const ProbeParameters& parameters);
  /// The sizes that the probed pools should have.
  PoolSizes sizes() const { return probe_.sizes(); }

  /// Continues with what a former process found (ThroughputProbe::restore()).
  void restore(double stable_concurrency, double stable_throughput);

  /// One adjustment, at each interval. Ends a stalled resize first.
  void sample(TimePoint now);

  /// True while a resize waits for tickets to come back; sample() is then useful earlier.
  bool resizing() const { return resizing_since_.has_value(); }

  ProbingStatus status() const;

 private:
  bool probes() const { return probe_.parameters().reads || probe_.parameters().writes; }
  ProbeReadings readings();
  void resize(PoolSizes sizes, TimePoint now);
  void publish(const ProbeDecision& decision);

  TicketPool& reads_;
  TicketPool& writes_;
  ThroughputProbe probe_;
  std::optional<TimePoint> resizing_since_;
  double logged_concurrency_ = 0;  ///< the concurrency in the last log line

  mutable std::mutex mutex_;
  ProbingStatus status_;
};

}  // namespace karmad
