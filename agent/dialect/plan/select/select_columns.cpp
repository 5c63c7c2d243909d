#include "agent/dialect/plan/select/select_draft.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <utility>

namespace karmad {

namespace {

/// More than any server sorts by; bounds the work per row.
constexpr std::size_t kMostOrderKeys = 16;
/// Bounds the work of looking names up in each other's lists.
constexpr std::size_t kMostSelectItems = 1000;

constexpr std::pair<std::string_view, Fold> kAggregates[] = {
    {"count", Fold::sum},   {"sum", Fold::sum},  {"min", Fold::smallest},
    {"max", Fold::largest}, {"avg", Fold::mean}, {"group_concat", Fold::concat},
};

/// The aggregate whose name stands at `i` before a bracket. MIN and MAX of several arguments are
/// functions of one row.
std::optional<Fold> aggregate_at(sql::Span tokens, std::size_t i) {
  if (i + 1 >= tokens.size() || !tokens[i + 1].is_sign('(')) return std::nullopt;
  for (const auto& [name, fold] : kAggregates) {
    if (!tokens[i].is_word(name)) continue;
    const auto end = after_bracket(tokens, i + 1);
    if (sql::is_any_of(fold, Fold::smallest, Fold::largest) &&
        split_list(tokens.subspan(i + 2, end - i - 3)).size() > 1)
      return std::nullopt;
    return fold;
  }
  return std::nullopt;
}

Aggregate read_aggregate(sql::Span tokens, Fold fold, SelectRefusal& refusal) {
  Aggregate aggregate{fold, tokens.subspan(2, tokens.size() - 3)};
  auto& argument = aggregate.argument;
  const auto refuse = [&](std::string_view what) {
    refusal.refuse(sql::wrong_at(tokens.front().at, what));
  };
  if (argument.empty()) {
    refuse("an aggregate has no argument");
  } else if (tokens.front().is_word("count")) {
    if (argument.front().is_word("distinct")) {
      argument = argument.subspan(1);
      aggregate.fold = Fold::distinct;
      if (!is_plain_key(argument)) refuse("COUNT(DISTINCT …) takes the name of one attribute");
    } else if (canonical(argument) != "*") {
      refuse("expected COUNT(*) or COUNT(DISTINCT attribute)");
    }
  } else if (fold == Fold::concat) {
    for (const auto& token : argument)
      if (token.is_word("order", "separator"))
        refusal.refuse(sql::unmergeable_at(token.at, "GROUP_CONCAT with ORDER BY or SEPARATOR",
                                           "write GROUP_CONCAT(attribute)"));
  } else if (split_list(argument).size() > 1) {
    refuse("an aggregate takes one argument");
  }
  return aggregate;
}

/// Refuses aggregates at any place of the tokens.
void refuse_aggregate_inside(sql::Span tokens, SelectRefusal& refusal) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const bool old = tokens.size() > 1 && tokens[i].is_word("@count");
    if (aggregate_at(tokens, i) || old || tokens[i].is_word("@distinct"))
      return refusal.refuse(
          sql::unmergeable_at(tokens[i].at, "an aggregate within an expression",
                              "select the aggregates as items of their own and compute with them"));
    // Their results for parts of the data do not determine the result for all data.
    if (i + 1 < tokens.size() && tokens[i + 1].is_sign('(') &&
        tokens[i].is_word("percentiles", "percentile_ranks", "median_absolute_deviation"))
      return refusal.refuse(
          sql::unmergeable_at(tokens[i].at, tokens[i].text,
                              "ask for the aggregation of that name at /search, which is exact"));
  }
}

/// As the client wrote it, but old names as today's server writes them.
std::string current_text(const SelectItem& item) {
  if (item.expression.size() == 1 && item.expression.front().text.starts_with('@'))
    return item.canonical;
  return std::string(text_of(item.expression));
}

/// Whether the last token is an alias without AS.
bool ends_with_alias(sql::Span tokens) {
  if (tokens.size() < 2) return false;
  const auto& last = tokens.back();
  const auto& before = tokens[tokens.size() - 2];
  if (last.kind == sql::Token::Kind::word && (last.text.front() == '.' || last.is_word("null")))
    return false;
  if (!last.names_table()) return false;
  if (before.kind == sql::Token::Kind::sign)
    return before.is_sign(')', ']', '}') || (before.is_sign('*') && tokens.size() == 2);
  return !is_operator_word(before);
}

