#pragma once

#include <array>
#include <string_view>

namespace karmad {

/// Where Solr, Elasticsearch and OpenSearch take updates, also below these paths.
inline constexpr std::array<std::string_view, 9> kUpdatePaths{
    "/solr/{core}/update",
    "/{index}/_doc",
    "/{index}/_update",
    "/{index}/_create",
    "/{index}/_bulk",
    "/_bulk",
    "/{index}/_update_by_query",
    "/{index}/_delete_by_query",
    "/_reindex",
};

/// A path of updates of a known engine that `pattern`, a path of `reads` in the mirrors' terms,
/// covers: with `{name}` for a segment that may be any. Empty: there is none.
std::string_view update_path_in(std::string_view pattern);

}  // namespace karmad
