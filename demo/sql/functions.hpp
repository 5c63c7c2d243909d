#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "demo/data/complaint.hpp"
#include "demo/sql/expression.hpp"

namespace karmad::demo {

/// The type of a call of the function with those arguments; nothing if there is no such function,
/// or not with so many arguments.
std::optional<CellType> function_type(std::string_view name, std::span<const Expression> arguments);

/// Calls a function that needs only its arguments.
Cell call_function(std::string_view name, std::span<const Cell> arguments);

/// The widest of the arguments' types: whole, bigint, real, exact; text if there is one.
CellType common_type(std::span<const Expression> arguments);

}  // namespace karmad::demo
