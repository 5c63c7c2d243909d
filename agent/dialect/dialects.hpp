#pragma once

#include <memory>

#include "agent/dialect/dialect.hpp"

namespace karmad {

/// The search server's JSON: POST /search and /json/search. Merges several shards.
std::unique_ptr<Dialect> make_manticore_json(DialectSettings settings);

/// The search server's JSON updates: POST /insert, /replace, /update, /delete and /bulk, each also
/// below /json, passed to one shard.
std::unique_ptr<Dialect> make_manticore_update(const DialectSettings& settings);

/// The search server's SQL: SELECT over /sql, /cli and /cli_json, passed to one shard.
std::unique_ptr<Dialect> make_manticore_sql(DialectSettings settings);

}  // namespace karmad
