#include "agent/dialect/manticore_sql/select/shard_columns.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace karmad {

ShardColumns::ShardColumns(const std::vector<SelectItem>& items, HiddenNames& names)
    : items_(items), names_(names) {
  const auto star = std::ranges::find_if(items, &SelectItem::is_star);
  if (star != items.end()) star_ = static_cast<std::size_t>(star - items.begin());
}

namespace {

/// As the client wrote it, but old names as today's server writes them.
std::string current_text(const SelectItem& item) {
  if (item.expression.size() == 1 && item.expression.front().text.starts_with('@'))
    return item.canonical;
  return std::string(text_of(item.expression));
}

}  // namespace

const SelectItem* ShardColumns::item(const SelectItem& wanted) const {
  for (const auto& item : items_)
    if (!item.alias.empty() && item.alias == wanted.canonical) return &item;
  for (const auto& item : items_)
    if (!item.is_star() && item.canonical == wanted.canonical) return &item;
  return nullptr;
}

ColumnAt ShardColumns::column_at(std::size_t index) const {
  return {index, star_ && index > *star_};
}

const ShardColumns::Hidden* ShardColumns::hidden_with(std::string_view canonical_text) const {
  const auto found = std::ranges::find(hidden_, canonical_text, &Hidden::canonical);
  return found == hidden_.end() ? nullptr : &*found;
}

const ShardColumns::Hidden& ShardColumns::add(const SelectItem& wanted) {
  const auto& aggregate = wanted.aggregate;
  hidden_.push_back({current_text(wanted), wanted.canonical, names_.next(),
                     aggregate ? std::optional(aggregate->fold) : std::nullopt,
                     aggregate ? aggregate->argument : SqlSpan{}});
  return hidden_.back();
}

ColumnAt ShardColumns::of(const SelectItem& wanted) {
  if (const auto* const known = item(wanted))
    return column_at(static_cast<std::size_t>(known - items_.data()));
  const auto* hidden = hidden_with(wanted.canonical);
  if (hidden == nullptr) hidden = &add(wanted);
  return column_at(items_.size() + static_cast<std::size_t>(hidden - hidden_.data()));
}

ColumnAt ShardColumns::of(std::string_view text, std::string_view canonical_text,
                          std::optional<Fold> fold) {
  for (const auto& item : items_)
    if (item.canonical == canonical_text)
      return column_at(static_cast<std::size_t>(&item - items_.data()));
  const auto* hidden = hidden_with(canonical_text);
  if (hidden == nullptr) {
    hidden_.push_back({std::string(text), std::string(canonical_text), names_.next(), fold, {}});
    hidden = &hidden_.back();
  }
  return column_at(items_.size() + static_cast<std::size_t>(hidden - hidden_.data()));
}

std::string ShardColumns::name_of(const SelectItem& wanted) {
  if (is_plain_key(wanted.expression)) return current_text(wanted);
  const auto* const known = item(wanted);
  if (known != nullptr && !known->alias.empty()) return std::string(known->alias_text);
  if (const auto* const hidden = hidden_with(wanted.canonical)) return hidden->name;
  return add(wanted).name;
}

bool ShardColumns::holds_path(const SelectItem& wanted) const {
  const auto* const known = item(wanted);
  return is_path(known != nullptr ? known->expression : wanted.expression);
}

std::vector<ShardColumns::Aggregated> ShardColumns::aggregated() const {
  std::vector<Aggregated> found;
  for (std::size_t i = 0; i < items_.size(); ++i)
    if (const auto& aggregate = items_[i].aggregate)
      found.push_back({column_at(i), aggregate->fold, aggregate->argument});
  for (std::size_t h = 0; h < hidden_.size(); ++h)
    if (const auto fold = hidden_[h].fold)
      found.push_back({column_at(items_.size() + h), *fold, hidden_[h].argument});
  return found;
}

std::vector<std::string> ShardColumns::hidden_names() const {
  std::vector<std::string> names;
  for (const auto& hidden : hidden_) names.push_back(hidden.name);
  return names;
}

std::string ShardColumns::written() const {
  std::string text;
  for (const auto& hidden : hidden_) text += fmt::format(", {} AS {}", hidden.text, hidden.name);
  return text;
}

void ShardColumns::settle(ColumnAt& column) const {
  if (column.from_right) column.at = items_.size() + hidden_.size() - 1 - column.at;
}

void ShardColumns::settle(RowKey& key) const {
  settle(key.column);
  if (key.attribute) settle(*key.attribute);
}

ColumnAt ShardColumns::settled(std::size_t item) const {
  auto column = column_at(item);
  settle(column);
  return column;
}

}  // namespace karmad
