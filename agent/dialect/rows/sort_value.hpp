#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/rows/result_set.hpp"
#include "config/settings/settings.hpp"

namespace karmad {

/// A number read from JSON text: 64-bit integers exactly, all others as a double.
struct JsonNumber {
  bool integer = true;
  bool negative = false;
  std::uint64_t magnitude = 0;  ///< of an integer
  double real = 0;              ///< of anything else
};

/// Reads a JSON number; one that does not fit 64 bits, or has a point or exponent, is real.
JsonNumber json_number(std::string_view text);

/// Whether a JSON value is a number, by its first byte.
inline bool is_json_number(std::string_view value) {
  return !value.empty() && (value.front() == '-' || (value.front() >= '0' && value.front() <= '9'));
}

/// Exact, also between an integer and a real number.
std::strong_ordering compare(const JsonNumber& a, const JsonNumber& b);

long double as_real(const JsonNumber& number);

/// Whether servers, whose vectors are floats of 32 bits, read the number as an infinite one, which
/// makes all distances infinite.
inline bool exceeds_float(double number) {
  return std::abs(number) > std::numeric_limits<float>::max();
}
/// Whether one of the numbers, with commas between them, does. What is no number does not.
bool has_exceeding_float(std::string_view numbers);

/// The value by which a hit or bucket is ordered. Missing values (null, arrays, objects) come
/// before numbers, numbers before strings. The view is into the reply.
struct SortValue {
  enum class Kind : std::uint8_t { missing, number, text };
  Kind kind = Kind::missing;
  JsonNumber number;
  std::string_view text;  ///< inside of the JSON string, still escaped
};

/// `value`: bytes of any JSON value. `true` and `false` count as 1 and 0.
SortValue sort_value(std::string_view value);

/// Buffer for a number's sort text where it differs from its JSON text.
using SortText = std::array<char, 32>;

/// The sort value of a value inside a JSON attribute, which the server orders as text: integers by
/// their digits (10 before 9), real numbers with six decimals, strings; all others as an empty
/// text. The result may refer to `room`, which must outlive it.
SortValue json_sort_value(std::string_view value, SortText& room);

/// A number for fast comparison: of two values with different ranks the one with the lower rank is
/// lower, in every collation; equal ranks decide nothing.
std::uint64_t rank(const SortValue& value);

/// Compares as the search server does: libc_ci ignores the case of ASCII letters, the others
/// compare bytes. Resolves escapes without a copy.
std::strong_ordering compare(const SortValue& a, const SortValue& b, Collation collation);

/// The values by which rows are ordered: of each row one for each key. A `Key` says whether it is
/// `descending`.
template <class Key>
class SortTable {
 public:
  /// The keys must outlive it.
  SortTable(std::span<const Key> keys, Collation collation, std::size_t rows)
      : keys_(keys), collation_(collation), values_(rows * keys.size()) {}

  std::span<const Key> keys() const { return keys_; }
  SortValue* row(std::size_t number) { return values_.data() + number * keys_.size(); }
  const SortValue* row(std::size_t number) const { return values_.data() + number * keys_.size(); }
  /// For the text of one of its values.
  SortText& room(std::size_t number, std::size_t key) {
    if (texts_.empty()) texts_.resize(values_.size());
    return texts_[number * keys_.size() + key];
  }

  /// Which of two rows comes first, by the keys `begin` up to `end`.
  std::strong_ordering compare(std::size_t a, std::size_t b, std::size_t begin,
                               std::size_t end) const {
    const auto* const x = row(a);
    const auto* const y = row(b);
    for (auto k = begin; k < end; ++k)
      if (const auto order = karmad::compare(x[k], y[k], collation_); order != 0)
        return keys_[k].descending ? 0 <=> order : order;
    return std::strong_ordering::equal;
  }
  std::strong_ordering compare(std::size_t a, std::size_t b) const {
    return compare(a, b, 0, keys_.size());
  }
  /// As rank(), of the whole row: one with a lower rank comes first.
  std::uint64_t rank_of(std::size_t number) const {
    if (keys_.empty()) return 0;
    const auto first = rank(*row(number));
    return keys_.front().descending ? ~first : first;
  }
  /// Sorts items, of which each has a row; equal ones keep their order.
  template <class Item>
  void sort(std::span<Item> items) const {
    std::vector<std::uint32_t> places(items.size());
    std::iota(places.begin(), places.end(), 0U);
    std::ranges::stable_sort(places, [this](auto a, auto b) { return this->compare(a, b) < 0; });
    std::vector<Item> sorted;
    sorted.reserve(items.size());
    for (const auto place : places) sorted.push_back(std::move(items[place]));
    std::ranges::move(sorted, items.begin());
  }

 private:
  std::span<const Key> keys_;
  Collation collation_;
  std::vector<SortValue> values_;  // row by row
  std::vector<SortText> texts_;    // likewise, once one has a text of its own
};

/// How the search server orders and groups the values of a field.
enum class KeyKind : std::uint8_t {
  attribute,  ///< numbers by value, strings by the collation; equal strings are one group
  json_path,  ///< values as text, by the collation; one group per spelling
};

/// The kind by the field's name: one with `.` or `[` is a path into a JSON attribute, except a call
/// such as `integer(meta.n)`. An alias of a JSON path is not recognized: it counts as an attribute.
KeyKind key_kind(std::string_view field);

/// Writes the key of a group as a text. Two keys have the same text exactly if they are one group
/// for the search server: numbers of equal value, strings that the collation takes as equal, values
/// inside JSON of equal type and spelling.
class RowKeyText {
 public:
  explicit RowKeyText(Collation collation) : folds_(collation == Collation::libc_ci) {}

  /// How the server groups by that column.
  static KeyKind kind_of(const RawColumn& column);

  void clear() { text_.clear(); }
  /// Adds a part of the key, a JSON value.
  void add(std::string_view cell, KeyKind kind);
  /// The parts since clear(). Valid until the next change.
  std::string_view text() const { return text_; }

 private:
  void add_string(std::string_view raw, bool fold);
  void add_number(std::string_view number);

  bool folds_;
  std::string text_;
};

}  // namespace karmad
