#pragma once

#include <cstdint>
#include <span>

#include "strategies/error_rates.hpp"

namespace karmad {

/// One mirror at the moment of a pick. Plain numbers, without socket, lock or clock.
struct MirrorView {
  std::uint32_t errors_in_a_row = 0;
  std::uint32_t in_flight = 0;  ///< attempts it is working on (SS-114)
  double karma = 1.0;           ///< only its ratio to the other mirrors' karma matters
  ErrorRates rates{};
};

/// The mirrors of one set in the order of the configuration line; at most Candidates::kMost.
using MirrorViews = std::span<const MirrorView>;

}  // namespace karmad
