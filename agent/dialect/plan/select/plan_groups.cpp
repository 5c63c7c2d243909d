#include <fmt/format.h>
#include <algorithm>
#include <utility>

#include "agent/dialect/merge/merged_rows.hpp"
#include "agent/dialect/plan/select/select_draft.hpp"

namespace karmad {

namespace {

using HavingIs = RowCondition::Is;

/// Every merged group is compared with each.
constexpr std::size_t kMostHavingValues = 256;

/// The text of a quoted token; escapes are those of the server.
std::string unquoted_text(const sql::Token& token) {
  const auto text = token.text.substr(1, token.text.size() - 2);
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const char c = text[++i];
    out += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
  }
  return out;
}

/// A number with its sign, or a quoted text.
std::string having_constant(sql::Span tokens, std::size_t at, SelectRefusal& refusal) {
  if (tokens.size() == 1 && tokens[0].kind == sql::Token::Kind::quoted)
    return unquoted_text(tokens[0]);
  const bool negative = tokens.size() == 2 && tokens[0].is_sign('-');
  if ((tokens.size() == 1 || negative) && number_of_having(tokens.back().text))
    return std::string(negative ? "-" : "").append(tokens.back().text);
  refusal.refuse_at(
      tokens.empty() ? at : tokens.front().at,
      "HAVING compares one expression with numbers or quoted texts, without AND and OR");
  return {};
}

struct HavingOperator {
  HavingIs is = HavingIs::equal;
  bool negated = false;
  std::size_t begin = 0;  // of the operator
  std::size_t end = 0;
};

/// Longer ones first.
constexpr std::pair<std::string_view, HavingIs> kHavingSigns[] = {
    {"!=", HavingIs::unequal},  {"<>", HavingIs::unequal}, {"<=", HavingIs::at_most},
    {">=", HavingIs::at_least}, {"<", HavingIs::less},     {">", HavingIs::greater},
    {"=", HavingIs::equal}};

/// The first operator outside of brackets.
std::optional<HavingOperator> find_having_operator(sql::Span tokens) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].is_sign('(', '[')) {
      i = after_bracket(tokens, i) - 1;
      continue;
    }
    // Without a space between: `>=` is one token of the server.
    const bool two = i + 1 < tokens.size() && tokens[i + 1].kind == sql::Token::Kind::sign &&
                     tokens[i + 1].at == tokens[i].at + 1;
    const std::string_view sign(tokens[i].text.data(), two ? 2 : 1);
    for (const auto& [text, is] : kHavingSigns)
      if (tokens[i].kind == sql::Token::Kind::sign && sign.starts_with(text))
        return HavingOperator{is, false, i, i + text.size()};
    if (tokens[i].is_sign('!')) return std::nullopt;
    const bool negated = tokens[i].is_word("not");
    const auto word = negated ? i + 1 : i;
    if (word == tokens.size()) return std::nullopt;
    if (tokens[word].is_word("between"))
      return HavingOperator{HavingIs::between, negated, i, word + 1};
    if (tokens[word].is_word("in")) return HavingOperator{HavingIs::in, negated, i, word + 1};
  }
  return std::nullopt;
}

/// The constants to the right of the operator, each as its tokens; none: IN without brackets.
std::vector<sql::Span> having_operands(sql::Span tokens, HavingIs is) {
  if (is == HavingIs::in) {
    if (tokens.size() < 2 || !tokens.front().is_sign('(') ||
        after_bracket(tokens, 0) != tokens.size())
      return {};
    return split_list(tokens.subspan(1, tokens.size() - 2));
  }
  if (is == HavingIs::between)
    for (std::size_t i = 0; i < tokens.size(); ++i)
      if (tokens[i].is_word("and")) return {tokens.first(i), tokens.subspan(i + 1)};
  return {tokens};
}

/// HAVING: an expression and what it must fulfil; the condition's column is not set.
struct HavingClause {
  SelectItem of;
  RowCondition condition;
};

