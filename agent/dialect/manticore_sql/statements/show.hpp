#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "agent/dialect/fronts/sql/sql_statement.hpp"
#include "agent/dialect/manticore_sql/rows/one_shard_sets.hpp"

namespace karmad {

/// Plans a SHOW that mirrors answer. Numbers of a status are added over the shards, threads listed
/// one after the other; anything else is the same on every shard and asked of the first.
Plan plan_show(std::string_view statement, const ShowStatement& show, const Parsed& parsed,
               RowForm form, std::size_t shards);

/// Sends a statement, which must outlive the plan, to one mirror of the first shard, with the
/// table's name replaced at the place that `parsed` names (none if its end is 0), and passes on the
/// result sets.
Plan plan_for_one_shard(std::string_view statement, const Parsed& parsed, std::size_t shards,
                        OneShardSets how);

}  // namespace karmad
