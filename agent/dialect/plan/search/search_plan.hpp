#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <string_view>

#include "agent/dialect/merge/merge_steps.hpp"
#include "agent/dialect/plan/shard_text.hpp"
#include "agent/dialect/request/client_request.hpp"
#include "agent/dialect/request/search_request.hpp"

namespace karmad {

/// One page of a search over several shards: the edits that make the client's body the request for
/// each shard, and how the page is made from the replies.
struct PlannedSearch {
  TextEdits edits;
  SearchMerge merge;
  std::size_t client_keys = 0;  ///< the first keys of `merge` that the client has given
  /// The document whose vector is searched by; nothing: it is another search.
  std::optional<NearDocument> document{};
};

/// Refuses (400) a request that cannot be merged, with the reason. `vector`: the numbers of the
/// vector of PlannedSearch::document, if it has one.
std::expected<PlannedSearch, ClientError> plan_search(std::string_view body,
                                                      const SearchRequest& request,
                                                      std::size_t shards,
                                                      const DialectSettings& settings,
                                                      std::string_view vector = {});

}  // namespace karmad
