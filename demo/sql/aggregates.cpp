#include "demo/sql/aggregates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "demo/language/request.hpp"
#include "demo/sql/cell_text.hpp"

namespace karmad::demo {

namespace {

/// Adds like the search server: whole numbers wrap around at 64 bits, floats are added as floats.
Cell sum_of_cells(const std::vector<Cell>& cells, CellType type) {
  std::uint64_t whole = 0;
  float real = 0;
  for (const auto& cell : cells) {
    if (const auto* exact = std::get_if<std::int64_t>(&cell))
      whole += static_cast<std::uint64_t>(*exact);
    real += static_cast<float>(number_of_cell(cell));
  }
  if (type == CellType::bigint) return static_cast<std::int64_t>(whole);
  return double{real};
}

/// An average is of the values as floats.
double sum_of_floats(const std::vector<Cell>& cells) {
  double out = 0;
  for (const auto& cell : cells) out += static_cast<float>(number_of_cell(cell));
  return out;
}

/// The values of a column of several values, each for itself.
void add_values(const Cell& cell, std::vector<Cell>& out) {
  if (const auto* tags = std::get_if<Tags>(&cell)) {
    out.insert(out.end(), tags->begin(), tags->end());
  } else if (!std::holds_alternative<std::monostate>(cell)) {
    out.push_back(cell);
  }
}

/// Texts count by their bytes, whatever the collation, and floats by their value.
std::int64_t distinct_count(const std::vector<Cell>& cells) {
  const auto less = [](const Cell& a, const Cell& b) { return to_value(a) < to_value(b); };
  const std::set<Cell, decltype(less)> different(cells.begin(), cells.end(), less);
  return static_cast<std::int64_t>(different.size());
}

std::string joined(const std::vector<Cell>& cells, CellType type) {
  std::string out;
  for (const auto& cell : cells) {
    if (!out.empty()) out += ',';
    out += plain_text(cell, type);
  }
  return out;
}

}  // namespace

std::optional<CellType> aggregate_type(std::string_view name, CellType argument) {
  if (name == "count") return CellType::bigint;
  if (name == "count distinct") return CellType::whole;
  if (name == "avg") return CellType::exact;
  if (name == "group_concat" || name == "percentiles") return CellType::text;
  if (name == "min" || name == "max")
    return argument == CellType::member ? CellType::exact : std::max(argument, CellType::whole);
  if (name != "sum") return std::nullopt;
  if (argument == CellType::real || argument == CellType::exact) return argument;
  return argument == CellType::member ? CellType::exact : CellType::bigint;
}

double percentile(const std::vector<double>& sorted, double percent) {
  // Each number has the same share, and the first and the last one lie at their outer ends.
  const auto count = static_cast<double>(sorted.size());
  const auto at = std::clamp(percent, 0.0, 100.0) / 100 * count;
  const auto inner = std::min(at, count - at);
  const auto from_end = inner < 1 ? inner / 2 : inner - 0.5;
  const auto place = std::clamp(at < count / 2 ? from_end : count - 1 - from_end, 0.0, count - 1);
  const auto below = static_cast<std::size_t>(place);
  const auto above = std::min(below + 1, sorted.size() - 1);
  const auto share = place - static_cast<double>(below);
  return sorted[below] * (1 - share) + sorted[above] * share;
}

Cell aggregate_of(const Expression& expression, const Row& row) {
  if (row.group == nullptr) return {};
  const auto& members = row.group->members;
  const auto count = static_cast<std::int64_t>(members.size());
  const auto& name = expression.name;
  if (name == "count") return count;
  std::vector<Hit> in_order = members;
  std::ranges::sort(in_order, {}, &Hit::document);
  std::vector<Cell> cells;
  for (const auto& hit : in_order) {
    const auto cell = evaluate(expression.arguments[0], {row.index, hit, nullptr, row.words});
    add_values(cell, cells);
  }
  const auto type = expression.arguments[0].type;
  if (name == "count distinct")
    return is_strict() && row.group->key.empty() && type == CellType::member
               ? std::int64_t{0}
               : distinct_count(cells);
  if (name == "sum") return sum_of_cells(cells, expression.type);
  if (name == "group_concat") return joined(cells, type);
  if (name == "percentiles") {
    std::vector<double> numbers;
    for (const auto& cell : cells) numbers.push_back(number_of_cell(cell));
    std::ranges::sort(numbers);
    std::string out;
    for (const auto percent : Aggregation{}.percents)
      out += fmt::format("{}{:.15g}", out.empty() ? "[" : ",", percentile(numbers, percent));
    return out + "]";
  }
  if (name == "avg") return count == 0 ? Cell{} : sum_of_floats(cells) / static_cast<double>(count);
  if (cells.empty()) return {};
  const auto less = [&](const Cell& a, const Cell& b) { return cell_order(a, b, type) < 0; };
  return name == "min" ? *std::ranges::min_element(cells, less)
                       : *std::ranges::max_element(cells, less);
}

}  // namespace karmad::demo
