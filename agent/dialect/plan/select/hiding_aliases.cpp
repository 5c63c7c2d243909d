#include "agent/dialect/plan/select/hiding_aliases.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <set>
#include <string>

namespace karmad {

namespace {

/// Names in their canonical form; a value inside JSON counts as its attribute, too.
class ReadNames {
 public:
  void add(SqlSpan tokens) {
    for (const auto& token : tokens) {
      if (!token.names_table()) continue;
      auto name = canonical(token);
      if (const auto dot = name.find('.'); dot != name.npos) names_.insert(name.substr(0, dot));
      names_.insert(std::move(name));
    }
  }
  bool contains(const std::string& name) const { return names_.contains(name); }

 private:
  std::set<std::string> names_;
};

/// Whether a fold of the aggregate's column reads its argument in a hidden column or in pairs.
bool reads_argument_again(const SelectItem& item) {
  return item.aggregate &&
         (item.aggregate->fold == Fold::mean || item.aggregate->fold == Fold::distinct);
}

std::size_t offset_of_alias(const SelectItem& item) {
  const auto& first = item.expression.front();
  return first.at + static_cast<std::size_t>(item.alias_text.data() - first.text.data());
}

ClientError refuse_alias(const SelectItem& item) {
  return wrong_at(offset_of_alias(item),
                  fmt::format("the alias {} hides an attribute that is read elsewhere; choose "
                              "another alias",
                              item.alias_text));
}

class AliasSettler {
 public:
  explicit AliasSettler(SelectDraft& draft) : draft_(draft) {
    read_names();
    for (const auto& item : draft.items)
      if (draft.json_path(item)) json_.add(item.expression);
  }

  std::optional<ClientError> run() {
    ReadNames before;  // by hidden columns for the items so far
    for (auto& item : draft_.items) {
      if (reads_argument_again(item)) before.add(item.aggregate->argument);
      if (item.alias.empty() || item.alias == item.canonical) continue;
      if (item.aggregate) {
        if (item.alias == "id" || read_.contains(item.alias)) hide(item);
        continue;
      }
      if (auto refusal = refuse_id_alias(item)) return refusal;
      if (json_.contains(item.alias) || before.contains(item.alias)) return refuse_alias(item);
    }
    return std::nullopt;
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
    const auto opens = [](const SqlToken& token) { return token.is_sign('('); };
    if (std::ranges::any_of(clauses.having, opens)) read_.add(clauses.having);
  }

  void hide(SelectItem& item) {
    item.shown = item.alias;
    item.alias = draft_.names.next();
    item.alias_text = draft_.hidden_aliases.emplace_front(item.alias);
    for (auto& key : draft_.order)
      if (key.by.canonical == item.shown) key.by = item;
  }

  SelectDraft& draft_;
  ReadNames read_;
  ReadNames json_;  // attributes that are read beside values inside them
};

}  // namespace

std::optional<ClientError> settle_aliases(SelectDraft& draft) {
  const auto has_alias = [](const SelectItem& item) { return !item.alias.empty(); };
  if (std::ranges::none_of(draft.items, has_alias)) return std::nullopt;
  return AliasSettler(draft).run();
}

std::optional<ClientError> refuse_hiding(const std::vector<SelectItem>& items,
                                         const SelectItem& attribute) {
  for (const auto& item : items)
    if (item.alias == attribute.canonical && item.canonical != attribute.canonical)
      return refuse_alias(item);
  return std::nullopt;
}

std::optional<ClientError> refuse_id_alias(const SelectItem& item) {
  if (item.alias != "id" || item.canonical == "id") return std::nullopt;
  return wrong_at(offset_of_alias(item),
                  "the alias id hides the id of the documents, by which rows of several shards are "
                  "merged; choose another alias");
}

}  // namespace karmad
