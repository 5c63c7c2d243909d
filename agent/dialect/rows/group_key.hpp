#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "agent/dialect/rows/result_set.hpp"
#include "agent/dialect/rows/sort_value.hpp"

namespace karmad {

/// How the search server orders and groups the values of a field.
enum class KeyKind : std::uint8_t {
  attribute,  ///< numbers by value, strings by the collation; equal strings are one group
  json_path,  ///< values as text, by the collation; one group per type and spelling
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
