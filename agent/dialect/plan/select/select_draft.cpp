#include "agent/dialect/plan/select/select_draft.hpp"

#include <fmt/format.h>

#include "config/text/number_in.hpp"

namespace karmad {

ShardOptions read_options(sql::Span tokens, SelectRefusal& refusal) {
  ShardOptions options;
  if (tokens.empty()) return options;
  for (const auto option : split_list(tokens)) {
    if (option.empty()) {
      refusal.refuse_at(offset_of(option, tokens), "OPTION has an empty item");
      break;
    }
    const auto name = canonical(option.front());
    // Other values of the balancer's options are left to the server, which refuses them.
    const auto number = option.size() == 3 && option[1].is_sign('=')
                            ? number_in<std::size_t>(option[2].text)
                            : std::nullopt;
    const auto at = option.front().at;
    if (name == "max_matches") {
      if (!number || *number == 0 || *number > sql::kLargestRowCount)
        refusal.refuse_at(at, "max_matches must be an integer from 1 to {}", sql::kLargestRowCount);
      options.max_matches = number;
      continue;
    }
    if (name == "scroll") {
      const bool text = option.size() == 3 && option[2].kind == sql::Token::Kind::quoted;
      if (!text && (!number || *number > 1))
        refusal.refuse_at(at, "scroll must be 1, or the token of the page before in quotes");
      if (text) options.scroll = option[2].text.substr(1, option[2].text.size() - 2);
      if (number && *number == 1) options.scroll.emplace();
      options.refuses_scroll = number && *number == 0;
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

std::optional<JsonPath> path_of(const SelectItem& item) {
  if (!is_path(item.expression)) return std::nullopt;
  return read_json_path(text_of(item.expression));
}

/// Names in their canonical form; a value inside JSON counts as its attribute, too.
struct ReadNames : std::set<std::string> {
  void add(sql::Span tokens) {
    for (const auto& token : tokens) {
      if (!token.names_table()) continue;
      auto name = canonical(token);
      if (const auto dot = name.find('.'); dot != name.npos) insert(name.substr(0, dot));
      insert(std::move(name));
    }
  }
};

std::size_t offset_of_alias(const SelectItem& item) {
  const auto& first = item.expression.front();
  return first.at + static_cast<std::size_t>(item.alias_text.data() - first.text.data());
}

void refuse_alias(const SelectItem& item, SelectRefusal& refusal) {
  refusal.refuse_at(offset_of_alias(item),
                    "the alias {} hides an attribute that is read elsewhere; choose another alias",
                    item.alias_text);
}

class AliasSettler {
 public:
  explicit AliasSettler(SelectDraft& draft) : draft_(draft) {
    read_names();
    for (const auto& item : draft.items)
      if (draft.json_path(item)) json_.add(item.expression);
  }

  void run() {
    ReadNames before;  // by hidden columns and pairs for the items so far
    for (auto& item : draft_.items) {
      if (item.aggregate && sql::is_any_of(item.aggregate->fold, Fold::mean, Fold::distinct))
        before.add(item.aggregate->argument);
      if (item.alias.empty() || item.alias == item.canonical) continue;
      if (item.aggregate) {
        if (item.alias == "id" || read_.contains(item.alias)) hide(item);
        continue;
      }
      refuse_id_alias(item, draft_);
      if (json_.contains(item.alias) || before.contains(item.alias)) refuse_alias(item, draft_);
    }
  }

 private:
  /// Finds the names that are read as attributes, if they are not aliases.
  void read_names() {
    const auto add = [this](const SelectItem& item) {
      read_.add(item.aggregate ? item.aggregate->argument : item.expression);
    };
    const auto& clauses = draft_.clauses;
    for (const auto& item : draft_.items) add(item);
    for (const auto& key : draft_.order)
      if (key.by.expression.size() > 1) add(key.by);
    read_.add(clauses.group);
    read_.add(clauses.within);
    for (const auto& facet : clauses.facets)
      for (const auto part : {facet.items, facet.by, facet.distinct}) read_.add(part);
    const auto opens = [](const sql::Token& token) { return token.is_sign('('); };
    if (std::ranges::any_of(clauses.having, opens)) read_.add(clauses.having);
  }

  void hide(SelectItem& item) {
    item.shown = item.alias;
    item.alias = draft_.names.next();
    item.alias_text = draft_.hidden_aliases.emplace_front(item.alias);
    for (auto* const keys : {&draft_.order, &draft_.outer})
      for (auto& key : *keys)
        if (key.by.canonical == item.shown) key.by = item;
  }

  SelectDraft& draft_;
  ReadNames read_;
  ReadNames json_;  // attributes that are read beside values inside them
};

}  // namespace

std::size_t SelectDraft::set_page(const sql::RowWindow& wanted, RowPlan& rows) const {
  const auto end = std::min(wanted.end(), max_matches());
  rows.offset = std::min(wanted.offset, end);
  rows.limit = end - rows.offset;
  return end;
}

std::string SelectDraft::list() const {
  if (hidden_aliases.empty()) return std::string(text_of(clauses.items));
  std::string text;
  for (const auto& item : items) {
    text.append(text.empty() ? "" : ", ").append(text_of(item.expression));
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
  if (auto path = path_of(columns.meant(key.by))) {
    out.attribute = columns.of(path->attribute);
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
  for (std::size_t i = 0; i < items.size(); ++i)
    if (auto path = json_path(items[i]))
      rows.json.push_back({columns.at(i), columns.of(path->attribute), std::move(path->steps)});
}

void append_key(std::string& list, std::string_view name, bool descending) {
  list.append(list.empty() ? "" : ", ").append(name).append(descending ? " DESC" : " ASC");
}

void settle_aliases(SelectDraft& draft) {
  if (!std::ranges::all_of(draft.items, &std::string::empty, &SelectItem::alias))
    AliasSettler(draft).run();
}

void refuse_hiding(const SelectItems& items, const SelectItem& attribute, SelectRefusal& refusal) {
  for (const auto& item : items)
    if (item.alias == attribute.canonical && item.canonical != attribute.canonical)
      refuse_alias(item, refusal);
}

void refuse_id_alias(const SelectItem& item, SelectRefusal& refusal) {
  if (item.alias == "id" && item.canonical != "id")
    refusal.refuse_at(offset_of_alias(item),
                      "the alias id hides the id of the documents, by which rows of "
                      "several shards are merged; choose another alias");
}

}  // namespace karmad
