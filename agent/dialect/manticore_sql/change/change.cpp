#include "agent/dialect/manticore_sql/change/change.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "agent/dialect/changes/change_replies.hpp"
#include "agent/dialect/manticore_sql/change/change_answer.hpp"
#include "agent/dialect/manticore_sql/sql_plan.hpp"

namespace karmad {

namespace {

/// Makes the ids that rows need.
void make_ids(ChangeStatement& change, const ShardLayout& layout) {
  for (auto& row : change.rows) {
    if (!needs_made_id(row.id, layout)) continue;
    row.made_id = layout.make_id();
    row.id = DocumentId::of(row.made_id);
  }
}

/// Whether only the shards of its documents are asked.
bool goes_by_id(const ChangeStatement& change, const ShardLayout& layout) {
  if (layout.by != ShardBy::id || layout.shards == 1) return false;
  return change.makes_documents() || change.id;
}

/// Adds the removal of a part of the statement to the edits.
void remove_part(TextEdits& edits, std::size_t begin, std::size_t end) {
  if (edits.back().end == begin && edits.back().text.empty() &&
      edits.back().names == TableNames::none)
    edits.back().end = end;
  else
    edits.push_back({begin, end});
}

/// The statement for a mirror of which `takes(row)` says the rows.
template <class Takes>
TextEdits change_edits(const ChangeStatement& change, Takes takes) {
  const auto& rows = change.rows;
  TextEdits edits{
      {.begin = change.table_begin, .end = change.table_end, .names = TableNames::sql_first}};
  if (change.columns_begin != 0 && !rows.empty() && rows[0].made_id != 0)
    edits.push_back({change.columns_begin, change.columns_begin, "id,"});
  bool any = false;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!takes(rows[i])) {  // nor the comma beside it
      if (any)
        remove_part(edits, rows[i - 1].end, rows[i].end);
      else if (i + 1 < rows.size())
        remove_part(edits, rows[i].begin, rows[i + 1].begin);
      continue;
    }
    any = true;
    if (rows[i].made_id == 0) continue;
    const auto [begin, end] = rows[i].id_place;
    edits.push_back({begin, end, fmt::format("{}{}", rows[i].made_id, begin == end ? "," : "")});
  }
  return edits;
}

}  // namespace

std::expected<Plan, ClientError> plan_change(std::string_view statement, ChangeStatement change,
                                             RowForm form, ShardLayout layout) {
  if (change.makes_documents()) {
    if (layout.shards > 1 && layout.by == ShardBy::none)
      return std::unexpected(ClientError{
          400, fmt::format("table {} has {} shards, and karmad does not know to which shard a row "
                           "belongs; set shard_by = id in the table (the shard is then a hash of "
                           "the id), or use a table of one shard",
                           change.table, layout.shards)});
    for (const auto& row : change.rows)
      if (const auto why = check_document_id(row.id, layout, row.id_place.in(statement)))
        return std::unexpected(
            ClientError{400, fmt::format("the row at offset {} {}", row.begin, *why)});
    const bool needs_ids = layout.shards > 1 || layout.copies;
    if (needs_ids && !change.trouble.empty())
      return std::unexpected(ClientError{
          400, fmt::format("{} (table {} {})", change.trouble, change.table,
                           layout.shards > 1 ? "has shard_by = id"
                                             : "has updates = all: each mirror would make ids of "
                                               "its own")});
  }
  make_ids(change, layout);
  auto plan = plan_of_statement(statement, form);
  plan.may_be_partial = false;
  plan.last_insert_id = change.last_row_id();
  plan.step = SqlCounts{form};
  if (!goes_by_id(change, layout)) {
    plan.edits = change_edits(change, [](const auto&) { return true; });
    return plan;
  }
  plan.asked.assign(layout.shards, false);
  if (change.id) plan.asked[change.id->shard(layout.shards)] = true;
  for (const auto& row : change.rows) plan.asked[row.id->shard(layout.shards)] = true;
  auto& edits = plan.edits.emplace<std::vector<TextEdits>>(layout.shards);
  for (std::size_t s = 0; s < layout.shards; ++s)
    if (plan.asked[s])
      edits[s] =
          change_edits(change, [&](const auto& row) { return row.id->shard(layout.shards) == s; });
  return plan;
}

}  // namespace karmad
