#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "agent/dialect/manticore_json/sort_value.hpp"
#include "agent/dialect/manticore_sql/rows/merged_rows.hpp"

namespace karmad {

/// The value by which a row is sorted, of a cell that holds a value inside JSON. Rows show booleans
/// as 1 or 0, and arrays and objects as texts, but the server orders all of these like a missing
/// value: `attribute`, the cell with the whole attribute, tells them apart. `room` as for
/// json_sort_value().
SortValue path_sort_value(std::string_view cell, std::string_view attribute,
                          std::span<const JsonStep> steps, SortText& room);

/// An order of rows that have been read, by the columns of a plan.
class RowOrder {
 public:
  /// Adds the keys, which must outlive it, for rows with that many columns; false: there is no such
  /// column.
  bool add(std::span<const RowKey> keys, std::size_t columns);

  /// Sorts numbers of rows; equal rows keep their order.
  void sort(const ResultSet& rows, Collation collation, std::span<std::uint32_t> numbers) const;

  /// Sorts `places` by the rows `rows_of[place]`; equal rows keep their order.
  void sort_by(const ResultSet& rows, Collation collation, std::span<const std::uint32_t> rows_of,
               std::span<std::uint32_t> places) const;

 private:
  struct Key {
    std::size_t column = 0;
    bool descending = false;
    bool as_text = false;
    std::optional<std::size_t> attribute;
    std::span<const JsonStep> steps;
  };
  std::vector<Key> keys_;
};

}  // namespace karmad
