#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "agent/dialect/merge/search_merge.hpp"
#include "agent/dialect/plan/search/sort_plan.hpp"
#include "agent/dialect/request/search_request.hpp"

namespace karmad {

/// The page of a search that pages with tokens (`options.scroll`); nothing: it does not. Refuses
/// (400) a token that cannot be continued here.
std::expected<std::optional<HitScroll>, ClientError> plan_scroll(std::string_view body,
                                                                 const SearchRequest& request,
                                                                 const ScrollPlace& place);
/// Makes shards sort by all keys, so that the order is total. Refuses (400) an order that a server
/// cannot continue.
std::optional<ClientError> complete_scroll(const ScrollPages& pages, SortPlan& sort);
/// The value of `options.scroll` for the shards.
std::string scroll_option(const ScrollPages& pages);

}  // namespace karmad
