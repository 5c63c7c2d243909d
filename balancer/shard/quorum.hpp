#pragma once

#include <utility>

#include "balancer/shard/shard_next.hpp"

namespace karmad {

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
    return by_quorum(call.query, call.order) ? quorum_read(call, ShardNext(next_)) : next_(call);
  }

 private:
  Next next_;
};

}  // namespace karmad
