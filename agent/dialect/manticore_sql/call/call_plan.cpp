#include "agent/dialect/manticore_sql/call/call_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "agent/dialect/manticore_sql/call/merge_call.hpp"
#include "agent/dialect/manticore_sql/sql_plan.hpp"
#include "config/text/whole_number.hpp"

namespace karmad {
namespace {

constexpr std::size_t kDefaultSuggestions = 5;
/// Suggestions requested of a shard for each wanted one: one that is good in all shards together
/// may be behind others in each.
constexpr std::size_t kSpareSuggestions = 5;

/// The value of an option as a count; `otherwise` if it is not given. 400 if it is no count.
std::expected<std::size_t, ClientError> count_option(const CallStatement& call,
                                                     std::string_view statement,
                                                     std::string_view name, std::size_t otherwise) {
  const auto* const option = call.option(name);
  if (option == nullptr) return otherwise;
  auto text = statement.substr(option->begin, option->end - option->begin);
  if (text.size() > 2 && (text.front() == '\'' || text.front() == '"'))
    text = text.substr(1, text.size() - 2);
  const auto value = whole_number<std::uint32_t>(text);
  if (!value)
    return std::unexpected(ClientError{
        400, fmt::format("CALL: {} at offset {} must be a number", name, option->begin)});
  return *value;
}

/// A value for an option of the CALL, which follows the table.
struct OptionValue {
  std::string_view name;
  std::size_t value;
};

/// The edits that put in the table's name and set options.
TextEdits call_edits(const CallStatement& call, std::span<const OptionValue> wanted) {
  TextEdits edits{
      {.begin = call.table_begin, .end = call.table_end, .names = TableNames::sql_text}};
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
std::optional<ClientError> plan_suggestions(std::string_view statement, const CallStatement& call,
                                            ShardLayout layout, CallMerge& merge,
                                            TextEdits& edits) {
  const auto limit = count_option(call, statement, "limit", kDefaultSuggestions);
  if (!limit) return limit.error();
  const auto line = count_option(call, statement, "result_line", 0);
  if (!line) return line.error();
  const auto stats = count_option(call, statement, "result_stats", 1);
  if (!stats) return stats.error();
  if (layout.shards == 1) return std::nullopt;
  merge.rows = CallMerge::Rows::suggestions;
  merge.limit = *limit;
  merge.hidden = *stats == 0 ? 2U : 0U;
  merge.in_one_line = *line != 0;
  std::vector<OptionValue> wanted{{"limit", *limit * kSpareSuggestions}};
  if (*line != 0) wanted.push_back({"result_line", 0});
  if (*stats == 0) wanted.push_back({"result_stats", 1});
  edits = call_edits(call, wanted);
  return std::nullopt;
}

}  // namespace

std::expected<Plan, ClientError> plan_call(std::string_view statement, const CallStatement& call,
                                           ShardLayout layout, RowForm form) {
  using Rows = CallMerge::Rows;
  auto plan = plan_of_statement(statement, form);
  CallMerge merge{.form = form};
  auto edits = call_edits(call, {});
  switch (call.kind) {
    case CallKind::pq:
      merge.rows = Rows::by_id;
      break;
    case CallKind::keywords:
      merge.rows = Rows::keywords;
      if (const auto* const by = call.option("sort_mode"); by != nullptr && by->end > by->begin + 2)
        merge.sorted_by = statement.substr(by->begin + 1, by->end - by->begin - 2);
      break;
    case CallKind::suggest:
    case CallKind::qsuggest:
      if (auto refusal = plan_suggestions(statement, call, layout, merge, edits))
        return std::unexpected(*std::move(refusal));
      break;
    case CallKind::autocomplete:
      merge.rows = Rows::by_rank;
      break;
    case CallKind::snippets:
      plan.ask_only(std::hash<std::string_view>{}(statement) % layout.shards, layout.shards);
      plan.may_be_partial = false;
      break;
  }
  if (layout.shards == 1) merge.rows = Rows::same;
  plan.edits = std::move(edits);
  plan.step = std::move(merge);
  return plan;
}

}  // namespace karmad
