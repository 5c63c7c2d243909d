#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "agent/health/former_places.hpp"
#include "agent/stats/outcome.hpp"
#include "config/settings/settings.hpp"
#include "strategies/candidates.hpp"
#include "strategies/read_preference.hpp"
#include "strategies/time.hpp"

namespace karmad {

struct BreakerRules {
  /// Failures that are tolerated; one more trips the mirror (CO-090).
  std::uint32_t reads = kDefaultSettings.breaker_reads.value;
  std::uint32_t writes = kDefaultSettings.breaker_writes.value;
  /// The count restarts if the last failure is older than this.
  Micros window = kDefaultSettings.breaker_window.value;
  Micros probe_every = kDefaultSettings.ha_ping_interval.value;  ///< CO-092
  bool operator==(const BreakerRules&) const = default;
};

/// `tripped`, or none if that were all: the last mirror is never tripped (CO-091).
constexpr Candidates but_never_all(Candidates tripped, Candidates all) {
  return (all - tripped).empty() ? Candidates{} : tripped;
}

/// Counts failures per mirror of one set for its shard. The mirror may work for other shards, so
/// this is separate from its agent's errors in a row. Reads and writes are counted separately;
/// either count trips the mirror for all requests of the shard (CO-091).
///
/// Relaxed atomics, no allocation; any thread. Concurrent calls may lose a failure or let one probe
/// more through.
class Breaker {
 public:
  Breaker(std::size_t mirrors, BreakerRules rules) : rules_(rules), cells_(mirrors) {}

  /// Takes over the failures of mirrors that existed before. Call before it is used.
  void take_over(const Breaker& before, const FormerPlaces& places) noexcept;

  /// What is worth keeping of a mirror over a restart of the process, by Operation.
  struct Memory {
    std::uint32_t count = 0;
    Micros since_last{};  ///< time since the last failure
    bool operator==(const Memory&) const = default;
  };
  using Memories = std::array<Memory, 2>;
  Memories memory(std::size_t mirror, TimePoint now) const noexcept;
  /// Restores it; before it is used. A tripped mirror is probed after `probe_every`.
  void restore(std::size_t mirror, const Memories& memories, TimePoint now) noexcept;

  /// An attempt failed and the mirror caused it (Consequence::error).
  void failed(std::size_t mirror, Operation operation, TimePoint now) noexcept;

  /// An attempt succeeded: resets this count; for a tripped mirror both counts.
  void succeeded(std::size_t mirror, Operation operation, TimePoint now) noexcept;

  /// An attempt ended: calls one of the two above, or none.
  void ended(std::size_t mirror, Operation operation, Outcome outcome, TimePoint now) noexcept;

  bool is_tripped(std::size_t mirror, TimePoint now) const noexcept;

  /// The mirrors to avoid; never all.
  Candidates tripped(TimePoint now) const noexcept;

  /// A tripped mirror that is due for a probe: the caller must send this request there. At most
  /// once per `probe_every` and mirror. Nothing: no probe is due.
  std::optional<std::size_t> try_probe(TimePoint now) noexcept;

 private:
  struct Failures {
    std::atomic<std::uint32_t> count{0};
    std::atomic<std::int64_t> last{0};  ///< µs of the process's clock
  };
  struct alignas(64) Cell {
    std::array<Failures, 2> failures;         ///< by Operation
    std::atomic<std::int64_t> next_probe{0};  ///< µs of the process's clock
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
