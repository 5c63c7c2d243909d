#pragma once

#include <atomic>
#include <cstdint>

#include "balancer/rules/admission/client_rates.hpp"
#include "balancer/rules/admission/rate_limiter.hpp"
#include "config/settings/settings.hpp"

namespace karmad {

/// The bucket rule of a rate setting.
BucketRule rule_of(const Rate& rate, Micros burst);

inline constexpr Stat kConnectionsQueued{
    "connections_queued",
    "client connections that wait because of ingress_connection_rate",
    StatKind::gauge,
    Unit::count,
    {},
    "queuedForEstablishment"};
inline constexpr Stat kConnectionsLeftQueue{
    "connections_left_queue",
    "client connections that ended while they waited because of ingress_connection_rate",
    StatKind::counter,
    Unit::count,
    kHidden,
    "interruptedDueToClientDisconnect"};
inline constexpr Stat kTimeToHead{
    "time_to_head",
    "moving mean of the time from accepting a connection to its first complete head",
    StatKind::gauge,
    Unit::microseconds,
    kHidden,
    "averageTimeToCompletedHelloMicros"};

/// The rate limiters of the process; those of tables are in the topology. Any thread may ask them;
/// the rates come from the configuration.
struct RateGates {
  RateLimiter connections;  ///< AC-040
  RateLimiter requests;     ///< AC-050
  ClientRates clients;
  std::atomic<std::uint64_t> clients_exempted{0};
  std::atomic<std::uint64_t> left_queue{0};  ///< connections closed by the peer while they waited
  MovingAverage time_to_head;  ///< µs from accepting a connection to its first complete head

  ClientCounts client_counts() const {
    auto counts = clients.counts();
    counts.exempted = clients_exempted.load(std::memory_order_relaxed);
    return counts;
  }

  /// Applies these settings. One thread at a time.
  void adopt(const RateSettings& settings, TimePoint now);

 private:
  Rate client_rate_;
  Micros client_burst_{};
  unsigned client_room_ = 0;
};

}  // namespace karmad
