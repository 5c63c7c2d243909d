#pragma once

#include <memory>
#include <span>

#include "balancer/rules/admission/rate_limiter.hpp"
#include "config/settings/settings.hpp"

namespace karmad {

struct ClientCounts {
  std::uint64_t successful = 0;
  std::uint64_t rejected = 0;
  std::uint64_t forgotten = 0;   ///< removed to make room for other clients
  std::uint64_t remembered = 0;  ///< current number
  std::uint64_t exempted = 0;    ///< set by RateGates
};
void write(StatsWriter& out, const ClientCounts& counts);

/// A token bucket for each client address, for a limited number of clients; beyond it the least
/// recently seen one is forgotten, and later starts with a full bucket. Any thread: clients are
/// spread over parts with a lock each, held for about 100 ns. IPv6 clients are identified by the
/// first 64 bits of their address, the part assigned to one client.
class ClientRates {
 public:
  ClientRates();  ///< with a random seed
  explicit ClientRates(std::uint64_t seed);
  ~ClientRates();

  /// Changes the rule and the number of clients. Known clients keep their tokens, up to the new
  /// capacity, as far as there is room; without a limit all are forgotten. Takes 100 ns per known
  /// client.
  void change(const BucketRule& rule, std::size_t remembered, TimePoint now);

  /// Takes a token of that client; if it has none, returns the time until it has one.
  std::optional<Micros> take(const IpAddress& client, TimePoint now);

  /// The time until that client has a token, without taking one; nothing if it has one, or is not
  /// known.
  std::optional<Micros> wait(const IpAddress& client, TimePoint now);

  ClientCounts counts() const;

 private:
  class Part;
  static constexpr std::size_t kParts = 16;
  static constexpr std::size_t kWorthAPart = 64;  // with fewer, one part keeps the exact order
  std::span<Part> parts() const;

  const std::uint64_t seed_;  // so that clients cannot choose addresses that collide
  std::unique_ptr<Part[]> parts_;
  std::atomic<std::size_t> parts_used_{1};
};

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
