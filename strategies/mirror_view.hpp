#pragma once

#include <cstdint>
#include <span>

#include "strategies/error_rates.hpp"

namespace karmad {

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
