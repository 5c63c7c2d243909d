#pragma once

#include <utility>

#include "balancer/dispatch/shard_next.hpp"

namespace karmad {

/// What an agent's answer says of the generation of the data it was made from.
inline constexpr std::string_view kGeneration = "X-Generation";

/// Whether the mirrors of this part have to agree; searches only (CO-070).
bool reads_by_quorum(const ShardCall& call);

/// Has `next` make one attempt at each of as many mirrors as have to agree, at once, and goes on
/// until they do, or cannot (CO-070 … CO-075). The winner's end becomes the part's; without one the
/// part is refused, or overloaded when that is all its mirrors said.
Task<void> quorum_read(ShardCall& call, ShardNext next);

/// Around the attempts of a part: several at a time where a quorum is asked for, else nothing.
template <class Next>
class Quorum {
 public:
  constexpr explicit Quorum(Next next) : next_(std::move(next)) {}

  Task<void> operator()(ShardCall& call) const {
    return reads_by_quorum(call) ? quorum_read(call, ShardNext(next_)) : next_(call);
  }

 private:
  Next next_;
};

}  // namespace karmad
