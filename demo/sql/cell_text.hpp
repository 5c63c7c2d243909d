#pragma once

#include <string>

#include "demo/sql/expression.hpp"

namespace karmad::demo {

/// Raw rows have lists and JSON as strings, hits have them as JSON.
enum class Layout : std::uint8_t { raw, hit };

/// Appends a cell as JSON: floats with six decimals, doubles with eight.
void append_cell(std::string& out, const Cell& cell, CellType type, Layout layout);

/// The text of a cell without quotes: "1,2" of a list, an empty one of nothing.
std::string plain_text(const Cell& cell, CellType type = CellType::real);

/// The name of a type in a raw answer.
std::string_view type_name(CellType type);

}  // namespace karmad::demo
