#include "agent/dialect/manticore_sql/call/call_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "agent/dialect/manticore_sql/call/merge_call.hpp"
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

/// Appends a text in single quotes.
void append_sql_text(std::string& out, std::string_view text) {
  out += '\'';
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  out += '\'';
}

class CallPlan final : public FanOut {
 public:
  CallPlan(std::string_view statement, const CallStatement& call, ShardLayout layout, RowForm form)
      : form_(form),
        before_(statement.substr(0, call.table_begin)),
        after_(statement.substr(call.table_end)) {
    if (call.kind == CallKind::snippets)
      only_ = std::hash<std::string_view>{}(statement) % layout.shards;
  }

  std::optional<ClientError> read(std::string_view statement, const CallStatement& call,
                                  ShardLayout layout) {
    using Rows = CallMerge::Rows;
    switch (call.kind) {
      case CallKind::pq:
        merge_.rows = Rows::by_id;
        break;
      case CallKind::keywords:
        merge_.rows = Rows::keywords;
        if (const auto* const by = call.option("sort_mode");
            by != nullptr && by->end > by->begin + 2)
          merge_.sorted_by = statement.substr(by->begin + 1, by->end - by->begin - 2);
        break;
      case CallKind::suggest:
      case CallKind::qsuggest:
        if (auto refusal = suggestions(statement, call, layout)) return refusal;
        break;
      case CallKind::autocomplete:
        merge_.rows = Rows::by_rank;
        break;
      case CallKind::snippets:
        break;
    }
    if (layout.shards == 1) merge_.rows = Rows::same;
    return std::nullopt;
  }

  bool asks(std::size_t shard) const override { return !only_ || *only_ == shard; }
  bool may_be_partial() const override { return !only_; }

  void write(std::size_t, std::span<const std::string> tables, std::string& body) const override {
    std::string names;
    for (const auto& table : tables) names.append(names.empty() ? "" : ",").append(table);
    body += before_;
    append_sql_text(body, names);
    body += after_;
  }

  std::string_view content_type() const override { return content_type_of(form_); }

  std::optional<BadReply> merge(std::span<const ShardReply> replies, const MergeNotes& notes,
                                std::string& out) const override {
    return merge_call(merge_, replies, notes, form_, out);
  }

 private:
  /// Checks the numbers. Has several shards return the counts by which suggestions are ordered, one
  /// row each, and more of them.
  std::optional<ClientError> suggestions(std::string_view statement, const CallStatement& call,
                                         ShardLayout layout) {
    const auto limit = count_option(call, statement, "limit", kDefaultSuggestions);
    if (!limit) return limit.error();
    const auto line = count_option(call, statement, "result_line", 0);
    if (!line) return line.error();
    const auto stats = count_option(call, statement, "result_stats", 1);
    if (!stats) return stats.error();
    if (layout.shards == 1) return std::nullopt;
    merge_ = {.rows = CallMerge::Rows::suggestions,
              .limit = *limit,
              .hidden = *stats == 0 ? 2U : 0U,
              .in_one_line = *line != 0};
    std::vector<std::pair<std::string_view, std::size_t>> wanted{
        {"limit", *limit * kSpareSuggestions}};
    if (*line != 0) wanted.emplace_back("result_line", 0);
    if (*stats == 0) wanted.emplace_back("result_stats", 1);
    rewrite_options(statement, call, wanted);
    return std::nullopt;
  }

  /// Sets options, which all follow the table.
  void rewrite_options(std::string_view statement, const CallStatement& call,
                       std::span<const std::pair<std::string_view, std::size_t>> wanted) {
    struct Change {
      std::size_t begin;
      std::size_t end;
      std::string text;
    };
    std::vector<Change> changes;
    for (const auto& [name, value] : wanted) {
      if (const auto* const given = call.option(name))
        changes.push_back({given->begin, given->end, fmt::to_string(value)});
      else
        changes.push_back(
            {call.arguments_end, call.arguments_end, fmt::format(", {} AS {}", value, name)});
    }
    std::ranges::stable_sort(changes, {}, &Change::begin);
    after_.clear();
    auto copied = call.table_end;
    for (const auto& change : changes) {
      after_.append(statement.substr(copied, change.begin - copied)).append(change.text);
      copied = change.end;
    }
    after_.append(statement.substr(copied));
  }

  RowForm form_;
  std::string before_;  // of the statement, around the table's name
  std::string after_;
  CallMerge merge_;
  std::optional<std::size_t> only_;  // the shard that is asked; empty: all
};

}  // namespace

std::expected<std::unique_ptr<FanOut>, ClientError> plan_call(std::string_view statement,
                                                              const CallStatement& call,
                                                              ShardLayout layout, RowForm form) {
  auto plan = std::make_unique<CallPlan>(statement, call, layout, form);
  if (auto refusal = plan->read(statement, call, layout))
    return std::unexpected(*std::move(refusal));
  return plan;
}

}  // namespace karmad
