#include "agent/dialect/manticore_sql/statements/show.hpp"

#include "agent/dialect/manticore_sql/rows/merge_plain.hpp"
#include "agent/dialect/manticore_sql/sql_plan.hpp"

namespace karmad {
Plan plan_show(std::string_view statement, const ShowStatement& show, const Parsed& parsed,
               RowForm form, std::size_t shards) {
  using Object = ShowStatement::Object;
  const bool threads = show.object == Object::threads;
  if (!threads && show.object != Object::table_status)
    return plan_for_one_shard(
        statement, parsed, shards,
        {.form = form, .table = show.object == Object::create_table ? show.table : std::string()});
  using Rows = PlainMerge::Rows;
  auto plan = plan_of_statement(statement, form);
  plan.edits = statement_edits(parsed);
  plan.step = PlainMerge{.rows = threads ? Rows::concatenated : Rows::added, .form = form};
  return plan;
}

Plan plan_for_one_shard(std::string_view statement, const Parsed& parsed, std::size_t shards,
                        OneShardSets how) {
  auto plan = plan_of_statement(statement, how.form);
  plan.edits = statement_edits(parsed);
  if (shards > 1) plan.ask_only(0, shards);
  plan.step = std::move(how);
  return plan;
}

}  // namespace karmad
