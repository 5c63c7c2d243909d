#include "agent/dialect/manticore_sql/select/select_item.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace karmad {

namespace {

/// More than any server sorts by; bounds the work per row.
constexpr std::size_t kMostOrderKeys = 16;
/// Bounds the work of looking names up in each other's lists.
constexpr std::size_t kMostItems = 1000;

struct AggregateName {
  std::string_view name;
  Fold fold;
};

constexpr AggregateName kAggregateNames[] = {
    {"count", Fold::sum},   {"sum", Fold::sum},  {"min", Fold::smallest},
    {"max", Fold::largest}, {"avg", Fold::mean}, {"group_concat", Fold::concat},
};

/// Aggregates whose results for parts of the data do not determine the result for all data.
constexpr std::string_view kUnmergeableAggregates[] = {"percentiles", "percentile_ranks", "mad",
                                                       "significant_terms"};

/// Words that may stand before the last operand of an expression.
constexpr std::string_view kOperatorWords[] = {"and", "or",   "not", "div",     "mod",
                                               "in",  "like", "is",  "between", "distinct"};

template <class Words>
bool is_word_of(const SqlToken& token, const Words& words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return token.is_word(word); });
}

/// The aggregate whose name stands at `i` before a bracket. MIN and MAX of several arguments are
/// functions of one row.
const AggregateName* aggregate_at(SqlSpan tokens, std::size_t i) {
  if (i + 1 >= tokens.size() || !tokens[i + 1].is_sign('(')) return nullptr;
  for (const auto& known : kAggregateNames) {
    if (!tokens[i].is_word(known.name)) continue;
    const bool of_row = known.fold == Fold::smallest || known.fold == Fold::largest;
    const auto end = after_bracket(tokens, i + 1);
    if (of_row && split_list(tokens.subspan(i + 2, end - i - 3)).size() > 1) return nullptr;
    return &known;
  }
  return nullptr;
}

std::expected<Aggregate, ClientError> read_aggregate(SqlSpan tokens, const AggregateName& name) {
  Aggregate aggregate{name.fold, tokens.subspan(2, tokens.size() - 3)};
  auto& argument = aggregate.argument;
  const auto at = tokens.front().at;
  if (argument.empty()) return std::unexpected(wrong_at(at, "an aggregate has no argument"));
  if (tokens.front().is_word("count")) {
    if (argument.front().is_word("distinct")) {
      argument = argument.subspan(1);
      aggregate.fold = Fold::distinct;
      if (!is_plain_key(argument))
        return std::unexpected(wrong_at(at, "COUNT(DISTINCT …) takes the name of one attribute"));
    } else if (canonical(argument) != "*") {
      return std::unexpected(wrong_at(at, "expected COUNT(*) or COUNT(DISTINCT attribute)"));
    }
  } else if (name.fold != Fold::concat && split_list(argument).size() > 1) {
    return std::unexpected(wrong_at(at, "an aggregate takes one argument"));
  }
  return aggregate;
}

/// Refuses aggregates at any place of the tokens.
std::optional<ClientError> aggregate_inside(SqlSpan tokens) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const bool old = tokens.size() > 1 && tokens[i].is_word("@count");
    if (aggregate_at(tokens, i) != nullptr || old || tokens[i].is_word("@distinct"))
      return unmergeable_at(tokens[i].at, "an aggregate within an expression",
                            "select the aggregates as items of their own and compute with them");
    if (i + 1 < tokens.size() && tokens[i + 1].is_sign('(') &&
        is_word_of(tokens[i], kUnmergeableAggregates))
      return unmergeable_at(tokens[i].at, tokens[i].text,
                            "ask for a histogram by GROUP BY over intervals");
  }
  return std::nullopt;
}

/// Whether the last token is an alias without AS.
bool ends_with_alias(SqlSpan tokens) {
  if (tokens.size() < 2) return false;
  const auto& last = tokens.back();
  const auto& before = tokens[tokens.size() - 2];
  if (last.kind == SqlToken::Kind::word && (last.text.front() == '.' || last.is_word("null")))
    return false;
  if (!last.names_table()) return false;
  if (before.kind == SqlToken::Kind::sign)
    return before.is_sign(')') || before.is_sign(']') || before.is_sign('}') ||
           (before.is_sign('*') && tokens.size() == 2);
  return !is_word_of(before, kOperatorWords);
}

}  // namespace

std::expected<SelectItem, ClientError> read_expression(SqlSpan tokens) {
  SelectItem item{tokens, canonical(tokens)};
  if (item.canonical == "count(*)" && tokens.size() == 1) {  // @count
    item.aggregate = Aggregate{Fold::sum, {}};
    return item;
  }
  auto inner = tokens;
  const auto* const name = is_call(tokens) ? aggregate_at(tokens, 0) : nullptr;
  if (name != nullptr) {
    auto aggregate = read_aggregate(tokens, *name);
    if (!aggregate) return std::unexpected(std::move(aggregate.error()));
    inner = aggregate->argument;
    item.aggregate = *aggregate;
  }
  if (auto refusal = aggregate_inside(inner)) return std::unexpected(std::move(*refusal));
  return item;
}

std::expected<SelectItem, ClientError> read_item(SqlSpan tokens) {
  const bool with_as = tokens.size() > 2 && tokens[tokens.size() - 2].is_word("as");
  if (!with_as && !ends_with_alias(tokens)) return read_expression(tokens);
  const auto& alias = tokens.back();
  if (!alias.names_table())
    return std::unexpected(wrong_at(alias.at, "expected an alias after AS"));
  auto item = read_expression(tokens.first(tokens.size() - (with_as ? 2 : 1)));
  if (item) {
    item->alias = canonical(alias);
    item->alias_text = alias.text;
  }
  if (item && item->is_star()) return std::unexpected(wrong_at(alias.at, "* cannot have an alias"));
  return item;
}

std::expected<std::vector<SelectItem>, ClientError> read_items(SqlSpan tokens) {
  std::vector<SelectItem> items;
  bool star = false;
  for (const auto part : split_list(tokens)) {
    if (part.empty())
      return std::unexpected(wrong_at(tokens.front().at, "the list has an empty item"));
    if (items.size() == kMostItems)
      return std::unexpected(
          wrong_at(part.front().at, fmt::format("more than {} items", kMostItems)));
    auto item = read_item(part);
    if (!item) return std::unexpected(std::move(item.error()));
    if (item->is_star() && star)
      return std::unexpected(wrong_at(part.front().at, "* is given twice; write it once"));
    star = star || item->is_star();
    items.push_back(std::move(*item));
  }
  return items;
}

std::expected<std::vector<OrderKey>, ClientError> read_order(SqlSpan tokens) {
  std::vector<OrderKey> keys;
  if (tokens.empty()) return keys;
  for (auto part : split_list(tokens)) {
    if (part.empty())
      return std::unexpected(wrong_at(tokens.front().at, "ORDER BY has an empty key"));
    if (keys.size() == kMostOrderKeys)
      return std::unexpected(
          wrong_at(part.front().at, fmt::format("more than {} sort keys", kMostOrderKeys)));
    OrderKey key;
    key.descending = part.back().is_word("desc");
    if (part.size() > 1 && (key.descending || part.back().is_word("asc")))
      part = part.first(part.size() - 1);
    auto by = read_expression(part);
    if (!by) return std::unexpected(std::move(by.error()));
    key.by = std::move(*by);
    keys.push_back(std::move(key));
  }
  return keys;
}

}  // namespace karmad
