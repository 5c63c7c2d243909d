#pragma once

#include <array>
#include <string_view>

#include "agent/dialect/kinds/dialect_kind.hpp"

namespace karmad {

/// Any HTTP server: a request below a prefix goes to one mirror unchanged, and its answer comes
/// back unchanged.
extern const DialectKind kHttp;

/// GET and HEAD may be retried; so may a POST to one of the `reads` paths (a final `*` matches
/// anything). A follow-up is neither retried nor sent to another mirror.
std::unique_ptr<Dialect> make_opaque_http(TableRoute route);

/// Requests of an engine, known by their method and the end of their path.
struct PathTail {
  std::string_view methods;  ///< `GET POST`; GET stands for HEAD too
  /// The last segments of the path; `*` matches one that does not start with an underscore.
  std::string_view tail;
};

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

/// Whether a request continues, queries or ends something that an earlier request opened on one
/// mirror: a scroll, a point in time, an asynchronous search, a task, a SQL cursor. Decided by the
/// method and the last path segments, with the names of Elasticsearch, OpenSearch and Groonga. The
/// body is not looked at.
bool is_follow_up(std::string_view method, std::string_view path);

}  // namespace karmad
