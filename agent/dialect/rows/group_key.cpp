#include "agent/dialect/rows/group_key.hpp"

#include <fmt/format.h>
#include <bit>
#include <cstdint>
#include <iterator>

#include "agent/json/json_cursor.hpp"
#include "agent/json/json_text.hpp"

namespace karmad {

KeyKind key_kind(std::string_view field) {
  const bool path = field.find_first_of(".[") != field.npos && field.find('(') == field.npos;
  return path ? KeyKind::json_path : KeyKind::attribute;
}

KeyKind RowKeyText::kind_of(const RawColumn& column) {
  return equals_literal(column.type, "json") ? KeyKind::json_path
                                             : key_kind(json_unescaped(column.name));
}

void RowKeyText::add(std::string_view cell, KeyKind kind) {
  const auto before = text_.size();
  if (is_string(cell)) {
    add_string(without_quotes(cell), folds_ && kind == KeyKind::attribute);
  } else if (is_json_number(cell)) {
    add_number(cell);
  } else {
    text_.append("v").append(cell);
  }
  // The length ends the part, so that no two keys of several parts have the same text.
  fmt::format_to(std::back_inserter(text_), ":{};", text_.size() - before);
}

void RowKeyText::add_string(std::string_view raw, bool fold) {
  text_ += 's';
  JsonText bytes(raw);
  for (int c = bytes.next(); c >= 0; c = bytes.next())
    text_ += static_cast<char>(fold && c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

void RowKeyText::add_number(std::string_view number) {
  const auto value = json_number(number);
  if (value.integer) {
    fmt::format_to(std::back_inserter(text_), "{}{}", value.negative ? '-' : '+', value.magnitude);
    return;
  }
  // Adding 0.0 turns -0 into 0.
  fmt::format_to(std::back_inserter(text_), "r{}", std::bit_cast<std::uint64_t>(value.real + 0.0));
}

}  // namespace karmad
