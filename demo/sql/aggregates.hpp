#pragma once

#include <optional>
#include <string_view>

#include "demo/sql/expression.hpp"

namespace karmad::demo {

/// The type of count, count distinct, sum, min, max, avg or group_concat of an argument of that
/// type; nothing for other names.
std::optional<CellType> aggregate_type(std::string_view name, CellType argument);

/// Between sorted numbers, of which there is at least one.
double percentile(const std::vector<double>& sorted, double percent);

/// The aggregate of the row's group.
Cell aggregate_of(const Expression& expression, const Row& row);

}  // namespace karmad::demo
