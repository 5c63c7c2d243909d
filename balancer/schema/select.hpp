#pragma once

#include <string_view>
#include <vector>

#include "agent/dialect/rows/result_set.hpp"
#include "balancer/schema/tables.hpp"
#include "balancer/schema/tokens.hpp"

namespace karmad {

/// Carries out a SELECT of MySQL over these tables, in memory, with SQLite. `unknown` of the
/// result: the tables whose rows it looked for and did not find. 400: a syntax error, an unknown
/// column, function or variable, or a result of too many rows or steps; 404: an unknown table. Any
/// thread. Cost: at most kMostSchemaSteps, some seconds, and 16 MiB of results.
OrError<SchemaTable> rows_of(std::string_view select, std::vector<SchemaTable> tables,
                             const SchemaFacts& facts);

/// The table as the rows of an answer.
ResultSet result_set_of(const SchemaTable& table);

}  // namespace karmad
