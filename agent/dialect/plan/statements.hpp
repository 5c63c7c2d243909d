#pragma once

#include <cstddef>
#include <string_view>

#include "agent/dialect/plan/plan.hpp"
#include "agent/dialect/replies/error_text.hpp"
#include "agent/dialect/request/sql_statement.hpp"

namespace karmad {

/// A plan whose requests mirrors get at `/sql?mode=raw`, with an answer in that form; without edits
/// and a merge. The statement outlives it.
Plan plan_of_statement(std::string_view statement, RowForm form);

/// Plans a CALL. The replies of shards must be an array of one result set. SNIPPETS, which counts
/// nothing, asks one shard, and fails with it. Refuses (400) options that are no numbers.
OrError<Plan> plan_call(std::string_view statement, const sql::CallStatement& call,
                        ShardLayout layout, RowForm form);

/// Plans the change for the shards of its table: rows by `shard_by = id`, UPDATE and DELETE for all
/// shards unless the condition is one id. Rows without an id get one where karmad has to make it.
/// Refuses (400) rows whose shard or id is unknown. The statement outlives the plan.
OrError<Plan> plan_change(const ClientStatement& statement, sql::ChangeStatement change,
                          RowForm form, ShardLayout layout);

/// Plans a SHOW that mirrors answer. Numbers of a status are added over the shards, threads listed
/// one after the other; anything else is the same on every shard and asked of the first.
Plan plan_show(std::string_view statement, const sql::ShowStatement& show, const Parsed& parsed,
               RowForm form, std::size_t shards);

/// Sends a statement, which must outlive the plan, to one mirror of the first shard, with the
/// table's name replaced at the place that `parsed` names (none if its end is 0), and passes on the
/// result sets.
Plan plan_for_one_shard(std::string_view statement, const Parsed& parsed, std::size_t shards,
                        OneShardSets how);

}  // namespace karmad
