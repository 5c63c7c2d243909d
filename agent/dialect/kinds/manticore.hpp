#pragma once

#include "agent/dialect/kinds/dialect_kind.hpp"

namespace karmad {

/// Manticore Search over HTTP: searches and updates in JSON, SELECT in SQL. Only searches in JSON
/// are merged; the other requests need a table of one shard.
extern const DialectKind kManticore;

/// POST /search and /json/search. Merges several shards.
std::unique_ptr<Dialect> make_manticore_json(const DialectSettings& settings);

/// POST /insert, /replace, /update, /delete and /bulk, each also below /json, passed to one shard.
std::unique_ptr<Dialect> make_manticore_update(const DialectSettings& settings);

/// POST /autocomplete. Merges several shards.
std::unique_ptr<Dialect> make_manticore_autocomplete(const DialectSettings& settings);

/// Percolation, POST /pq/{table}/search. Merges several shards.
std::unique_ptr<Dialect> make_percolate_search(const DialectSettings& settings);

/// PUT and POST /pq/{table}/doc, passed to one shard.
std::unique_ptr<Dialect> make_stored_query(const DialectSettings& settings);

/// The Elasticsearch-like paths, translated into the requests above.
std::unique_ptr<Dialect> make_manticore_elastic(const DialectSettings& settings);

/// SELECT over /sql, /cli and /cli_json, passed to one shard.
std::unique_ptr<Dialect> make_manticore_sql(const DialectSettings& settings);

}  // namespace karmad
