#pragma once

#include <cstdint>
#include <optional>

#include "agent/dialect/manticore_json/request.hpp"
#include "agent/dialect/manticore_json/sort_plan.hpp"

namespace karmad {

/// What `knn`, `hybrid` and `options.fusion_method` of a search mean for the merged answer.
struct VectorPlan {
  VectorOrder order = VectorOrder::none;
  /// Most hits of the merged answer: the `k` nearest of all shards. Nothing: no such limit.
  std::optional<std::uint64_t> nearest;
};

/// Refuses (400) a search by the vector of a document, which only one shard has.
std::expected<VectorPlan, ClientError> plan_vectors(std::string_view body,
                                                    const SearchRequest& request);

}  // namespace karmad
