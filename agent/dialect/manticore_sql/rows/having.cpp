#include "agent/dialect/manticore_sql/rows/having.hpp"

#include <charconv>

#include "agent/json/json_line.hpp"

namespace karmad {

std::optional<JsonNumber> number_of_having(std::string_view text) {
  const auto digits = text.substr(text.starts_with('-') ? 1 : 0);
  if (digits.find_first_of("0123456789.") != 0) return std::nullopt;  // inf and nan
  double value = 0;
  const auto* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc{} || read.ptr != end) return std::nullopt;
  return json_number(text);
}

Having::Having(const RowCondition& condition, Collation collation)
    : condition_(condition), collation_(collation), values_(condition.values.size()) {
  for (std::size_t v = 0; v < values_.size(); ++v) {
    auto& value = values_[v];
    const auto& text = condition.values[v];
    JsonLine(value.escaped).add_escaped(text);
    value.text = {.kind = SortValue::Kind::text, .text = value.escaped};
    if (const auto number = number_of_having(text))
      value.number = SortValue{.kind = SortValue::Kind::number, .number = *number};
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
  const bool numbers = cell.kind == SortValue::Kind::number;
  if (numbers && !with.number) return false;
  const auto order = compare(cell, numbers ? *with.number : with.text, collation_);
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
