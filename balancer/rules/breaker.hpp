#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "agent/mirrors/former_places.hpp"
#include "agent/stats/outcome.hpp"
#include "config/settings.hpp"
#include "strategies/candidates.hpp"
#include "strategies/read_preference.hpp"
#include "strategies/time.hpp"

namespace karmad {

struct BreakerRules {
  /// Failures that are still tolerated; one more trips (CO-090).
  std::uint32_t reads = kDefaultSettings.breaker_reads.value;
  std::uint32_t writes = kDefaultSettings.breaker_writes.value;
  /// The count restarts when the last failure is older.
  Micros window = kDefaultSettings.breaker_window.value;
  Micros probe_every = kDefaultSettings.ha_ping_interval.value;  ///< CO-092
  bool operator==(const BreakerRules&) const = default;
};

/// `tripped`, or none when that would be all: the last mirror is never tripped (CO-091).
constexpr Candidates but_never_all(Candidates tripped, Candidates all) {
  return (all - tripped).empty() ? Candidates{} : tripped;
}

/// Which mirrors of one set failed its shard too often. A mirror may be fine for other shards, so
/// this stands beside the errors in a row of its agent. Failed reads and writes are counted apart;
/// either count trips the mirror, for every request of the shard (CO-091).
///
/// Relaxed atomics, no allocation: any thread calls anything. Threads that meet in the same moment
/// may lose a failure of each other, or let one more probe through.
class Breaker {
 public:
  Breaker(std::size_t mirrors, BreakerRules rules) : rules_(rules), cells_(mirrors) {}

  /// The failures of mirrors that are still there count on. Before it is in use.
  void take_over(const Breaker& before, const FormerPlaces& places) noexcept;

  /// An attempt failed for a reason that is the mirror's (Consequence::error).
  void failed(std::size_t mirror, Operation operation, TimePoint now) noexcept;

  /// An attempt succeeded: its count restarts. A tripped mirror is closed, both counts restart.
  void succeeded(std::size_t mirror, Operation operation, TimePoint now) noexcept;

  /// An attempt ended: one or the other of the two above, or neither.
  void ended(std::size_t mirror, Operation operation, Outcome outcome, TimePoint now) noexcept;

  bool is_tripped(std::size_t mirror, TimePoint now) const noexcept;

  /// Whom to avoid; leaves at least one mirror.
  Candidates tripped(TimePoint now) const noexcept;

  /// A tripped mirror that is due for a probe; the caller has it, and sends this request there (by
  /// avoiding all others). Once per `probe_every` and mirror. Nothing: no mirror is due.
  std::optional<std::size_t> try_probe(TimePoint now) noexcept;

 private:
  struct Failures {
    std::atomic<std::uint32_t> count{0};
    std::atomic<std::int64_t> last{0};  ///< µs on the master's clock
  };
  struct alignas(64) Cell {
    std::array<Failures, 2> failures;         ///< by Operation
    std::atomic<std::int64_t> next_probe{0};  ///< µs on the master's clock
  };

  std::uint32_t tolerated(Operation operation) const noexcept {
    return operation == Operation::read ? rules_.reads : rules_.writes;
  }
  bool is_tripped(const Cell& cell, Operation operation, std::int64_t now) const noexcept;
  bool is_tripped(const Cell& cell, std::int64_t now) const noexcept;

  BreakerRules rules_;
  std::vector<Cell> cells_;
};

}  // namespace karmad
