#pragma once

#include <expected>
#include <string_view>

#include "agent/dialect/fronts/sql/sql_statement.hpp"
#include "agent/dialect/manticore_sql/rows/row_plan.hpp"

namespace karmad {

/// Plans a CALL. The replies of shards must be an array of one result set. SNIPPETS, which counts
/// nothing, asks one shard, and fails with it. Refuses (400) options that are no numbers.
std::expected<Plan, ClientError> plan_call(std::string_view statement, const CallStatement& call,
                                           ShardLayout layout, RowForm form);

}  // namespace karmad
