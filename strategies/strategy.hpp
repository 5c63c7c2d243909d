#pragma once

#include <cstddef>

#include "strategies/candidates.hpp"
#include "strategies/choose.hpp"
#include "strategies/mirror_view.hpp"
#include "strategies/random_source.hpp"

namespace karmad {

/// Which mirrors are acceptable, and which of those is taken. Every mirror set has an object of its
/// own; all workers share it, from any thread. No function allocates.
class Strategy {
 public:
  virtual ~Strategy() = default;
  /// The acceptable mirrors of `suitable`; never nothing unless `suitable` is.
  virtual Candidates narrow(MirrorViews, Candidates suitable) const { return suitable; }
  /// Takes one of `from`, which is what `narrow` left and not empty.
  virtual std::size_t choose(MirrorViews mirrors, Candidates from, RandomSource& random) const = 0;
  /// The probability with which `choose` takes each mirror of `from`; sums to 1. Pure.
  virtual Shares shares(MirrorViews mirrors, Candidates from) const = 0;
};

}  // namespace karmad
