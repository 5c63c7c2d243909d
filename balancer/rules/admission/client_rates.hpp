#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "agent/stats/stats_writer.hpp"
#include "balancer/rules/admission/token_bucket.hpp"
#include "config/address_range.hpp"

namespace karmad {

struct ClientCounts {
  std::uint64_t successful = 0;
  std::uint64_t rejected = 0;
  std::uint64_t forgotten = 0;   ///< to make room for others
  std::uint64_t remembered = 0;  ///< now
  std::uint64_t exempted = 0;    ///< RateGates adds them
};
void write(StatsWriter& out, const ClientCounts& counts);

/// A bucket for each client address, of which so many are remembered; then the one that asked least
/// recently is forgotten, and would begin again with a full bucket. Any thread may ask: the clients
/// are spread over parts with a lock each, held for about 100 ns. IPv6 clients are told apart by
/// the first 64 bits of their address, which is what one client is given.
class ClientRates {
 public:
  ClientRates();  ///< with a random seed
  explicit ClientRates(std::uint64_t seed);
  ~ClientRates();

  /// Another rule, and room for that many. Those known keep their tokens, cut to the new capacity,
  /// as far as there is room for them; without a limit all are forgotten. Takes 100 ns for
  /// every client that is remembered.
  void change(const BucketRule& rule, std::size_t remembered, TimePoint now);

  /// Takes a token of that client's; when it has none, how long until it has.
  std::optional<Micros> take(const IpAddress& client, TimePoint now);

  ClientCounts counts() const;

 private:
  class Part;
  static constexpr std::size_t kParts = 16;
  static constexpr std::size_t kWorthAPart = 64;  // with fewer each, the order of all is kept
  std::span<Part> parts() const;

  const std::uint64_t seed_;  // so that clients cannot choose addresses that collide
  std::unique_ptr<Part[]> parts_;
  std::atomic<std::size_t> parts_used_{1};
};

}  // namespace karmad
