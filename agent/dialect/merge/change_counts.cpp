#include "agent/dialect/merge/change_counts.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "agent/dialect/replies/change_replies.hpp"
#include "agent/dialect/replies/error_text.hpp"
#include "agent/dialect/replies/judge.hpp"
#include "agent/dialect/replies/search_reply.hpp"
#include "agent/json/json_cursor.hpp"
#include "agent/json/json_line.hpp"
#include "agent/json/json_text.hpp"
#include "config/text/whole_number.hpp"

namespace karmad {

namespace {

/// Longer answers keep the mirror's name of the table: replacing it takes several passes.
constexpr std::size_t kLongestNamedAnswer = 1 << 20;

/// The objects of an answer that may name the table.
enum class Names : std::uint8_t { answer, result, error };

/// Adds the values in an object that name the table: its own members, those of its `error`, and of
/// the results in its `items`. Older releases use other names. False: it is malformed.
bool add_places(std::string_view object, Names of, std::vector<std::string_view>& places) {
  const auto add_of_result = [&](std::string_view, std::string_view value) {
    return !is_object(value) || add_places(value, Names::result, places);
  };
  return visit_members(object, [&](std::string_view key, std::string_view value) {
    const bool names = key == "table" || key == "index" || key == "_index";
    if (names && is_string(value)) places.push_back(value);
    if (of != Names::error && key == "error" && is_object(value))
      return add_places(value, Names::error, places);
    if (of != Names::answer || key != "items" || !is_array(value)) return true;
    JsonCursor json(value);
    JsonElements elements(json);
    while (elements.next()) {
      const auto item = take_value(json);
      if (!item || (is_object(*item) && !visit_members(*item, add_of_result))) return false;
    }
    return elements.complete();
  });
}

}  // namespace

std::optional<std::string> with_table(std::string_view answer, std::string_view table) {
  std::vector<std::string_view> places;
  if (answer.size() > kLongestNamedAnswer || !add_places(answer, Names::answer, places))
    return std::nullopt;
  std::string name;
  JsonLine(name).add_quoted(table);
  std::vector<Replaced> names;
  for (const auto place : places)
    if (place != name) names.push_back({place, name});
  if (names.empty()) return std::nullopt;
  std::string named;
  append_replaced(named, answer, names);
  return named;
}

int pass_refusal_on(std::string& out, const ChangeReply& refusal, std::string_view table) {
  out.append(with_table(refusal.body, table).value_or(std::string(refusal.body)));
  return refusal.status;
}

namespace {

constexpr std::array<std::string_view, 3> kCounts{"updated", "deleted", "created"};

/// How much a `result` says that the shard had the document.
int result_rank(std::string_view result) {
  if (result == R"("not found")") return 1;
  if (result == R"("noop")") return 2;
  return 3;
}

/// Whether the answer to one update can be read: an object that tells what was done, in a text
/// `result` (`created`, `updated`, `deleted`, `noop`, `not found`) or in a count (`updated`,
/// `deleted`, `created`), which must be a whole number.
bool is_update_answer(std::string_view body) {
  bool has_result = false;
  const bool whole = visit_members(body, [&](std::string_view key, std::string_view value) {
    if (key == "result") has_result = is_string(value);
    if (std::ranges::find(kCounts, key) == kCounts.end()) return key != "result" || has_result;
    const bool counted = whole_number<std::uint64_t>(value).has_value();
    has_result = has_result || counted;
    return counted || value == "true" || value == "false";  // `created` of one document
  });
  return whole && has_result;
}

}  // namespace

std::string merged_update_answer(std::span<const std::string_view> bodies) {
  std::array<std::uint64_t, kCounts.size()> sums{};
  std::string_view best;
  std::string_view warning;
  int best_rank = -1;
  for (const auto body : bodies) {
    int rank = 0;
    std::string_view warned;
    visit_members(body, [&](std::string_view key, std::string_view value) {
      if (key == "result") rank = result_rank(value);
      if (key == "warning") warned = value;
      for (std::size_t i = 0; i < kCounts.size(); ++i)
        if (key == kCounts[i]) sums[i] += whole_number<std::uint64_t>(value).value_or(0);
      return true;
    });
    if (warning.empty()) warning = warned;
    if (rank > best_rank) best = body;
    best_rank = std::max(rank, best_rank);
  }
  std::string merged;
  JsonLine out(merged);
  char before = '{';
  const auto add = [&](std::string_view key, const auto& value) {
    out.add(std::exchange(before, ','), '"', key, R"(":)", value);
  };
  visit_members(best, [&](std::string_view key, std::string_view value) {
    const auto* const count = std::ranges::find(kCounts, key);
    if (count != kCounts.end() && whole_number<std::uint64_t>(value))
      add(key, sums[static_cast<std::size_t>(count - kCounts.begin())]);
    else if (key != "warning")
      add(key, value);
    return true;
  });
  if (!warning.empty()) add("warning", warning);
  out.add(before == '{' ? "{}" : "}");
  return merged;
}

int merge_update_counts(const UpdateCounts& how, std::span<const ChangeReply> given,
                        std::string& out) {
  if (const auto* refusal = common_refusal(given)) return pass_refusal_on(out, *refusal, how.table);
  const auto replies = checked(given, is_update_answer);
  std::vector<std::string_view> bodies;  // of one mirror of each shard
  int status = 200;
  for (const auto& end : shard_ends(replies)) {
    if (end.answer == nullptr) continue;
    bodies.push_back(end.answer->body);
    status = end.answer->status;
  }
  const auto merged = bodies.empty() ? std::string() : merged_update_answer(bodies);
  const auto named = with_table(merged, how.table).value_or(merged);
  if (std::ranges::all_of(replies, &ChangeReply::done)) {
    out.append(named);
    return status;
  }
  return append_incomplete(out, replies, named);
}

namespace {

/// What the answer to a change says.
struct ChangeCount {
  std::uint64_t rows = 0;
  std::string warning;
};

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

/// Reads an answer, `[{"total":1,"error":"","warning":""}]` or the text of /cli,
/// `Query OK, 1 row affected (0.000 sec)`; nothing if it is malformed.
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

/// Appends an answer, as a text for RowForm::text; `error` empty: none.
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
  JsonLine(out).add(R"([{"total":)", count.rows, R"(,"error":)", Quoted(error), R"(,"warning":)",
                    Quoted(count.warning), "}]");
}

/// How many values inside JSON an UPDATE could not change, because the rows have none there: the
/// number at the beginning of such an error or warning. 0: it is another text.
std::uint64_t values_not_there(std::string_view text) {
  constexpr std::string_view kBehind = " attribute(s) can not be updated";
  const auto end = text.find(kBehind);
  if (end == text.npos) return 0;
  const auto before = text.substr(0, end);
  const auto begin = before.find_last_not_of("0123456789") + 1;
  return whole_number<std::uint64_t>(before.substr(begin)).value_or(0);
}

/// The warning about so many of them.
std::string warning_of_values(std::uint64_t count) {
  return fmt::format("{} attribute(s) can not be updated (not found or incompatible types)", count);
}

/// Whether mirrors whose rows lack the value are all that have not done it. A server with all rows
/// would have changed the others.
bool only_lack_values(std::span<const ChangeReply> replies) {
  return std::ranges::all_of(replies, [](const ChangeReply& reply) {
    return reply.done || values_not_there(agent_error_text(reply.body)) != 0;
  });
}

/// Passes on that all mirrors refuse the change.
int pass_sql_refusal_on(std::string& out, const ChangeReply& refusal, std::string_view table) {
  const auto error = agent_error_text(refusal.body);
  if (error.empty())
    out.append(refusal.body);
  else
    append_error_body(out, with_table_of_client(error, table));
  return refusal.status == 200 ? 500 : refusal.status;
}

}  // namespace

