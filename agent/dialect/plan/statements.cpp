#include "agent/dialect/plan/statements.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <functional>

#include "agent/dialect/request/document_ids.hpp"
#include "config/text/number_in.hpp"

namespace karmad {

namespace {

constexpr std::size_t kDefaultSuggestions = 5;
/// Suggestions requested of a shard for each wanted one: one that is good in all shards together
/// may be behind others in each.
constexpr std::size_t kSpareSuggestions = 5;

/// The value of an option as a count; `otherwise` if it is not given. 400 if it is no count.
std::size_t count_option(const sql::CallStatement& call, std::string_view statement,
                         std::string_view name, std::size_t otherwise, FirstRefusal& refusal) {
  const auto* const option = call.option(name);
  if (option == nullptr) return otherwise;
  auto text = statement.substr(option->begin, option->end - option->begin);
  if (text.size() > 2 && (text.front() == '\'' || text.front() == '"'))
    text = text.substr(1, text.size() - 2);
  const auto value = number_in<std::uint32_t>(text);
  if (!value) refusal.refuse("CALL: {} at offset {} must be a number", name, option->begin);
  return value.value_or(0);
}

/// A value for an option of the CALL, which follows the table.
struct OptionValue {
  std::string_view name;
  std::size_t value;
};

/// The edits that put in the table's name and set options.
TextEdits call_edits(const sql::CallStatement& call, std::span<const OptionValue> wanted) {
  const auto [begin, end] = call.table_place;
  TextEdits edits{{.begin = begin, .end = end, .names = TableNames::sql_text}};
  for (const auto& [name, value] : wanted) {
    if (const auto* const given = call.option(name))
      edits.push_back({given->begin, given->end, fmt::to_string(value)});
    else
      edits.push_back(
          {call.arguments_end, call.arguments_end, fmt::format(", {} AS {}", value, name)});
  }
  std::ranges::stable_sort(edits, {}, &TextEdit::begin);
  return edits;
}

/// Checks the numbers. Has several shards return the counts by which suggestions are ordered, one
/// row each, and more of them.
void plan_suggestions(std::string_view statement, const sql::CallStatement& call,
                      ShardLayout layout, RowsMerge& merge, TextEdits& edits,
                      FirstRefusal& refusal) {
  const auto limit = count_option(call, statement, "limit", kDefaultSuggestions, refusal);
  const auto line = count_option(call, statement, "result_line", 0, refusal);
  const auto stats = count_option(call, statement, "result_stats", 1, refusal);
  if (layout.shards == 1) return;
  merge.rows = RowsMerge::Rows::suggestions;
  merge.limit = limit;
  merge.hidden = stats == 0 ? 2U : 0U;
  merge.in_one_line = line != 0;
  std::vector<OptionValue> wanted{{"limit", limit * kSpareSuggestions}};
  if (line != 0) wanted.push_back({"result_line", 0});
  if (stats == 0) wanted.push_back({"result_stats", 1});
  edits = call_edits(call, wanted);
}

/// Makes the ids that rows need.
void make_ids(sql::ChangeStatement& change, const ShardLayout& layout) {
  for (auto& row : change.rows) {
    if (!needs_made_id(row.id, layout)) continue;
    row.made_id = layout.make_id();
    row.id = DocumentId::of(row.made_id);
  }
}

/// Whether only the shards of its documents are asked.
bool goes_by_id(const sql::ChangeStatement& change, const ShardLayout& layout) {
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
TextEdits change_edits(const sql::ChangeStatement& change, Takes takes) {
  const auto& rows = change.rows;
  const auto [table, behind] = change.table_place;
  TextEdits edits{{.begin = table, .end = behind, .names = TableNames::sql_first}};
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

Plan plan_of_statement(std::string_view statement, RowForm form) {
  return {.request = {.method = "POST",
                      .path = "/sql?mode=raw",
                      .query = {},
                      .content_type = "text/plain",
                      .body = statement},
          .content_type = content_type_of(form)};
}

OrError<Plan> plan_call(std::string_view statement, const sql::CallStatement& call,
                        ShardLayout layout, RowForm form) {
  using Rows = RowsMerge::Rows;
  auto plan = plan_of_statement(statement, form);
  RowsMerge merge{.form = form};
  auto edits = call_edits(call, {});
  FirstRefusal refusal;
  switch (call.kind) {
    case sql::CallKind::pq:
      merge.rows = Rows::by_id;
      break;
    case sql::CallKind::keywords:
      merge.rows = Rows::keywords;
      if (const auto* const by = call.option("sort_mode"); by != nullptr && by->end > by->begin + 2)
        merge.sorted_by = statement.substr(by->begin + 1, by->end - by->begin - 2);
      break;
    case sql::CallKind::suggest:
    case sql::CallKind::qsuggest:
      plan_suggestions(statement, call, layout, merge, edits, refusal);
      break;
    case sql::CallKind::autocomplete:
      merge.rows = Rows::by_rank;
      break;
    case sql::CallKind::snippets:
      plan.ask_only(std::hash<std::string_view>{}(statement) % layout.shards, layout.shards);
      plan.may_be_partial = false;
      break;
  }
  if (refusal.why) return std::unexpected(*std::move(refusal.why));
  if (layout.shards == 1) merge.rows = Rows::same;
  plan.edits = std::move(edits);
  plan.step = std::move(merge);
  return plan;
}

OrError<Plan> plan_change(const ClientStatement& statement, sql::ChangeStatement change,
                          RowForm form, ShardLayout layout) {
  if (change.makes_documents()) {
    if (layout.shards > 1 && layout.by == ShardBy::none)
      return refused(
          "table {} has {} shards, and karmad does not know to which shard a row belongs; set "
          "shard_by = id in the table (the shard is then a hash of the id), or use a table of one "
          "shard",
          change.table, layout.shards);
    for (const auto& row : change.rows)
      if (const auto why = check_document_id(row.id, layout, row.id_place.in(statement.read)))
        return refused("the row at offset {} {}", row.begin, *why);
    const bool needs_ids = layout.shards > 1 || layout.copies;
    if (needs_ids && !change.trouble.empty())
      return refused("{} (table {} {})", change.trouble, change.table,
                     layout.shards > 1
                         ? "has shard_by = id"
                         : "has updates = all: each mirror would make ids of its own");
  }
  make_ids(change, layout);
  auto plan = plan_of_statement(statement.read, form);
  plan.may_be_partial = false;
  plan.last_insert_id = change.last_row_id();
  plan.step = SqlCounts{form, change.table, statement.written, statement.read};
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

Plan plan_show(std::string_view statement, const sql::ShowStatement& show, const Parsed& parsed,
               RowForm form, std::size_t shards) {
  using Object = sql::ShowStatement::Object;
  const bool threads = show.object == Object::threads;
  if (!threads && show.object != Object::table_status)
    return plan_for_one_shard(
        statement, parsed, shards,
        {.form = form, .table = show.object == Object::create_table ? show.table : std::string()});
  using Rows = RowsMerge::Rows;
  auto plan = plan_of_statement(statement, form);
  plan.edits = name_edits(parsed, TableNames::sql);
  plan.step = RowsMerge{.rows = threads ? Rows::concatenated : Rows::added, .form = form};
  return plan;
}

Plan plan_for_one_shard(std::string_view statement, const Parsed& parsed, std::size_t shards,
                        OneShardSets how) {
  auto plan = plan_of_statement(statement, how.form);
  plan.edits = name_edits(parsed, TableNames::sql);
  if (shards > 1) plan.ask_only(0, shards);
  plan.step = std::move(how);
  return plan;
}

}  // namespace karmad
