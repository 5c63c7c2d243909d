#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/manticore_json/sort_value.hpp"
#include "agent/dialect/manticore_sql/rows/row_plan.hpp"

namespace karmad {

/// The text as a number that HAVING compares with; nothing: it is none, or not finite.
std::optional<JsonNumber> number_of_having(std::string_view text);

/// A condition of HAVING with its values ready for comparison. Refers to `condition`.
class Having {
 public:
  Having(const RowCondition& condition, Collation collation);

  /// `cell`: a JSON value. Numbers are compared with values that are numbers, strings with all
  /// values as texts; other comparisons are not fulfilled.
  bool holds(std::string_view cell) const;

 private:
  struct Value {
    std::string escaped;  // the value as the inside of a JSON string
    std::optional<SortValue> number;
    SortValue text;
  };

  /// Whether `cell` compares with the value in one of the three ways.
  bool compares(const SortValue& cell, std::size_t value, bool less, bool equal,
                bool greater) const;
  bool fulfils(const SortValue& cell) const;

  const RowCondition& condition_;
  Collation collation_;
  std::vector<Value> values_;
};

}  // namespace karmad
