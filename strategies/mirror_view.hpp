#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <span>

namespace karmad {

/// The error rates of a mirror in the window of HA-010, as `noerrors` compares them (HA-023):
/// shares of all outcomes, 0 if tolerated. Without a success (query or ping) in the window they are
/// infinite.
struct ErrorRates {
  static constexpr float kNoSuccess = std::numeric_limits<float>::infinity();

  float critical = kNoSuccess;
  float errors = kNoSuccess;  ///< critical outcomes and warnings; never below `critical`

  constexpr bool had_success() const { return critical < kNoSuccess; }
  /// Lower is better: by `critical`, then by `errors`. The bits of non-negative floats are in the
  /// order of their values.
  constexpr std::uint64_t rank() const {
    return std::uint64_t{std::bit_cast<std::uint32_t>(critical)} << 32 |
           std::bit_cast<std::uint32_t>(errors);
  }
  constexpr bool operator==(const ErrorRates&) const = default;
};

/// Rates up to this count as 0 (HA-023).
inline constexpr double kToleratedRate = 0.03;

/// Computes the rates from the counters of a window, pings included. `critical` is the sum of seven
/// counters: query timeouts, connect timeouts, connect failures, network errors, wrong queries,
/// wrong replies, unexpected closings.
constexpr ErrorRates error_rates(std::uint64_t successes, std::uint64_t warnings,
                                 std::uint64_t critical) {
  if (successes == 0) return {};
  const auto all = static_cast<double>(successes + warnings + critical);
  const auto rate = [all](std::uint64_t count) {
    const auto share = static_cast<double>(count) / all;
    return share <= kToleratedRate ? 0.0F : static_cast<float>(share);
  };
  return {rate(critical), rate(critical + warnings)};
}

/// One mirror at the moment of a pick. Plain numbers, without socket, lock or clock.
struct MirrorView {
  std::uint32_t errors_in_a_row = 0;
  std::uint32_t in_flight = 0;  ///< attempts it is working on (SS-114)
  double karma = 1.0;           ///< includes the weight; only its ratio to the others' matters
  ErrorRates rates{};
  double weight = 1.0;  ///< configured, and reduced by slow start; 0: only if no other suits
  float latency = 1;  ///< usual duration of a search in µs; of an unknown mirror the set's median
  float penalty = 0;  ///< what recent failures add to it, in µs
  float oldest = 0;   ///< age of the oldest attempt in flight, in µs
  float owed = 0;     ///< answers that are due by now and have not come (owed_answers())
  float load = 0;     ///< part of its capacity that is in use, as it reports; 0: not reported
};

/// The mirrors of one set in the order of the configuration line; at most Candidates::kMost.
using MirrorViews = std::span<const MirrorView>;

}  // namespace karmad
