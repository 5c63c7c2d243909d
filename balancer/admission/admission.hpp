#pragma once

#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <string_view>

#include "balancer/admission/ticket_pool.hpp"
#include "balancer/rules/admission/throughput_probe.hpp"
#include "config/settings/settings.hpp"

namespace karmad {

/// The state of probing, for the status.
struct ProbingStatus : ProbeStatus {
  bool reads = false;  ///< the pool of searches is probed
  bool writes = false;
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
  PoolSizes sizes() const { return probe_.status().sizes; }

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

/// The ticket pools of the process and the rules for their sizes. Any worker takes and returns
/// tickets; worker 0 changes settings and runs the probing.
class Admission {
 public:
  /// `most_requests`: upper bound of requests in progress, as every connection has one at a time. A
  /// pool with at least as many tickets needs no counting.
  Admission(unsigned workers, const Loops& loops, std::uint32_t most_requests,
            const InstanceSettings& settings, TimePoint now);

  /// Changes the settings; waiting requests keep their places.
  void settings(const InstanceSettings& settings, TimePoint now);

  /// Continues probing with the numbers that a former process found. Before the workers run.
  void restore_probing(double stable_concurrency, double stable_throughput,
                       const InstanceSettings& settings, TimePoint now) {
    probing_.restore(stable_concurrency, stable_throughput);
    this->settings(settings, now);
  }

  /// Adjusts the pools at each adjustment interval, until stop().
  Task<void> watch(Loop& loop);
  /// One adjustment.
  void sample(TimePoint now);
  void stop();

  AdmissionMode mode() const { return mode_.load(std::memory_order_relaxed); }
  /// Whether `X-Priority: low` has an effect.
  bool low_priority() const { return low_priority_.load(std::memory_order_relaxed); }
  /// The longest wait for a ticket; 0: up to the deadline of the request.
  Micros queue_timeout() const { return Micros{queue_timeout_.load(std::memory_order_relaxed)}; }
  ProbingStatus probing() const { return probing_.status(); }

  /// Whether any pool has no free ticket; a few loads.
  bool anything_exhausted() const {
    return ingress.exhausted() || searches.exhausted() || updates.exhausted() ||
           low_searches.exhausted() || low_updates.exhausted();
  }

  TicketPool ingress;
  TicketPool searches;
  TicketPool updates;
  TicketPool low_searches;  ///< of low priority (AC-007)
  TicketPool low_updates;

  struct NamedPool {
    std::string_view name;   ///< in documents
    std::string_view label;  ///< of its numbers
    const TicketPool* pool;
  };
  std::array<NamedPool, 5> pools() const {
    return {{{"ingress_tickets", "ingress", &ingress},
             {"search_tickets", "search", &searches},
             {"update_tickets", "update", &updates},
             {"low_priority_tickets (searches)", "low_search", &low_searches},
             {"low_priority_tickets (updates)", "low_update", &low_updates}}};
  }

 private:
  const std::uint32_t most_requests_;
  std::atomic<AdmissionMode> mode_;
  std::atomic<bool> low_priority_;
  std::atomic<std::int64_t> queue_timeout_;
  Probing probing_;
  Micros interval_{};
  std::optional<Stop> stop_;
};

}  // namespace karmad
