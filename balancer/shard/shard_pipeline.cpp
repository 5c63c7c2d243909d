#include "balancer/shard/shard_pipeline.hpp"

#include "balancer/shard/hedged.hpp"
#include "balancer/shard/one_attempt.hpp"
#include "balancer/shard/quorum.hpp"
#include "balancer/shard/retries.hpp"

namespace karmad {

Task<void> pass_shard_pipeline(ShardCall& call) {
  static constexpr Quorum kPipeline{Hedged{Retries{OneAttempt{}}}};
  return kPipeline(call);
}

}  // namespace karmad
