#pragma once

#include <memory>
#include <string_view>

#include "agent/dialect/dialect.hpp"
#include "agent/dialect/manticore_json/request.hpp"
#include "agent/dialect/manticore_json/search_plan.hpp"

namespace karmad {

/// The plan of a search by the vector of a document (`knn` by `doc_id`). `search`: its plan without
/// the vector.
std::unique_ptr<FanOut> search_near_document(std::unique_ptr<SearchPlan> search,
                                             std::string_view body, SearchRequest request,
                                             ShardLayout layout, const DialectSettings& settings);

}  // namespace karmad
