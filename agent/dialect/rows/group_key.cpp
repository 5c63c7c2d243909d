#include "agent/dialect/rows/group_key.hpp"

#include <fmt/format.h>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>

#include "agent/json/json_cursor.hpp"
#include "agent/json/json_text.hpp"

namespace karmad {

namespace {

/// Above this, six decimals would only waste memory; the shortest form is used.
constexpr double kMostWritten = 1e21;

/// A real number with six decimals, as the server writes it for sorting.
std::string sorted_real(const JsonNumber& number) {
  return std::fabs(number.real) < kMostWritten ? fmt::format("{:.6f}", number.real)
                                               : fmt::format("{}", number.real);
}

enum class Type : std::uint8_t { missing, no, yes, nested, number, text };

Type type_of(std::string_view bytes) {
  switch (bytes.empty() ? 'n' : bytes.front()) {
    case 'n':
      return Type::missing;
    case 'f':
      return Type::no;
    case 't':
      return Type::yes;
    case '[':
    case '{':
      return Type::nested;
    case '"':
      return Type::text;
    default:
      return Type::number;
  }
}

/// The sort text of a JSON value: numbers as written, strings; empty for other types.
SortValue sorted_text(const BucketKey& key) {
  SortValue value{.kind = SortValue::Kind::text};
  switch (type_of(key.bytes)) {
    case Type::text:
      value.text = key.bytes.substr(1, key.bytes.size() - 2);
      break;
    case Type::number:
      value.text = key.text.empty() ? key.bytes : std::string_view(key.text);
      break;
    default:
      break;
  }
  return value;
}

}  // namespace

KeyKind key_kind(std::string_view field) {
  const bool path = field.find_first_of(".[") != field.npos && field.find('(') == field.npos;
  return path ? KeyKind::json_path : KeyKind::attribute;
}

BucketKey bucket_key(std::string_view bytes, KeyKind kind) {
  BucketKey key{.bytes = bytes};
  if (kind == KeyKind::attribute) {
    key.value = sort_value(bytes);
  } else if (type_of(bytes) == Type::number) {
    if (const auto number = json_number(bytes); !number.integer) key.text = sorted_real(number);
  }
  return key;
}

std::strong_ordering sort_order(const BucketKey& a, const BucketKey& b, KeyKind kind,
                                Collation collation) {
  if (kind == KeyKind::attribute) return compare(a.value, b.value, collation);
  return compare(sorted_text(a), sorted_text(b), collation);
}

std::strong_ordering tie_order(const BucketKey& a, const BucketKey& b, KeyKind kind) {
  if (kind == KeyKind::attribute) return std::strong_ordering::equal;
  const auto type = type_of(a.bytes);
  if (const auto order = type <=> type_of(b.bytes); order != 0) return order;
  if (type == Type::nested) return a.bytes.compare(b.bytes) <=> 0;
  return compare(sorted_text(a), sorted_text(b), Collation::binary);
}

KeyKind RowKeyText::kind_of(const RawColumn& column) {
  return equals_literal(column.type, "json") ? KeyKind::json_path
                                             : key_kind(json_unescaped(column.name));
}

void RowKeyText::add(std::string_view cell, KeyKind kind) {
  const auto before = text_.size();
  if (is_string(cell)) {
    add_string(without_quotes(cell), folds_ && kind == KeyKind::attribute);
  } else if (sort_value(cell).kind == SortValue::Kind::number && cell.front() != 't' &&
             cell.front() != 'f') {
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
