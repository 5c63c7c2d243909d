#pragma once

#include <memory>
#include <string>

#include "agent/dialect/changes/change_plan.hpp"

namespace karmad {

/// Plans a bulk for the shards of its table: each line goes to the shard of its document, a line
/// about no single document to all. The answer has the form of the engine's, with the items in the
/// order of the client's lines. Refuses (400) as split_bulk() does. The request must outlive the
/// plan.
std::expected<std::unique_ptr<FanOut>, ClientError> plan_bulk(const ClientRequest& request,
                                                              const Parsed& parsed,
                                                              ShardLayout layout,
                                                              unsigned max_depth);

}  // namespace karmad
