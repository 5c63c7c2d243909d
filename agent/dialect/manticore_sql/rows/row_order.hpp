#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "agent/dialect/manticore_sql/rows/merged_rows.hpp"

namespace karmad {

/// An order of rows that have been read, by the columns of a plan.
class RowOrder {
 public:
  /// Adds the keys for rows with that many columns; false: there is no such column.
  bool add(std::span<const RowKey> keys, std::size_t columns);

  /// Sorts numbers of rows; equal rows keep their order.
  void sort(const MergedRows& rows, Collation collation, std::span<std::uint32_t> numbers) const;

  /// Sorts `places` by the rows `rows_of[place]`; equal rows keep their order.
  void sort_by(const MergedRows& rows, Collation collation, std::span<const std::uint32_t> rows_of,
               std::span<std::uint32_t> places) const;

 private:
  struct Key {
    std::size_t column = 0;
    bool descending = false;
    bool as_text = false;
  };
  std::vector<Key> keys_;
};

}  // namespace karmad
