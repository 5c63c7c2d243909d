#include <fmt/format.h>
#include <algorithm>
#include <utility>

#include "agent/dialect/plan/select/select_draft.hpp"
#include "agent/json/json_line.hpp"
#include "agent/json/json_text.hpp"
#include "config/text/source_text.hpp"

namespace karmad {

namespace {

/// How the server names a facet: by its expression, whatever its alias, as the client has written
/// it but for the case of words. Members inside JSON and texts keep theirs. An alias of the select
/// list is an expression of its own, unless it is that of a value inside JSON.
std::string name_of_facet(sql::Span expression) {
  if (expression.size() == 1 && expression.front().kind == sql::Token::Kind::name)
    return lower(expression.front().inner());
  std::string name(text_of(expression));
  for (const auto& token : expression) {
    if (token.kind != sql::Token::Kind::word) continue;
    const auto word = token.text.substr(0, token.text.find('.'));
    name.replace(token.at - expression.front().at, word.size(), lower(word));
  }
  return name;
}

/// A facet's columns: its items, hidden keys, COUNT(DISTINCT …), COUNT(*).
class FacetPlanner {
 public:
  FacetPlanner(SelectDraft& draft, const sql::FacetClause& facet)
      : draft_(draft), facet_(facet), columns_(items_, draft.names) {}

  FacetDraft run() {
    read();
    if (draft_.why) return {};
    plan_keys();
    plan_counts();
    plan_order();
    plan_size();
    return std::move(out_);
  }

 private:
  void refuse_at(const SelectItem& item, std::string_view what) {
    draft_.refuse(sql::wrong_at(item.expression.front().at, what));
  }

  void read() {
    items_ = read_items(facet_.items, draft_);
    for (const auto& item : items_)
      if (item.aggregate || item.is_star())
        refuse_at(item, "FACET takes attributes and expressions");
    for (const auto& item : items_) refuse_id_alias(item, draft_);
    by_ = facet_.by.empty() ? items_ : read_group_keys(facet_.by, draft_);
    if (by_.size() > kMostGroupKeys)
      refuse_at(by_[kMostGroupKeys], fmt::format("a facet has more than {} keys", kMostGroupKeys));
  }

  void plan_keys() {
    auto& rows = out_.rows;
    rows.grouped = true;
    const auto& first = items_.front();
    JsonLine(rows.facet_name)
        .add_escaped(
            name_of_facet(is_inside_json(first) ? definition_of(first) : first.expression));
    std::string names;
    for (std::size_t i = 0; i < by_.size(); ++i) {
      const auto& key = by_[i];
      const bool shown = facet_.by.empty() || columns_.item(key) != nullptr;
      rows.group.push_back(facet_.by.empty() ? columns_.at(i) : columns_.of(key));
      key_names_.push_back(shown ? std::string(text_of(key.expression)) : columns_.name_of(key));
      names.append(names.empty() ? "" : ", ").append(key_names_.back());
      rows.exact.push_back(is_inside_json(key));
    }
    // With BY, the items are those of the group's best row, in the server's default order.
    if (!facet_.by.empty()) rows.within = {{columns_.of("weight()"), true}, {columns_.of("id")}};
    const SelectItem shown{definition_of(first), {}};  // by hits
    if (auto path = draft_.json_path(shown))
      rows.json.push_back({{0}, columns_.of(path->attribute), std::move(path->steps)});
    out_.text = fmt::format(" FACET {}{}", text_of(facet_.items), columns_.settle(rows));
    if (rows.hidden != 0) out_.text += fmt::format(" BY {}", names);
  }

  void plan_counts() {
    auto& rows = out_.rows;
    const auto first = items_.size() + rows.hidden;
    count_ = {first, false};
    if (!facet_.distinct.empty()) {
      const auto value = read_expression(facet_.distinct, draft_);
      if (value.aggregate || !is_plain_key(facet_.distinct))
        refuse_at(value, "DISTINCT takes the name of one attribute");
      for (const auto* const items : {&items_, &draft_.items}) refuse_hiding(*items, value, draft_);
      distinct_ = ColumnAt{first, false};
      distinct_name_ = fmt::format("count(distinct {})", value.canonical);
      rows.folded.push_back(
          {.column = *distinct_, .fold = Fold::distinct, .pairs = draft_.add_pairs(by_, value)});
      count_.at = first + 1;
      out_.text += fmt::format(" DISTINCT {}", text_of(facet_.distinct));
    }
    rows.folded.push_back({.column = count_, .fold = Fold::sum});
    if (rows.hidden != 0) rows.behind = distinct_ ? 2 : 1;
  }

