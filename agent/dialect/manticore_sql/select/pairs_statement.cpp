#include "agent/dialect/manticore_sql/select/pairs_statement.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace karmad {

namespace {

/// Whether the alias is that of a value which each row of pairs has.
bool is_of_row(const SelectItem& item) {
  return !item.alias.empty() && !item.aggregate && item.canonical != "groupby()";
}

/// Writes one list and the names of its columns.
class PairsWriter {
 public:
  PairsWriter(const std::vector<SelectItem>& items, const ListAliases& aliases, HiddenNames& names)
      : items_(items), known_(aliases), names_(names) {}

  void add(const SelectItem& column) {
    for (const auto& item : items_)
      if (is_of_row(item) && item.alias == column.canonical) return add_alias(item);
    if (!column.alias.empty()) return add_alias(column);
    const std::string text(text_of(column.expression));
    if (is_plain_key(column.expression)) return append(text, text);
    const auto name = names_.next();
    append(fmt::format("{} AS {}", text, name), name);
  }

  /// The aliases that are not columns already.
  void add_other_aliases() {
    for (const auto& item : items_) {
      if (!is_of_row(item)) continue;
      if (std::ranges::find(aliases_, item.alias) != aliases_.end()) continue;
      out_.list += fmt::format(", {} AS {}", text_of(item.expression), item.alias_text);
    }
  }

  bool uses_alias() const { return uses_alias_; }
  PairsText take() { return std::move(out_); }

 private:
  void add_alias(const SelectItem& item) {
    aliases_.push_back(item.alias);
    uses_alias_ = uses_alias_ || known_.are_in(text_of(item.expression));
    append(fmt::format("{} AS {}", text_of(item.expression), item.alias_text),
           std::string(item.alias_text));
  }

  void append(const std::string& definition, const std::string& name) {
    if (!out_.list.empty()) out_.list += ", ";
    out_.list += definition;
    if (!out_.group.empty()) out_.group += ", ";
    out_.group += name;
    uses_alias_ = uses_alias_ || known_.are_in(definition);
  }

  const std::vector<SelectItem>& items_;
  const ListAliases& known_;
  HiddenNames& names_;
  std::vector<std::string> aliases_;
  bool uses_alias_ = false;
  PairsText out_;
};

}  // namespace

ListAliases::ListAliases(const std::vector<SelectItem>& items, std::string_view where) {
  for (const auto& item : items)
    if (!item.alias.empty()) names_.insert(item.alias);
  are_in_where_ = are_in(where);
}

bool ListAliases::are_in(std::string_view text) const {
  if (names_.empty()) return false;
  SqlTokens tokens(text);
  for (auto token = tokens.next(); token.kind != SqlToken::Kind::end; token = tokens.next())
    if (token.names_table() && names_.contains(canonical(token))) return true;
  return false;
}

PairsText write_pairs(const std::vector<SelectItem>& keys, const SelectItem& value,
                      const std::vector<SelectItem>& items, const ListAliases& aliases,
                      HiddenNames& names) {
  PairsWriter writer(items, aliases, names);
  for (const auto& key : keys) writer.add(key);
  writer.add(value);
  if (writer.uses_alias() || aliases.are_in_where()) writer.add_other_aliases();
  return writer.take();
}

}  // namespace karmad
