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

/// Requests that list or describe tables, indexes, collections or their fields (SS-104): those of
/// Elasticsearch and OpenSearch, of Solr, of Groonga. The last segments of the paths of GET; `*`
/// matches one that does not start with an underscore.
inline constexpr std::array<std::string_view, 22> kSchemaReads{
    "_mapping",     "_mapping/*",     "_mapping/field/*", "_settings",         "_settings/*",
    "_alias",       "_alias/*",       "_cat/indices",     "_cat/indices/*",    "_cat/aliases",
    "_data_stream", "_data_stream/*", "_index_template",  "_index_template/*", "_resolve/index/*",
    "schema",       "schema/*",       "schema/fields/*",  "admin/collections", "admin/cores",
    "table_list",   "column_list"};

/// Whether a request continues, queries or ends something that an earlier request opened on one
/// mirror: a scroll, a point in time, an asynchronous search, a task, a SQL cursor. Decided by the
/// method and the last path segments, with the names of Elasticsearch, OpenSearch and Groonga. The
/// body is not looked at.
bool is_follow_up(std::string_view method, std::string_view path);

}  // namespace karmad