  void plan_order() {
    auto keys = read_order(facet_.order, draft_);
    if (keys.size() == 1 && !facet_.order.back().is_word("asc") && !is_of_facet(keys.front().by))
      keys.front().descending = true;  // servers take an only key so
    std::string order;
    for (const auto& key : keys) {
      if (is_of_facet(key.by) && by_.size() > 1) {
        order_by_keys(order, key.descending);
        continue;
      }
      const auto column = order_column(key.by);
      append_key(order, text_of(key.by.expression), key.descending);
      out_.rows.order.push_back({column, key.descending, is_path_column(column)});
    }
    if (keys.empty()) {
      out_.rows.order.push_back({count_, true, false});
      append_key(order, "COUNT(*)", true);
    }
    out_.text += fmt::format(" ORDER BY {}", order);
    exact_ = keys_lead();
    auto& rows = out_.rows;
    for (const auto& key : rows.group)
      if (std::ranges::find(rows.order, key, &RowKey::column) == rows.order.end())
        rows.order.push_back({key, false, is_path_column(key)});
  }

  static bool is_of_facet(const SelectItem& by) {
    return by.canonical == "facet()" || by.canonical == "groupby()";
  }

  /// FACET() of several keys: the order of the keys. One server has the order of a hash.
  void order_by_keys(std::string& order, bool descending) {
    for (std::size_t i = 0; i < by_.size(); ++i) {
      append_key(order, key_names_[i], descending);
      const auto column = out_.rows.group[i];
      out_.rows.order.push_back({column, descending, is_path_column(column)});
    }
  }

  ColumnAt order_column(const SelectItem& by) const {
    if (by.canonical == "count(*)") return count_;
    if (distinct_ && (by.canonical == distinct_name_ || by.canonical == "@distinct"))
      return *distinct_;
    if (is_of_facet(by)) return out_.rows.group.front();
    if (const auto* const shown = columns_.item(by))
      return columns_.at(static_cast<std::size_t>(shown - items_.data()));
    const auto key = std::ranges::find(by_, by.canonical, &SelectItem::canonical);
    if (key != by_.end()) return out_.rows.group[static_cast<std::size_t>(key - by_.begin())];
    draft_.refuse(sql::unmergeable_at(
        by.expression.front().at,
        fmt::format("a facet ordered by {}", shortened_utf8(text_of(by.expression))),
        "order it by its own columns or COUNT(*)"));
    return {};
  }

  bool is_path_column(const ColumnAt& column) const {
    if (column.at < items_.size()) return is_inside_json(items_[column.at]);
    for (std::size_t i = 0; i < by_.size(); ++i)
      if (out_.rows.group[i] == column) return is_inside_json(by_[i]);
    return false;
  }

  /// Also where it is an alias of the facet or of the select list.
  bool is_inside_json(const SelectItem& item) const { return is_path(definition_of(item)); }

  sql::Span definition_of(const SelectItem& item) const {
    for (const auto* items : {&items_, &std::as_const(draft_.items)})
      for (const auto& known : *items)
        if (!known.alias.empty() && known.alias == item.canonical) return known.expression;
    return item.expression;
  }

  /// Whether the order is that of the keys, all of them. Not of values inside JSON: different ones
  /// may be equal in that order.
  bool keys_lead() const {
    std::vector<ColumnAt> seen;
    for (const auto& key : out_.rows.order) {
      if (key.as_text || std::ranges::find(out_.rows.group, key.column) == out_.rows.group.end())
        return false;
      if (std::ranges::find(seen, key.column) == seen.end()) seen.push_back(key.column);
      if (seen.size() == out_.rows.group.size()) return true;
    }
    return false;
  }

  void plan_size() {
    const auto end = draft_.set_page(facet_.window, out_.rows);
    const auto asked = exact_ ? end : draft_.groups_to_ask();
    if (!exact_) out_.rows.asked = asked;
    draft_.most_asked = std::max(draft_.most_asked, asked);
    out_.text += fmt::format(" LIMIT 0,{}", asked);
  }

  SelectDraft& draft_;
  const sql::FacetClause& facet_;
  SelectItems items_;
  ShardColumns columns_;
  SelectItems by_;
  std::vector<std::string> key_names_;  // as the shards' statement has them
  ColumnAt count_;
  std::optional<ColumnAt> distinct_;
  std::string distinct_name_;
  bool exact_ = false;
  FacetDraft out_;
};

}  // namespace

FacetDraft plan_facet(SelectDraft& draft, const sql::FacetClause& facet) {
  return FacetPlanner(draft, facet).run();
}

}  // namespace karmad
