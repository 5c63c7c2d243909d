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
    if (const auto* const item = named_by(column)) return add_alias(*item);
    if (!column.alias.empty()) return add_alias(column);
    const std::string text(text_of(column.expression));
    if (is_plain_key(column.expression)) return append(text, text);
    const auto name = names_.next();
    append(fmt::format("{} AS {}", text, name), name);
  }

  /// Adds the value, and what tells its variants apart. The server groups texts that differ only in
  /// capitals as one, but counts them as different; so it also groups by a number that is 0 for
  /// numbers and lists of them. GROUPBY() then is a number of the pair, also of floats that are
  /// written alike. Texts inside JSON are grouped as they are.
  bool add_value(const SelectItem& value) {
    add(value);
    const auto* const item = named_by(value);
    const auto& expression = item == nullptr ? value.expression : item->expression;
    if (is_path(expression)) return false;
    const auto capitals = names_.next();
    append(fmt::format("CRC32(TO_STRING({0}))-CRC32(LOWER(TO_STRING({0}))) AS {1}",
                       text_of(expression), capitals),
           capitals);
    out_.list += fmt::format(", GROUPBY() AS {}", names_.next());
    return true;
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
  /// The item of which the column is the alias.
  const SelectItem* named_by(const SelectItem& column) const {
    const auto found = std::ranges::find_if(items_, [&](const SelectItem& item) {
      return is_of_row(item) && item.alias == column.canonical;
    });
    return found == items_.end() ? nullptr : &*found;
  }

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
  const bool numbered = writer.add_value(value);
  if (writer.uses_alias() || aliases.are_in_where()) writer.add_other_aliases();
  auto text = writer.take();
  text.numbered = numbered;
  return text;
}

}  // namespace karmad
