#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "agent/dialect/merge/search_merge.hpp"
#include "agent/dialect/plan/search/vector_plan.hpp"
#include "agent/dialect/plan/shard_text.hpp"
#include "agent/dialect/request/client_request.hpp"
#include "agent/dialect/request/search_request.hpp"
#include "agent/json/json_tree.hpp"

namespace karmad {

// Defaults of the search server.
inline constexpr std::uint64_t kDefaultLimit = 20;
inline constexpr std::uint64_t kDefaultMaxMatches = 1000;

/// Which hits of all found ones a client wants.
struct Window {
  std::uint64_t offset = 0;
  std::uint64_t limit = kDefaultLimit;
  std::optional<std::uint64_t> max_matches;
};

/// Refuses (400) counts that are no counts, and two names of one count that differ.
std::expected<Window, ClientError> window_of(std::string_view body, const SearchRequest& request);

/// One page of a search over several shards: the edits that make the client's body the request for
/// each shard, and how the page is made from the replies.
struct PlannedSearch {
  TextEdits edits;
  SearchMerge merge;
  /// The document whose vector is searched by; nothing: it is another search.
  std::optional<KnnDocument> document{};
};

/// Refuses (400) a request that cannot be merged, with the reason. `vector`: the numbers of the
/// vector of PlannedSearch::document, if it has one.
std::expected<PlannedSearch, ClientError> plan_search(std::string_view body,
                                                      const SearchRequest& request,
                                                      std::size_t shards,
                                                      const DialectSettings& settings,
                                                      std::string_view vector = {});

}  // namespace karmad
