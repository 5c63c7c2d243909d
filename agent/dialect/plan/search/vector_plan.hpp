#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/plan/search/sort_plan.hpp"
#include "agent/dialect/request/search_request.hpp"

namespace karmad {

/// What a search by the vector of a document (`knn` by `doc_id`) is about.
struct KnnDocument {
  std::string field;  ///< the attribute with the vector
  std::string id;     ///< its digits
};

/// A part of the request that shards get another text for.
struct VectorEdit {
  ByteRange at;
  std::string text;
};

/// What `knn`, `hybrid` and `options.fusion_method` of a search mean for the merged answer.
struct VectorPlan {
  VectorOrder order = VectorOrder::none;
  /// Most hits of the merged answer: the `k` nearest of all shards. Nothing: no such limit.
  std::optional<std::uint64_t> nearest;
  std::optional<KnnDocument> document;
  /// The vector in place of the document's id, one more neighbour, since some servers filter after
  /// the search, and a filter without the document itself.
  std::vector<VectorEdit> edits;
};

/// `vector`: the numbers of the document's vector, if the search is by a document's. Refuses (400)
/// mistakes, and a fused search by a document's vector over several shards. On one shard such a
/// search is sent unchanged.
std::expected<VectorPlan, ClientError> plan_vectors(std::string_view body,
                                                    const SearchRequest& request,
                                                    std::size_t shards,
                                                    std::string_view vector = {});

}  // namespace karmad
