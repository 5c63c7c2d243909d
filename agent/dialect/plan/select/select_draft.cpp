#include "agent/dialect/plan/select/select_draft.hpp"

#include <fmt/format.h>
#include <algorithm>

#include "agent/dialect/plan/search/sort_plan.hpp"
#include "agent/dialect/request/sql_statement.hpp"
#include "config/text/whole_number.hpp"

namespace karmad {

namespace {

/// A plain number; other values of the balancer's options are left to the server, which refuses
/// them.
std::optional<std::size_t> number_of_option(SqlSpan option) {
  if (option.size() != 3 || !option[1].is_sign('=')) return std::nullopt;
  return whole_number<std::size_t>(option[2].text);
}

}  // namespace

std::expected<ShardOptions, ClientError> read_options(SqlSpan tokens) {
  ShardOptions options;
  if (tokens.empty()) return options;
  for (const auto option : split_list(tokens)) {
    if (option.empty())
      return std::unexpected(wrong_at(tokens.front().at, "OPTION has an empty item"));
    const auto name = canonical(option.front());
    const auto number = number_of_option(option);
    const auto at = option.front().at;
    if (name == "max_matches") {
      if (!number || *number == 0 || *number > kLargestRowCount)
        return std::unexpected(wrong_at(
            at, fmt::format("max_matches must be an integer from 1 to {}", kLargestRowCount)));
      options.max_matches = number;
      continue;
    }
    if (name == "scroll") {
      const bool text = option.size() == 3 && option[2].kind == SqlToken::Kind::quoted;
      if (!text && (!number || *number > 1))
        return std::unexpected(
            wrong_at(at, "scroll must be 1, or the token of the page before in quotes"));
      if (text) options.scroll = option[2].text.substr(1, option[2].text.size() - 2);
      if (number && *number == 1) options.scroll.emplace();
      continue;
    }
    if (number && (name == "retry_count" || name == "retry_delay" || name == "agent_query_timeout"))
      continue;
    options.has_cutoff |= name == "cutoff";
    if (!options.others.empty()) options.others += ',';
    options.others += text_of(option);
  }
  return options;
}

std::string ShardOptions::write(std::size_t kept) const {
  if (kept == 0 && others.empty()) return {};
  std::string text = " OPTION ";
  if (kept != 0) text += fmt::format("max_matches={}", kept);
  if (kept != 0 && !others.empty()) text += ',';
  return text += others;
}

namespace {

constexpr std::size_t kServersMaxMatches = 1000;  // default of the server

std::optional<JsonPath> path_of(const SelectItem& item) {
  if (!is_path(item.expression)) return std::nullopt;
  return read_json_path(text_of(item.expression));
}

}  // namespace

std::size_t SelectDraft::max_matches() const {
  return options.max_matches.value_or(kServersMaxMatches);
}

RowWindow SelectDraft::window(const RowWindow& wanted) const {
  const auto end = std::min(wanted.end(), max_matches());
  const auto offset = std::min(wanted.offset, end);
  return {offset, end - offset};
}

std::size_t SelectDraft::groups_to_ask() const {
  return std::max(max_matches(), kServersMaxMatches);
}

std::string SelectDraft::list() const {
  if (hidden_aliases.empty()) return std::string(text_of(clauses.items));
  std::string text;
  for (const auto& item : items) {
    if (!text.empty()) text += ", ";
    text += text_of(item.expression);
    if (!item.alias.empty()) text.append(" AS ").append(item.alias_text);
  }
  return text;
}

bool SelectDraft::is_grouped() const {
  const auto of_groups = [](const SelectItem& item) {
    return item.aggregate || item.canonical == "groupby()";
  };
  return !group.empty() || std::ranges::any_of(items, of_groups) ||
         std::ranges::any_of(order, [&](const auto& key) { return of_groups(key.by); });
}

std::optional<JsonPath> SelectDraft::json_path(const SelectItem& item) const {
  return form == RowForm::hits ? path_of(item) : std::nullopt;
}

RowKey SelectDraft::row_key(ShardColumns& columns, const OrderKey& key) const {
  RowKey out{columns.of(key.by), key.descending, columns.holds_path(key.by)};
  const auto* const item = columns.item(key.by);
  if (auto path = path_of(item != nullptr ? *item : key.by)) {
    out.attribute = columns.of(path->attribute, path->attribute);
    out.steps = std::move(path->steps);
  }
  return out;
}

void SelectDraft::add_outer(ShardColumns& columns, RowPlan& rows) const {
  if (clauses.outer == nullptr) return;
  const auto& window = clauses.outer->window;
  rows.outer.emplace(OuterRows{{}, window.offset, window.limit});
  for (const auto& key : outer) rows.outer->order.push_back(row_key(columns, key));
}

void SelectDraft::add_json(ShardColumns& columns, RowPlan& rows) const {
  for (const auto& item : items)
    if (auto path = json_path(item))
      rows.json.push_back(
          {columns.of(item), columns.of(path->attribute, path->attribute), std::move(path->steps)});
}

std::expected<std::size_t, ClientError> SelectDraft::add_pairs(const std::vector<SelectItem>& keys,
                                                               const SelectItem& value) {
  const auto at = value.expression.front().at;
  if (pairs.size() == kMostPairsStatements)
    return std::unexpected(
        wrong_at(at, fmt::format("more than {} of COUNT(DISTINCT …) and FACET … DISTINCT",
                                 kMostPairsStatements)));
  if (!aliases) aliases.emplace(items, where);
  pairs_texts.push_back(write_pairs(keys, value, items, *aliases, names, pairs_by));
  pairs_size += pairs_texts.back().size() + where.size();
  if (!pairs.empty() && pairs_size > kLongestPairsTexts)
    return std::unexpected(wrong_at(
        at, fmt::format("the WHERE is too long to be sent once more for each COUNT(DISTINCT …) and "
                        "FACET … DISTINCT: {} bytes together, at most {}; send them one by one",
                        pairs_size, kLongestPairsTexts)));
  pairs.push_back({.keys = keys.size(), .asked = kMostPairs});
  if (pairs_texts.back().numbered) pairs.back().number = keys.size() + 2;
  return pairs.size() - 1;
}

std::expected<std::vector<SelectItem>, ClientError> read_group_keys(SqlSpan tokens) {
  std::vector<SelectItem> keys;
  if (tokens.empty()) return keys;
  for (const auto part : split_list(tokens)) {
    const auto at = part.empty() ? tokens.front().at : part.front().at;
    if (part.empty()) return std::unexpected(wrong_at(at, "the list of keys has an empty item"));
    if (keys.size() == kMostGroupKeys)
      return std::unexpected(
          wrong_at(at, fmt::format("groups have more than {} keys", kMostGroupKeys)));
    auto key = read_expression(part);
    if (!key) return std::unexpected(std::move(key.error()));
    if (key->aggregate)
      return std::unexpected(wrong_at(at, "the keys of groups are no aggregates"));
    keys.push_back(std::move(*key));
  }
  return keys;
}

void append_key(std::string& list, std::string_view name, bool descending) {
  if (!list.empty()) list += ", ";
  list.append(name).append(descending ? " DESC" : " ASC");
}

}  // namespace karmad
