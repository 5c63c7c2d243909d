#include "agent/dialect/manticore_sql/change/change_answer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "agent/dialect/changes/change_replies.hpp"
#include "agent/json/json_cursor.hpp"
#include "agent/json/json_line.hpp"
#include "agent/json/json_text.hpp"
#include "config/text/whole_number.hpp"

namespace karmad {

namespace {

/// The number before the word `row` or `rows`.
std::optional<ChangeCount> read_text_answer(std::string_view body) {
  const auto row = body.find(" row");
  if (row == body.npos) return std::nullopt;
  const auto before = body.substr(0, row);
  const auto begin = before.find_last_not_of("0123456789") + 1;  // 0 if there is none
  const auto rows = whole_number<std::uint64_t>(before.substr(begin));
  if (!rows) return std::nullopt;
  return ChangeCount{.rows = *rows};
}

}  // namespace

std::optional<ChangeCount> read_change_answer(std::string_view body) {
  const auto first = body.find_first_not_of(kJsonSpace);
  if (first == body.npos) return std::nullopt;
  if (body[first] != '[' && body[first] != '{') return read_text_answer(body);
  JsonCursor json(body);
  if (body[first] == '[') take(json, '[');
  ChangeCount count;
  bool has_total = false;
  const bool whole = visit_members(json, [&](std::string_view key, std::string_view value) {
    if (key == "total") {
      const auto rows = whole_number<std::uint64_t>(value);
      has_total = rows.has_value();
      count.rows = rows.value_or(0);
    }
    if (key == "warning" && is_string(value)) count.warning = json_unescaped(without_quotes(value));
    return true;
  });
  if (!whole || !has_total) return std::nullopt;
  return count;
}

void append_change_answer(std::string& out, RowForm form, const ChangeCount& count,
                          std::string_view error) {
  if (form == RowForm::text) {
    if (error.empty())
      fmt::format_to(std::back_inserter(out), "Query OK, {} {} affected (0.000 sec)\n", count.rows,
                     count.rows == 1 ? "row" : "rows");
    else
      fmt::format_to(std::back_inserter(out), "ERROR: {}; {} rows affected elsewhere\n", error,
                     count.rows);
    return;
  }
  JsonLine json(out);
  json.add(R"([{"total":)");
  json.add_number(count.rows);
  json.add(R"(,"error":)");
  json.add_quoted(error);
  json.add(R"(,"warning":)");
  json.add_quoted(count.warning);
  json.add("}]");
}

int merge_sql_changes(const SqlCounts& how, std::span<const ChangeReply> given, std::string& out) {
  if (const auto* refusal = common_refusal(given)) {
    out.append(refusal->body);
    return refusal->status == 200 ? 500 : refusal->status;
  }
  const auto replies =
      checked(given, [](std::string_view body) { return read_change_answer(body).has_value(); });
  ChangeCount sum;
  for (const auto& end : shard_ends(replies)) {
    if (end.answer == nullptr) continue;
    auto count = *read_change_answer(end.answer->body);
    sum.rows += count.rows;
    if (!count.warning.empty())
      sum.warning.append(sum.warning.empty() ? "" : "; ").append(count.warning);
  }
  const bool done = std::ranges::all_of(replies, &ChangeReply::done);
  append_change_answer(out, how.form, sum, done ? std::string() : failures_line(replies));
  return done ? 200 : 500;
}

}  // namespace karmad
