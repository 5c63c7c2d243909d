#include "balancer/pipeline/pipeline.hpp"

#include "balancer/pipeline/route.hpp"
#include "balancer/pipeline/traced.hpp"
#include "balancer/pipeline/user_handles.hpp"

namespace karmad {

Task<Answer> pass_pipeline(Query& query) {
  Traced pipeline{UserHandles{query.worker.process.user_handles, Route{}}};
  co_return co_await pipeline(query);
}

}  // namespace karmad
