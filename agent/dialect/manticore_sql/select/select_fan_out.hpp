#pragma once

#include <expected>
#include <memory>
#include <string_view>

#include "agent/dialect/fronts/sql/sql_statement.hpp"
#include "agent/dialect/manticore_sql/rows/row_plan.hpp"

namespace karmad {

/// The plan of a SELECT over several shards (see plan_select). The body for a shard is its
/// statements as they are, for `POST /sql?mode=raw`. Refers to `select` only for KNN() by a document.
/// Refuses KNN() by a document on one shard, which is sent the client's statement.
std::expected<std::unique_ptr<FanOut>, ClientError> make_select_fan_out(const SqlSelect& select,
                                                                        RowForm form,
                                                                        Collation collation,
                                                                        const ScrollPlace& place,
                                                                        ShardLayout layout);

}  // namespace karmad
