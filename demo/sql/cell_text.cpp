#include "demo/sql/cell_text.hpp"

#include <fmt/format.h>

#include "demo/data/text.hpp"

namespace karmad::demo {

std::string plain_text(const Cell& cell, CellType type) {
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return fmt::to_string(*whole);
  if (const auto* real = std::get_if<double>(&cell))
    return type == CellType::exact ? fmt::format("{:.8f}", *real) : float_text(*real);
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* tags = std::get_if<Tags>(&cell)) return fmt::format("{}", fmt::join(*tags, ","));
  if (const auto* json = std::get_if<JsonText>(&cell)) return json->text;
  if (const auto* is = std::get_if<bool>(&cell)) return *is ? "1" : "0";
  return {};
}

void append_cell(std::string& out, const Cell& cell, CellType type, Layout layout) {
  if (std::holds_alternative<std::monostate>(cell)) {
    out += "null";
    return;
  }
  if (type == CellType::boolean && layout == Layout::hit) {
    out += is_true(cell) ? "true" : "false";
    return;
  }
  if (const auto* is = std::get_if<bool>(&cell); is != nullptr && layout == Layout::hit) {
    out += *is ? "true" : "false";
    return;
  }
  const bool list = std::holds_alternative<Tags>(cell);
  const bool quoted =
      std::holds_alternative<std::string>(cell) ||
      (layout == Layout::raw && (list || type == CellType::json || type == CellType::member));
  const auto text = plain_text(cell, type);
  const bool vector = type == CellType::vector && layout == Layout::hit;
  if (quoted && !vector) {
    append_quoted(out, text);
  } else if (list || vector) {
    out.append("[").append(text).append("]");
  } else {
    out += text;
  }
}

std::string_view type_name(CellType type) {
  switch (type) {
    case CellType::boolean:
      return "bool";
    case CellType::whole:
      return "long";
    case CellType::bigint:
      return "long long";
    case CellType::real:
      return "float";
    case CellType::exact:
      return "double";
    case CellType::multi:
      return "multi";
    case CellType::json:
      return "json";
    case CellType::text:
    case CellType::member:
    case CellType::vector:
      break;
  }
  return "string";
}

}  // namespace karmad::demo
