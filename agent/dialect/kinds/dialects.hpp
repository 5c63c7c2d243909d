#pragma once

#include <array>
#include <memory>
#include <string_view>

#include "agent/dialect/kinds/dialect_kind.hpp"

namespace karmad {

/// Manticore Search over HTTP: searches and updates in JSON, also in the form of Elasticsearch, and
/// SQL.
extern const DialectKind kManticore;

/// POST /search and /json/search.
std::unique_ptr<Dialect> make_manticore_json(const DialectSettings& settings);

/// POST /insert, /replace, /update, /delete and /bulk, each also below /json. An update is sent
/// once to each mirror that the table's settings name.
std::unique_ptr<Dialect> make_manticore_update(const DialectSettings& settings);

/// POST /autocomplete: word completion with `table`, `query` and `options`. The answer is one
/// result set, as that of CALL AUTOCOMPLETE.
std::unique_ptr<Dialect> make_manticore_autocomplete(const DialectSettings& settings);

/// POST /pq/{table}/search, also below /json, finds the stored queries that a document matches. All
/// shards are asked; the hits are merged by their id.
std::unique_ptr<Dialect> make_percolate_search(const DialectSettings& settings);

/// PUT or POST /pq/{table}/doc, with or without an id behind it, stores a query for percolation: an
/// update of one shard. Of several shards it is that of the id (`shard_by = id`), which karmad
/// makes and adds to the path if there is none.
std::unique_ptr<Dialect> make_stored_query(const DialectSettings& settings);

/// The Elasticsearch-like paths. Their requests are translated into those above; mirrors get
/// `/search`, `/update` and so on.
std::unique_ptr<Dialect> make_manticore_elastic(const DialectSettings& settings);

/// SQL on /sql, /cli and /cli_json. SELECT, INSERT, REPLACE, UPDATE, DELETE, CALL and some of SHOW
/// are sent to agents. Places of `Parsed` count in the decoded statement, not in the body.
std::unique_ptr<Dialect> make_manticore_sql(const DialectSettings& settings);

/// The meaning of a reply with result sets. `merged` as for Dialect::judge().
Judgement judge_sets(const AgentReply& reply, bool merged);

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
