#pragma once

#include <mutex>

#include "balancer/admission/ticket_pool.hpp"
#include "balancer/rules/admission/throughput_probe.hpp"

namespace karmad {

/// What is told of the probing.
struct ProbingStatus {
  bool reads = false;  ///< the pool of searches is probed
  bool writes = false;
  ProbeState state = ProbeState::stable;
  double stable_concurrency = 0;
  double stable_throughput = 0;
  PoolSizes sizes;
  ProbeCounters counters;
  std::uint64_t resize_duration_us = 0;
  std::string last_decision;  ///< empty: none yet
};

/// Without the state and the last decision, which are texts.
void write(StatsWriter& out, const ProbingStatus& probing);

/// Carries out what the probe decides on two pools. One thread calls it; any may read its status.
class Probing {
 public:
  Probing(TicketPool& reads, TicketPool& writes, unsigned cores);

  /// Which pools are probed, and how. Their first sizes are the probe's.
  void parameters(const ProbeParameters& parameters);
  /// What the probed pools' sizes should be.
  PoolSizes sizes() const { return probe_.sizes(); }

  /// To be called at each adjustment interval; a resize that got stuck was ended before.
  void look(TimePoint now);

  /// Waits for tickets to come back before it goes on; a look is worth while sooner then.
  bool resizing() const { return resizing_since_.has_value(); }

  ProbingStatus status() const;

 private:
  bool probes() const { return probe_.parameters().reads || probe_.parameters().writes; }
  ProbeReadings readings();
  void resize(PoolSizes sizes, TimePoint now);
  void tell(const ProbeDecision& decision);

  TicketPool& reads_;
  TicketPool& writes_;
  ThroughputProbe probe_;
  std::optional<TimePoint> resizing_since_;
  double told_ = 0;  ///< the concurrency that was logged last

  mutable std::mutex mutex_;
  ProbingStatus status_;
};

}  // namespace karmad