/// Reads one condition that compares an expression with constants: `=`, `!=`, `<>`, `<`, `<=`, `>`,
/// `>=`, `[NOT] BETWEEN a AND b`, `[NOT] IN (…)`.
HavingClause read_having(sql::Span tokens, SelectRefusal& refusal) {
  const auto at = tokens.front().at;
  const auto op = find_having_operator(tokens);
  if (!op || op->begin == 0) {
    refusal.refuse_at(at, "expected HAVING expression, comparison, constant");
    return {};
  }
  HavingClause having{read_expression(tokens.first(op->begin), refusal),
                      {{}, op->is, op->negated, {}}};
  auto& values = having.condition.values;
  for (const auto operand : having_operands(tokens.subspan(op->end), op->is)) {
    auto value = having_constant(operand, at, refusal);
    if (!refusal.why && values.size() == kMostHavingValues)
      refusal.refuse_at(operand.front().at, "HAVING compares with more than {} values",
                        kMostHavingValues);
    if (refusal.why) return having;
    values.push_back(std::move(value));
  }
  if (values.empty()) refusal.refuse_at(at, "expected IN and constants in brackets");
  if (op->is == HavingIs::between && values.size() != 2)
    refusal.refuse_at(at, "expected BETWEEN one AND another constant");
  return having;
}

/// HAVING is applied to merged groups, so a shard returns also those that will be dropped.
constexpr std::size_t kGroupsForHaving = 10'000;
/// Bounds the rows of GROUP n BY.
constexpr std::size_t kMostGroupRows = 100'000;

class GroupPlanner {
 public:
  explicit GroupPlanner(SelectDraft& draft)
      : draft_(draft), columns_(draft.items, draft.names), rows_(out_.rows) {}

  RowsDraft run() {
    rows_.grouped = true;
    rows_.per_group = draft_.clauses.per_group;
    check_expressions();
    plan_having();
    plan_within();
    plan_order();
    draft_.add_outer(columns_, rows_);
    plan_keys();
    plan_size();
    plan_folds();
    draft_.add_json(columns_, rows_);
    if (shows_score()) rows_.score = columns_.of("weight()");
    for (std::size_t i = 0; i < draft_.items.size(); ++i)
      if (const auto& shown = draft_.items[i].shown; !shown.empty())
        rows_.names.emplace_back(columns_.at(i), shown);
    out_.hidden = columns_.settle(rows_);
    return std::move(out_);
  }

 private:
  /// Refuses expressions that compute with the result of an aggregate by its alias. An item may
  /// use the aliases of those before it.
  void check_expressions() {
    for (const auto& item : draft_.items) {
      refuse_aggregate_in(item);
      if (item.aggregate && !item.name().empty()) aggregates_.insert(item.name());
    }
    for (const auto* keys : {&draft_.order, &draft_.outer})
      for (const auto& key : *keys)
        if (key.by.expression.size() > 1) refuse_aggregate_in(key.by);
  }

  void refuse_aggregate_in(const SelectItem& item) const {
    if (item.aggregate || aggregates_.empty()) return;
    for (const auto& token : item.expression)
      if (token.names_table() && aggregates_.contains(canonical(token)))
        return draft_.refuse(sql::unmergeable_at(
            token.at, "an expression with the result of an aggregate",
            "select the aggregates as items of their own and compute with them"));
  }

  void plan_having() {
    if (draft_.clauses.having.empty()) return;
    auto [of, condition] = read_having(draft_.clauses.having, draft_);
    if (of.expression.size() > 1) refuse_aggregate_in(of);
    for (const auto& item : draft_.items)
      if (item.aggregate && item.name() == of.canonical) of = item;
    if (draft_.why) return;
    condition.column = columns_.of(of);
    rows_.having = std::move(condition);
    needs_best_ = needs_best_ || depends_on_row(of);
  }

