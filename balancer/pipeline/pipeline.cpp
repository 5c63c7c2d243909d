#include "balancer/pipeline/pipeline.hpp"

#include "balancer/dispatch/dispatch.hpp"
#include "balancer/dispatch/hedged.hpp"
#include "balancer/dispatch/one_attempt.hpp"
#include "balancer/dispatch/quorum.hpp"
#include "balancer/dispatch/retries.hpp"
#include "balancer/pipeline/admitted.hpp"
#include "balancer/pipeline/route.hpp"
#include "balancer/pipeline/user_handles.hpp"

namespace karmad {

Task<Answer> pass_pipeline(Query& query) {
  static constexpr Admitted kPipeline{UserHandles{Route{dispatch}}};
  return kPipeline(query);
}

Task<void> pass_shard_pipeline(ShardCall& call) {
  static constexpr Quorum kPipeline{Hedged{Retries{OneAttempt{}}}};
  return kPipeline(call);
}

}  // namespace karmad
