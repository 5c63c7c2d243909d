#pragma once

#include <expected>
#include <string_view>

#include "agent/dialect/dialect.hpp"
#include "agent/dialect/manticore_sql/rows/row_plan.hpp"

namespace karmad {

/// The table of a CALL. It is `planned` also on a table of one shard, because the name stands in
/// quotes, which only the plan writes.
std::expected<Parsed, ClientError> read_call(std::string_view statement);

/// Plans a CALL. The replies of shards must be an array of one result set. SNIPPETS, which counts
/// nothing, asks one shard, and fails with it. Refuses (400) what cannot be read.
std::expected<Plan, ClientError> plan_call(std::string_view statement, ShardLayout layout,
                                           RowForm form);

}  // namespace karmad