/// Reads one item: an expression, AS and an alias; AS may be left out.
SelectItem read_item(sql::Span tokens, SelectRefusal& refusal) {
  const bool with_as = tokens.size() > 2 && tokens[tokens.size() - 2].is_word("as");
  if (!with_as && !ends_with_alias(tokens)) return read_expression(tokens, refusal);
  const auto& alias = tokens.back();
  if (!alias.names_table()) refusal.refuse_at(alias.at, "expected an alias after AS");
  auto item = read_expression(tokens.first(tokens.size() - (with_as ? 2 : 1)), refusal);
  item.alias = canonical(alias);
  item.alias_text = alias.text;
  if (item.is_star()) refusal.refuse_at(alias.at, "* cannot have an alias");
  return item;
}

/// Reads the parts of a list with `read`, which are at most `most`; `has_more` begins the error
/// about more of them.
template <class Item, class Read>
std::vector<Item> read_list(sql::Span tokens, std::string_view empty_part, std::size_t most,
                            std::string_view has_more, std::string_view parts,
                            SelectRefusal& refusal, Read read) {
  std::vector<Item> items;
  if (tokens.empty()) return items;
  const auto list = split_list(tokens);
  items.reserve(std::min(list.size(), most));
  for (const auto part : list) {
    if (part.empty())
      refusal.refuse(sql::wrong_at(offset_of(part, tokens), empty_part));
    else if (items.size() == most)
      refusal.refuse_at(part.front().at, "{} {} {}", has_more, most, parts);
    if (refusal.why) break;
    items.push_back(read(part));
  }
  return items;
}

/// SELECT ALL id, SELECT TOP 5 id: what other servers have, and would be an attribute with an
/// alias.
bool begins_with_modifier(sql::Span tokens) {
  if (tokens.size() < 2 || is_operator_word(tokens[1]) || tokens[1].is_word("as")) return false;
  const bool before_star = tokens[1].is_sign('*') && tokens.size() == 2;
  if (tokens[1].kind == sql::Token::Kind::sign && !before_star) return false;
  if (tokens[0].is_word("top")) return is_digit(tokens[1].text.front());
  return tokens[0].is_word("all", "distinctrow", "high_priority", "straight_join");
}

/// Whether the alias is that of a value which each row of pairs has.
bool is_of_row(const SelectItem& item) {
  return !item.alias.empty() && !item.aggregate && item.canonical != "groupby()";
}

/// Writes one list and the names of its columns. Keys, value and WHERE may use aliases of the
/// select list.
class PairsWriter {
 public:
  explicit PairsWriter(SelectDraft& draft) : draft_(draft) {}

  PairsDraft write(const SelectItems& keys, const SelectItem& value) {
    out_.plan.keys = keys.size();
    for (const auto& key : keys) {
      add(key);
      out_.plan.exact.push_back(is_path(definition_of(key)));
    }
    add_value(value);
    if (uses_alias_ || draft_.aliases->are_in_where()) add_other_aliases();
    out_.list += texts_;
    return std::move(out_);
  }

 private:
  void add(const SelectItem& column) {
    if (const auto* const item = named_by(column)) return add_alias(*item);
    if (!column.alias.empty()) return add_alias(column);
    const std::string text(text_of(column.expression));
    const bool as_text = draft_.pairs_by == PairsBy::texts && column.expression.size() == 1 &&
                         !is_path(column.expression);
    if (!as_text && is_plain_key(column.expression)) return append(text, text);
    const auto name = draft_.names.next();
    if (as_text) texts_ += fmt::format(", TO_STRING({}) AS {}", text, name);
    append(as_text ? text : fmt::format("{} AS {}", text, name), name);
  }

  /// Adds the value, and what tells its variants apart. The server groups texts that differ only in
  /// capitals as one, but counts them as different; so it also groups by a number that is 0 for
  /// numbers and lists of them. GROUPBY() then is a number of the pair, also of floats that are
  /// written alike. Texts inside JSON are grouped as they are.
  void add_value(const SelectItem& value) {
    add(value);
    const auto expression = definition_of(value);
    if (is_path(expression)) return;
    const auto capitals = draft_.names.next();
    append(fmt::format("CRC32(TO_STRING({0}))-CRC32(LOWER(TO_STRING({0}))) AS {1}",
                       text_of(expression), capitals),
           capitals);
    if (draft_.pairs_by == PairsBy::texts) return;
    out_.list += fmt::format(", GROUPBY() AS {}", draft_.names.next());
    out_.plan.number = out_.plan.keys + 2;
  }

