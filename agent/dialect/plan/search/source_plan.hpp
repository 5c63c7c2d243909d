#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/merge/search_merge.hpp"
#include "agent/dialect/plan/search/sort_plan.hpp"
#include "agent/dialect/request/client_request.hpp"

namespace karmad {

/// `text`: the bytes of the request's `_source`, empty when there is none.
std::expected<SourcePlan, ClientError> plan_source(std::string_view text,
                                                   const std::vector<SortKey>& keys);

}  // namespace karmad
