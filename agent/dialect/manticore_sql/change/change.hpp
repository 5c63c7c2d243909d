#pragma once

#include <expected>
#include <string_view>

#include "agent/dialect/fronts/sql/sql_statement.hpp"
#include "agent/dialect/manticore_sql/rows/row_plan.hpp"

namespace karmad {

/// Plans the change for the shards of its table: rows by `shard_by = id`, UPDATE and DELETE for all
/// shards unless the condition is one id. Rows without an id get one where karmad has to make it.
/// Refuses (400) rows whose shard or id is unknown.
std::expected<Plan, ClientError> plan_change(std::string_view statement, ChangeStatement change,
                                             RowForm form, ShardLayout layout);

}  // namespace karmad
