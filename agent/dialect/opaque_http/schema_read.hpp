#pragma once

#include <array>
#include <string_view>

#include "agent/dialect/opaque_http/path_tail.hpp"

namespace karmad {

/// Requests that list or describe tables, indexes, collections or their fields (SS-104): those of
/// Elasticsearch and OpenSearch, of Solr, of Groonga.
inline constexpr std::array kSchemaReads{
    PathTail{"GET", "_mapping"},          PathTail{"GET", "_mapping/*"},
    PathTail{"GET", "_mapping/field/*"},  PathTail{"GET", "_settings"},
    PathTail{"GET", "_settings/*"},       PathTail{"GET", "_alias"},
    PathTail{"GET", "_alias/*"},          PathTail{"GET", "_cat/indices"},
    PathTail{"GET", "_cat/indices/*"},    PathTail{"GET", "_cat/aliases"},
    PathTail{"GET", "_data_stream"},      PathTail{"GET", "_data_stream/*"},
    PathTail{"GET", "_index_template"},   PathTail{"GET", "_index_template/*"},
    PathTail{"GET", "_resolve/index/*"},  PathTail{"GET", "schema"},
    PathTail{"GET", "schema/*"},          PathTail{"GET", "schema/fields/*"},
    PathTail{"GET", "admin/collections"}, PathTail{"GET", "admin/cores"},
    PathTail{"GET", "table_list"},        PathTail{"GET", "column_list"},
};

inline bool is_schema_read(std::string_view method, std::string_view path) {
  return fits_any(kSchemaReads, method, path);
}

}  // namespace karmad