  /// The aliases that are not columns already.
  void add_other_aliases() {
    for (const auto& item : draft_.items) {
      if (!is_of_row(item)) continue;
      if (std::ranges::find(aliases_, item.alias) != aliases_.end()) continue;
      out_.list += fmt::format(", {} AS {}", text_of(item.expression), item.alias_text);
    }
  }

  /// The item of which the column is the alias.
  const SelectItem* named_by(const SelectItem& column) const {
    for (const auto& item : draft_.items)
      if (is_of_row(item) && item.alias == column.canonical) return &item;
    return nullptr;
  }

  /// The expression of the column, also where it is an alias.
  sql::Span definition_of(const SelectItem& column) const {
    const auto* const item = named_by(column);
    return item == nullptr ? column.expression : item->expression;
  }

  void add_alias(const SelectItem& item) {
    aliases_.push_back(item.alias);
    uses_alias_ = uses_alias_ || draft_.aliases->are_in(text_of(item.expression));
    append(fmt::format("{} AS {}", text_of(item.expression), item.alias_text),
           std::string(item.alias_text));
  }

  void append(const std::string& definition, const std::string& name) {
    out_.list.append(out_.list.empty() ? "" : ", ").append(definition);
    out_.group.append(out_.group.empty() ? "" : ", ").append(name);
    uses_alias_ = uses_alias_ || draft_.aliases->are_in(definition);
  }

  SelectDraft& draft_;
  std::string texts_;  // columns behind the others, with the texts of attributes
  std::vector<std::string> aliases_;
  bool uses_alias_ = false;
  PairsDraft out_{{.asked = kMostPairs}};
};

}  // namespace

SelectItem read_expression(sql::Span tokens, SelectRefusal& refusal) {
  SelectItem item{tokens, canonical(tokens)};
  if (item.canonical == "count(*)" && tokens.size() == 1) {  // @count
    item.aggregate = Aggregate{Fold::sum, {}};
    return item;
  }
  auto inner = tokens;
  if (const auto fold = is_call(tokens) ? aggregate_at(tokens, 0) : std::nullopt) {
    item.aggregate = read_aggregate(tokens, *fold, refusal);
    inner = item.aggregate->argument;
  }
  refuse_aggregate_inside(inner, refusal);
  return item;
}

SelectItems read_items(sql::Span tokens, SelectRefusal& refusal) {
  if (begins_with_modifier(tokens))
    refusal.refuse_at(tokens.front().at,
                      "search servers have no SELECT {}; leave it out, and write LIMIT "
                      "where it means a number of rows",
                      tokens.front().text);
  bool star = false;
  const auto read = [&](sql::Span part) {
    auto item = read_item(part, refusal);
    if (item.is_star() && std::exchange(star, true))
      refusal.refuse_at(part.front().at, "* is given twice; write it once");
    return item;
  };
  return read_list<SelectItem>(tokens, "the list has an empty item", kMostSelectItems, "more than",
                               "items", refusal, read);
}

SelectItems read_group_keys(sql::Span tokens, SelectRefusal& refusal) {
  const auto read = [&](sql::Span part) {
    auto key = read_expression(part, refusal);
    if (key.aggregate) refusal.refuse_at(part.front().at, "the keys of groups are no aggregates");
    return key;
  };
  return read_list<SelectItem>(tokens, "the list of keys has an empty item", kMostGroupKeys,
                               "groups have more than", "keys", refusal, read);
}

std::vector<OrderKey> read_order(sql::Span tokens, SelectRefusal& refusal) {
  const auto read = [&](sql::Span part) {
    const bool descending = part.back().is_word("desc");
    if (part.size() > 1 && (descending || part.back().is_word("asc")))
      part = part.first(part.size() - 1);
    return OrderKey{read_expression(part, refusal), descending};
  };
  return read_list<OrderKey>(tokens, "ORDER BY has an empty key", kMostOrderKeys, "more than",
                             "sort keys", refusal, read);
}

ShardColumns::ShardColumns(const SelectItems& items, HiddenNames& names)
    : items_(items), names_(names) {
  const auto star = std::ranges::find_if(items, &SelectItem::is_star);
  if (star != items.end()) star_ = static_cast<std::size_t>(star - items.begin());
}

