#pragma once

#include "strategies/expected_wait.hpp"
#include "strategies/strategy.hpp"

namespace karmad {

/// The rank of C3 (Suresh et al., NSDI 2015), which Elasticsearch calls adaptive replica selection,
/// as in its version 9.5: the cube of the estimated queue times the service time. Servers do not
/// report their queue here, so the queue is one more than the attempts in flight, and the service
/// time is the usual duration of a search.
inline float c3_rank(const MirrorView& mirror) {
  const auto queue = (static_cast<float>(mirror.in_flight) + 1) / static_cast<float>(mirror.weight);
  return queue * queue * queue * duration_now(mirror);
}

/// The mirror with the lowest rank of all; a tie is decided at random. Several masters may choose
/// the same one. Dead mirrors (HA-022) are excluded.
class Ars final : public AvoidsDead {
 public:
  using AvoidsDead::AvoidsDead;
  std::size_t choose(MirrorViews mirrors, Candidates from, RandomSource& random) const override {
    return cheapest(from, random, [&](auto mirror) { return c3_rank(mirrors[mirror]); });
  }
  Shares shares(MirrorViews mirrors, Candidates from) const override {
    return cheapest_shares(from, from.size(),
                           [&](auto mirror) { return c3_rank(mirrors[mirror]); });
  }
};

}  // namespace karmad
