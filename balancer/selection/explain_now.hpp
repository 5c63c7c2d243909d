#pragma once

#include "balancer/core/query.hpp"

namespace karmad {

/// Fills an empty record with what a request to this table would see now: of each shard one choice
/// with its candidates, without the draw and without an attempt. Sends nothing and takes nothing.
/// `query` has the read preference; choices are those of its worker.
void explain_now(const Query& query, const Table& table, Operation operation,
                 ExplainRecord& record);

}  // namespace karmad
