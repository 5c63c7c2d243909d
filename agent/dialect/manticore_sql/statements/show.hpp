#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>

#include "agent/dialect/dialect.hpp"
#include "agent/dialect/manticore_sql/rows/one_shard_sets.hpp"

namespace karmad {

/// Reads the statements about tables and servers that mirrors answer: SHOW CREATE TABLE t, SHOW
/// TABLE t STATUS, SHOW TABLE t SETTINGS, and SHOW THREADS, SETTINGS and VARIABLES, which name no
/// table (`Parsed::table` is empty). Refuses (400) others, naming these.
std::expected<Parsed, ClientError> read_show(std::string_view statement);

/// Plans such a statement. Numbers of a status are added over the shards, threads listed one after
/// the other; anything else is the same on every shard and asked of the first.
Plan plan_show(std::string statement, const Parsed& parsed, RowForm form, std::size_t shards);

/// Sends a statement to one mirror of the first shard, with the table's name replaced at the place
/// that `parsed` names (none if its end is 0), and passes on the result sets.
Plan plan_for_one_shard(std::string statement, const Parsed& parsed, std::size_t shards,
                        OneShardSets how);

}  // namespace karmad
