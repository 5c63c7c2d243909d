#pragma once

#include "balancer/shard/shard_part.hpp"

namespace karmad {

/// The handle that several parts of one shard's query pass, for those who have them; it outlives
/// all of them.
class ShardNext {
 public:
  template <class Next>
  explicit ShardNext(const Next& next)
      : next_(&next), ask_([](const void* handle, ShardCall& call) -> Task<void> {
          return (*static_cast<const Next*>(handle))(call);
        }) {}
  Task<void> operator()(ShardCall& call) const { return ask_(next_, call); }

 private:
  const void* next_;
  Task<void> (*ask_)(const void*, ShardCall&);
};

}  // namespace karmad