  /// GROUPBY() also tells the values of attributes with several values. Pairs of keys and values
  /// are matched by the keys themselves, unless these have several values. Equal groups are in the
  /// order of GROUPBY(), as on one server.
  void plan_keys() {
    for (const auto& key : draft_.group)
      out_.group.append(out_.group.empty() ? "" : ", ").append(columns_.name_of(key));
    if (draft_.group.empty()) return;
    const auto holds_path = [&](const SelectItem& key) { return columns_.holds_path(key); };
    const auto number = columns_.of("GROUPBY()", "groupby()");
    if (std::ranges::find(rows_.order, number, &RowKey::column) == rows_.order.end())
      rows_.order.push_back({number, false, false});
    rows_.group = {number};
    rows_.exact = {std::ranges::all_of(draft_.group, holds_path)};
    const auto aggregated = columns_.aggregated();
    if (std::ranges::find(aggregated, Fold::distinct, &ShardColumns::Aggregated::fold) ==
        aggregated.end())
      return;
    rows_.group.clear();
    rows_.exact.clear();
    for (const auto& key : draft_.group) {
      rows_.group.push_back(columns_.of(key));
      rows_.exact.push_back(holds_path(key));
    }
    rows_.group_number = number;
  }

  /// The number of the key of the group that an expression is.
  std::optional<std::size_t> key_number(const SelectItem& expression) const {
    const auto* const item = columns_.item(expression);
    for (std::size_t i = 0; i < draft_.group.size(); ++i) {
      const auto& key = draft_.group[i].canonical;
      if (expression.canonical == key ||
          (item != nullptr && (item->canonical == key || columns_.item(draft_.group[i]) == item)))
        return i;
    }
    return std::nullopt;
  }

  /// Whether the value is that of one row of the group, not of the group.
  bool depends_on_row(const SelectItem& expression) const {
    const auto& of = columns_.meant(expression);
    return !of.aggregate && of.canonical != "groupby()" && !key_number(expression);
  }

  /// The keys by which the best row of a group is found: without GROUP BY those of ORDER BY.
  std::vector<OrderKey> keys_within() const {
    if (!draft_.group.empty()) return read_order(draft_.clauses.within, draft_);
    auto keys = draft_.order;
    std::erase_if(keys, [&](const auto& key) { return !depends_on_row(key.by); });
    return keys;
  }

  /// The order by which the best row of a group is found, where a column is of that row.
  void plan_within() {
    const auto given = keys_within();
    // Also the key itself: equal keys may be written in capitals, or be one of several values.
    const auto depends = [](const SelectItem& item) {
      return !item.aggregate && item.canonical != "groupby()";
    };
    needs_best_ =
        needs_best_ || shows_score() || draft_.clauses.per_group > 1 || orders_by_row() ||
        std::ranges::any_of(draft_.items, depends) ||
        std::ranges::any_of(draft_.outer, [&](const auto& key) { return depends_on_row(key.by); });
    if (!needs_best_) return;
    bool by_id = false;
    for (const auto& key : given) {
      if (key.by.aggregate)
        draft_.refuse_at(key.by.expression.front().at, "WITHIN GROUP ORDER BY takes no aggregate");
      append_key(out_.within, columns_.name_of(key.by), key.descending);
      rows_.within.push_back(draft_.row_key(columns_, key));
      by_id = by_id || key.by.canonical == "id";
    }
    if (given.empty()) {
      rows_.within.push_back({columns_.of("weight()"), true, false});
      append_key(out_.within, "weight()", true);
    }
    if (!by_id) {
      rows_.within.push_back({columns_.of("id"), false, false});
      if (rows_.within.size() <= kMostSqlServerKeys) append_key(out_.within, "id", false);
    }
    if (draft_.group.empty()) out_.within.clear();  // the server takes it only after GROUP BY
  }

  /// The weight of the best row.
  bool shows_score() const { return draft_.form == RowForm::hits && draft_.clauses.match; }

  /// The default order of groups is that of their best rows.
  bool orders_by_row() const {
    const auto depends = [&](const OrderKey& key) { return depends_on_row(key.by); };
    return !draft_.group.empty() &&
           (draft_.order.empty() || std::ranges::any_of(draft_.order, depends));
  }

