#include "agent/dialect/rows/sort_value.hpp"

#include <fmt/format.h>
#include <bit>
#include <charconv>
#include <iterator>
#include <system_error>

#include "agent/json/json_cursor.hpp"
#include "agent/json/json_text.hpp"
#include "config/text/number_in.hpp"
#include "config/text/source_text.hpp"

namespace karmad {

namespace {

// Both a 64-bit integer and a double fit a long double exactly, so mixed comparisons are exact.
static_assert(std::numeric_limits<long double>::digits >= 64);

constexpr int folded(int c) {
  return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}

std::strong_ordering compare_plain(std::string_view a, std::string_view b, bool fold) {
  if (!fold) return a.compare(b) <=> 0;
  const auto shorter = a.size() < b.size() ? a.size() : b.size();
  for (std::size_t i = 0; i < shorter; ++i) {
    const int x = folded(static_cast<unsigned char>(a[i]));
    const int y = folded(static_cast<unsigned char>(b[i]));
    if (x != y) return x <=> y;
  }
  return a.size() <=> b.size();
}

std::strong_ordering compare_escaped(std::string_view a, std::string_view b, bool fold) {
  JsonText left(a);
  JsonText right(b);
  for (;;) {
    const int x = fold ? folded(left.next()) : left.next();
    const int y = fold ? folded(right.next()) : right.next();
    if (x != y) return x <=> y;
    if (x < 0) return std::strong_ordering::equal;
  }
}

std::strong_ordering compare_texts(std::string_view a, std::string_view b, Collation collation) {
  const bool fold = collation == Collation::libc_ci;
  const bool plain = a.find('\\') == a.npos && b.find('\\') == b.npos;
  return plain ? compare_plain(a, b, fold) : compare_escaped(a, b, fold);
}

/// Digits of which a number of 64 bits always has room.
constexpr std::size_t kFewDigits = 19;

/// Not inline: the stack frame would cost json_number() more than its digits.
[[gnu::noinline]] JsonNumber real_number(std::string_view text) {
  JsonNumber number{.integer = false, .negative = text.starts_with('-')};
  const auto real = std::from_chars(text.data(), text.data() + text.size(), number.real);
  if (real.ec == std::errc::result_out_of_range) {
    const bool tiny = text.find("e-") != text.npos || text.find("E-") != text.npos;
    number.real = tiny ? 0 : std::numeric_limits<double>::infinity() * (number.negative ? -1 : 1);
  }
  return number;
}

}  // namespace

JsonNumber json_number(std::string_view text) {
  const bool negative = text.starts_with('-');
  const auto digits = text.substr(negative ? 1 : 0);
  std::uint64_t value = 0;
  if (digits.empty()) return real_number(text);
  if (digits.size() <= kFewDigits) {  // most ids and scores; much faster than a general conversion
    for (const char c : digits) {
      const auto digit = static_cast<unsigned char>(c - '0');
      if (digit > 9) return real_number(text);
      value = value * 10 + digit;
    }
  } else if (const auto whole = number_in<std::uint64_t>(digits)) {
    value = *whole;
  } else {
    return real_number(text);
  }
  return {.negative = negative && value != 0, .magnitude = value};
}

long double as_real(const JsonNumber& number) {
  if (!number.integer) return number.real;
  const auto magnitude = static_cast<long double>(number.magnitude);
  return number.negative ? -magnitude : magnitude;
}

std::strong_ordering compare(const JsonNumber& a, const JsonNumber& b) {
  if (a.integer && b.integer) {
    if (a.negative != b.negative) return b.negative <=> a.negative;
    return a.negative ? b.magnitude <=> a.magnitude : a.magnitude <=> b.magnitude;
  }
  const auto x = as_real(a);
  const auto y = as_real(b);
  return x < y   ? std::strong_ordering::less
         : x > y ? std::strong_ordering::greater
                 : std::strong_ordering::equal;
}

SortValue sort_value(std::string_view value) {
  SortValue sorted;
  if (value.empty()) return sorted;
  switch (value.front()) {
    case '"':
      sorted.kind = SortValue::Kind::text;
      sorted.text = value.substr(1, value.size() - 2);
      break;
    case 't':
    case 'f':
      sorted.kind = SortValue::Kind::number;
      sorted.number.magnitude = value.front() == 't' ? 1 : 0;
      break;
    case 'n':
    case '{':
    case '[':
      break;
    default:
      sorted.kind = SortValue::Kind::number;
      sorted.number = json_number(value);
  }
  return sorted;
}

SortValue json_sort_value(std::string_view value, SortText& room) {
  auto sorted = sort_value(value);
  sorted.kind = SortValue::Kind::text;
  if (!is_json_number(value)) return sorted;
  sorted.text = value;
  if (sorted.number.integer) return sorted;
  const auto [end, error] = std::to_chars(room.data(), room.data() + room.size(),
                                          sorted.number.real, std::chars_format::fixed, 6);
  if (error == std::errc{})
    sorted.text = {room.data(), static_cast<std::size_t>(end - room.data())};
  return sorted;
}

std::uint64_t rank(const SortValue& value) {
  constexpr auto highest = std::numeric_limits<std::uint64_t>::max();
  switch (value.kind) {
    case SortValue::Kind::missing:
      return 0;
    case SortValue::Kind::text:
      return highest;
    case SortValue::Kind::number:
      break;
  }
  // The bits of a double are in the order of its absolute value.
  const auto magnitude = static_cast<double>(value.number.magnitude);
  const auto real = !value.number.integer   ? value.number.real
                    : value.number.negative ? -magnitude
                                            : magnitude;
  constexpr auto sign = std::uint64_t{1} << 63;
  const auto bits = std::bit_cast<std::uint64_t>(real + 0.0);  // adding 0.0 turns -0 into 0
  return (bits & sign) != 0 ? ~bits : bits | sign;
}

std::strong_ordering compare(const SortValue& a, const SortValue& b, Collation collation) {
  if (a.kind != b.kind) return a.kind <=> b.kind;
  switch (a.kind) {
    case SortValue::Kind::number:
      return compare(a.number, b.number);
    case SortValue::Kind::text:
      return compare_texts(a.text, b.text, collation);
    case SortValue::Kind::missing:
      break;
  }
  return std::strong_ordering::equal;
}

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

bool has_exceeding_float(std::string_view numbers) {
  while (!numbers.empty()) {
    auto number = take_until(numbers, ',');
    number.remove_prefix(std::min(number.find_first_not_of(" \t\r\n"), number.size()));
    if (exceeds_float(static_cast<double>(as_real(json_number(number))))) return true;
  }
  return false;
}

}  // namespace karmad
