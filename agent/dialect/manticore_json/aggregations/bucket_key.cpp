#include "agent/dialect/manticore_json/aggregations/bucket_key.hpp"

#include <fmt/format.h>

#include <cmath>

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

}  // namespace karmad
