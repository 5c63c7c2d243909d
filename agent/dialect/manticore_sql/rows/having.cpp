#include "agent/dialect/manticore_sql/rows/having.hpp"

#include <charconv>

#include "agent/json/json_line.hpp"

namespace karmad {

namespace {

bool reads_as_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return !text.empty() && error != std::errc::invalid_argument && end == text.data() + text.size();
}

}  // namespace

Having::Having(const RowCondition& condition, Collation collation)
    : condition_(condition), collation_(collation), values_(condition.values.size()) {
  for (std::size_t v = 0; v < values_.size(); ++v) {
    auto& value = values_[v];
    const auto& text = condition.values[v];
    JsonLine(value.escaped).add_escaped(text);
    value.text = {.kind = SortValue::Kind::text, .text = value.escaped};
    value.is_number = reads_as_number(text);
    if (value.is_number)
      value.number = {.kind = SortValue::Kind::number, .number = json_number(text)};
  }
}

bool Having::holds(std::string_view cell) const {
  const auto value = sort_value(cell);
  return value.kind != SortValue::Kind::missing && fulfils(value) != condition_.negated;
}

bool Having::compares(const SortValue& cell, std::size_t value, bool less, bool equal,
                      bool greater) const {
  if (value >= values_.size()) return false;
  const auto& with = values_[value];
  if (cell.kind == SortValue::Kind::number && !with.is_number) return false;
  const auto order =
      compare(cell, cell.kind == SortValue::Kind::number ? with.number : with.text, collation_);
  return order < 0 ? less : order > 0 ? greater : equal;
}

bool Having::fulfils(const SortValue& cell) const {
  using Is = RowCondition::Is;
  switch (condition_.is) {
    case Is::less:
      return compares(cell, 0, true, false, false);
    case Is::at_most:
      return compares(cell, 0, true, true, false);
    case Is::greater:
      return compares(cell, 0, false, false, true);
    case Is::at_least:
      return compares(cell, 0, false, true, true);
    case Is::equal:
      return compares(cell, 0, false, true, false);
    case Is::unequal:
      return compares(cell, 0, true, false, true);
    case Is::between:
      return compares(cell, 0, false, true, true) && compares(cell, 1, true, true, false);
    case Is::in:
      break;
  }
  for (std::size_t v = 0; v < values_.size(); ++v)
    if (compares(cell, v, false, true, false)) return true;
  return false;
}

}  // namespace karmad