  /// Without GROUP BY there is one row; the shards check the keys and choose their row by them.
  void plan_order() {
    for (const auto& key : draft_.order) {
      const auto name = is_unnamed_distinct(key.by) ? std::string(text_of(key.by.expression))
                                                    : columns_.name_of(key.by);
      append_key(out_.order, name, key.descending);
      if (draft_.group.empty()) continue;
      rows_.order.push_back(draft_.row_key(columns_, key));
    }
    if (!draft_.order.empty() || draft_.group.empty()) return;
    rows_.order.push_back({columns_.of("weight()"), true, false});
    rows_.order.push_back({columns_.of("id"), false, false});
    append_key(out_.order, "weight()", true);
    append_key(out_.order, "id", false);
  }

  /// It cannot be given a name by a second one, hidden: the server counts one only.
  bool is_unnamed_distinct(const SelectItem& by) const {
    const auto* const item = columns_.item(by);
    return by.aggregate && by.aggregate->fold == Fold::distinct && item != nullptr &&
           item->alias.empty();
  }

  /// In the order of the keys, each shard's first groups include all candidates for the first ones.
  /// Not of values inside JSON: different ones may be equal in that order.
  bool is_in_order_of_keys() const {
    std::vector<bool> seen(draft_.group.size());
    for (const auto& key : draft_.order) {
      if (columns_.meant(key.by).canonical == "groupby()") return true;
      const auto number = key_number(key.by);
      if (!number || columns_.holds_path(key.by)) return false;
      seen[*number] = true;
      if (std::ranges::all_of(seen, [](bool yes) { return yes; })) return true;
    }
    return false;
  }

  void plan_size() {
    auto groups = draft_.set_page(draft_.clauses.window, rows_);
    if (draft_.group.empty()) {
      out_.asked = 1;
      return;
    }
    const bool exact = is_in_order_of_keys() && !rows_.having;
    // Hits show the number of all groups.
    if (!exact || draft_.form == RowForm::hits) groups = draft_.groups_to_ask();
    if (rows_.having) groups = std::max(groups, kGroupsForHaving);
    out_.asked = std::max(groups, std::min(groups * rows_.per_group, kMostGroupRows));
    if (!exact) rows_.asked = out_.asked;
  }

  void plan_folds() {
    const auto aggregated = columns_.aggregated();
    for (const auto& [column, fold, argument] : aggregated) {
      FoldedColumn folded{column, fold};
      if (fold == Fold::mean) {
        // Servers have no SUM() of a value inside JSON.
        const auto text = fmt::format("SUM({})", text_of(argument));
        if (!columns_.holds_path({argument, canonical(argument)}))
          folded.sum = columns_.of(text, fmt::format("sum({})", canonical(argument)), Fold::sum);
        folded.weight = columns_.of("COUNT(*)", "count(*)", Fold::sum);
      }
      if (fold == Fold::distinct) {
        folded.pairs = draft_.add_pairs(draft_.group, read_expression(argument, draft_));
        draft_.pairs.back().plan.numbered = true;
      }
      rows_.folded.push_back(folded);
    }
    plan_row_of_nothing();
    // Sums and counts that the means and plan_row_of_nothing() have added.
    const auto all = columns_.aggregated();
    for (auto i = aggregated.size(); i < all.size(); ++i)
      rows_.folded.push_back({all[i].column, all[i].fold});
  }

  /// Aggregates of no document are a row where the list has a COUNT, but never a hit.
  void plan_row_of_nothing() {
    if (!draft_.group.empty()) return;
    const auto counts = [](const SelectItem& item) {
      return item.canonical == "count(*)" ||
             (item.aggregate && item.aggregate->fold == Fold::distinct);
    };
    const auto mean = std::ranges::find(rows_.folded, Fold::mean, &FoldedColumn::fold);
    if (draft_.form == RowForm::hits)
      rows_.documents = columns_.of("COUNT(*)", "count(*)", Fold::sum);
    else if (mean != rows_.folded.end() && std::ranges::none_of(draft_.items, counts))
      rows_.documents = mean->weight;
  }

  SelectDraft& draft_;
  RowsDraft out_;
  ShardColumns columns_;
  RowPlan& rows_;
  std::set<std::string> aggregates_;  // what the client calls them
  bool needs_best_ = false;
};

}  // namespace

RowsDraft plan_groups(SelectDraft& draft) {
  return GroupPlanner(draft).run();
}

}  // namespace karmad