int merge_sql_changes(const SqlCounts& how, std::span<const ChangeReply> given, std::string& out) {
  if (const auto* refusal = common_refusal(given))
    return pass_sql_refusal_on(out, *refusal, how.table);
  const auto replies =
      checked(given, [](std::string_view body) { return read_change_answer(body).has_value(); });
  ChangeCount sum;
  std::uint64_t lacking = 0;
  const ChangeReply* refusal = nullptr;
  for (const auto& end : shard_ends(replies)) {
    if (end.refusal != nullptr) {
      refusal = end.refusal;
      lacking += values_not_there(agent_error_text(refusal->body));
    }
    if (end.answer == nullptr) continue;
    auto count = *read_change_answer(end.answer->body);
    sum.rows += count.rows;
    const auto values = values_not_there(count.warning);
    lacking += values;
    if (!count.warning.empty() && values == 0)
      sum.warning.append(sum.warning.empty() ? "" : "; ").append(count.warning);
  }
  const bool lack_values = refusal != nullptr && only_lack_values(replies);
  if (lack_values && sum.rows == 0) return pass_sql_refusal_on(out, *refusal, how.table);
  if (lacking != 0)
    sum.warning.append(sum.warning.empty() ? "" : "; ").append(warning_of_values(lacking));
  const bool done = lack_values || std::ranges::all_of(replies, &ChangeReply::done);
  append_change_answer(out, how.form, sum, done ? std::string() : failures_line(replies));
  return done ? 200 : 500;
}

}  // namespace karmad
