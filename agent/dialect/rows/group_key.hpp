#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

/// The key of a bucket, or one part of it, in comparable form.
struct BucketKey {
  std::string_view bytes;  ///< of the JSON value
  SortValue value;         ///< KeyKind::attribute
  std::string text;        ///< KeyKind::json_path: sort text of values that are not integers
};

/// `bytes`: a JSON value, or empty for none. The key refers to them.
BucketKey bucket_key(std::string_view bytes, KeyKind kind);

/// The order in which the server answers. Different groups of a JSON path can be equal in it: "Red"
/// and "red" by a collation without case; null, true, false and "" always.
std::strong_ordering sort_order(const BucketKey& a, const BucketKey& b, KeyKind kind,
                                Collation collation);

/// An order of keys that are equal in `sort_order`; equal only for keys of one group.
std::strong_ordering tie_order(const BucketKey& a, const BucketKey& b, KeyKind kind);

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
