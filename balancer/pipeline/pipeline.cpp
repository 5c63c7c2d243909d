#include "balancer/pipeline/pipeline.hpp"

#include "balancer/pipeline/admitted.hpp"
#include "balancer/pipeline/route.hpp"
#include "balancer/pipeline/user_handles.hpp"
#include "balancer/search/scatter_gather.hpp"

namespace karmad {

Task<Answer> pass_pipeline(Query& query) {
  static constexpr Admitted kPipeline{UserHandles{Route{scatter_gather}}};
  return kPipeline(query);
}

}  // namespace karmad