const SelectItem* ShardColumns::item(const SelectItem& wanted) const {
  for (const auto& item : items_)
    if (!item.alias.empty() && item.alias == wanted.canonical) return &item;
  for (const auto& item : items_)
    if (!item.is_star() && item.canonical == wanted.canonical) return &item;
  return nullptr;
}

const ShardColumns::Hidden* ShardColumns::hidden_with(std::string_view canonical_text) const {
  const auto found = std::ranges::find(hidden_, canonical_text, &Hidden::canonical);
  return found == hidden_.end() ? nullptr : &*found;
}

const ShardColumns::Hidden& ShardColumns::add(const SelectItem& wanted) {
  hidden_.push_back({current_text(wanted), wanted.canonical, names_.next(), wanted.aggregate});
  return hidden_.back();
}

ColumnAt ShardColumns::of(const SelectItem& wanted) {
  if (const auto* const known = item(wanted))
    return at(static_cast<std::size_t>(known - items_.data()));
  const auto* const hidden = hidden_with(wanted.canonical);
  return column_of(hidden == nullptr ? add(wanted) : *hidden);
}

ColumnAt ShardColumns::of(std::string_view text, std::string_view canonical_text,
                          std::optional<Fold> fold) {
  for (const auto& item : items_)
    if (item.canonical == canonical_text)
      return at(static_cast<std::size_t>(&item - items_.data()));
  if (const auto* const hidden = hidden_with(canonical_text)) return column_of(*hidden);
  hidden_.push_back({std::string(text), std::string(canonical_text), names_.next(), {}});
  if (fold) hidden_.back().aggregate = Aggregate{*fold, {}};
  return column_of(hidden_.back());
}

std::string ShardColumns::name_of(const SelectItem& wanted) {
  if (is_plain_key(wanted.expression)) return current_text(wanted);
  const auto* const known = item(wanted);
  if (known != nullptr && !known->alias.empty()) return std::string(known->alias_text);
  if (const auto* const hidden = hidden_with(wanted.canonical)) return hidden->name;
  return add(wanted).name;
}

std::vector<ShardColumns::Aggregated> ShardColumns::aggregated() const {
  std::vector<Aggregated> found;
  for (std::size_t i = 0; i < items_.size(); ++i)
    if (const auto& aggregate = items_[i].aggregate)
      found.push_back({at(i), aggregate->fold, aggregate->argument});
  for (const auto& hidden : hidden_)
    if (const auto& aggregate = hidden.aggregate)
      found.push_back({column_of(hidden), aggregate->fold, aggregate->argument});
  return found;
}

std::string ShardColumns::settle(RowPlan& rows) const {
  std::string text;
  rows.hidden = hidden_.size();
  for (const auto& hidden : hidden_) {
    text.append(", ").append(hidden.text).append(" AS ").append(hidden.name);
    rows.hidden_names.push_back(hidden.name);
  }
  const auto count = items_.size() + hidden_.size();
  visit_columns(rows, [count](ColumnAt& column) {
    if (column.from_right) column.at = count - 1 - column.at;
  });
  return text;
}

ListAliases::ListAliases(const SelectItems& items, std::string_view where) {
  for (const auto& item : items)
    if (!item.alias.empty()) names_.insert(item.alias);
  are_in_where_ = are_in(where);
}

bool ListAliases::are_in(std::string_view text) const {
  if (names_.empty()) return false;
  sql::Tokens tokens(text);
  for (auto token = tokens.next(); token.kind != sql::Token::Kind::end; token = tokens.next())
    if (token.names_table() && names_.contains(canonical(token))) return true;
  return false;
}

std::size_t SelectDraft::add_pairs(const SelectItems& keys, const SelectItem& value) {
  const auto at = value.expression.front().at;
  if (pairs.size() == kMostPairsStatements) {
    refuse_at(at, "more than {} of COUNT(DISTINCT …) and FACET … DISTINCT", kMostPairsStatements);
    return 0;
  }
  if (!aliases) aliases.emplace(items, where);
  const auto& added = pairs.emplace_back(PairsWriter(*this).write(keys, value));
  pairs_size += added.list.size() + added.group.size() + where.size();
  if (pairs.size() > 1 && pairs_size > kLongestPairsTexts)
    refuse_at(at,
              "the WHERE is too long to be sent once more for each COUNT(DISTINCT …) and FACET … "
              "DISTINCT: {} bytes together, at most {}; send them one by one",
              pairs_size, kLongestPairsTexts);
  return pairs.size() - 1;
}

}  // namespace karmad
