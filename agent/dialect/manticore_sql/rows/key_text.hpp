#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/manticore_json/aggregations/bucket_key.hpp"
#include "agent/dialect/manticore_sql/rows/raw_replies.hpp"

namespace karmad {

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
