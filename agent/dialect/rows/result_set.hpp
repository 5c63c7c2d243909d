#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <forward_list>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace karmad {

/// A column of a result set. The views are into the reply of a shard or into texts of the set.
struct RawColumn {
  std::string_view name;  ///< inside of the JSON string, still escaped
  std::string_view type;  ///< likewise: `long long`, `multi`, `json` …

  /// Whether cells are lists of numbers, `"1,2,3"`.
  bool has_several_values() const { return type.starts_with("multi"); }
};

/// Texts that the views of a result set refer to. They keep their places when the set moves.
struct OwnedTexts : std::forward_list<std::string> {
  OwnedTexts() = default;
  OwnedTexts(OwnedTexts&&) = default;
  OwnedTexts& operator=(OwnedTexts&&) = default;
};

/// The rows that answer a statement, with the names and types of their columns: merged of several
/// shards, or karmad's. Each form of an answer has a writer of it (write_rows.hpp; mysql::Results).
struct ResultSet {
  std::vector<RawColumn> columns;       ///< hidden ones included; none: the statement has no rows
  std::size_t hidden = 0;               ///< number of columns that the client does not get
  std::size_t behind = 0;               ///< number of columns after the hidden ones
  std::vector<std::string_view> cells;  ///< JSON values, row by row, one for each column
  std::size_t count = 0;                ///< of rows
  OwnedTexts made;                      ///< cells and names that are in no reply
  std::string warning;                  ///< plain text; empty: none

  /// Whether the client gets the column.
  bool shows(std::size_t column) const {
    const auto from_right = columns.size() - column;
    return from_right <= behind || from_right > behind + hidden;
  }
  std::span<const std::string_view> row(std::size_t number) const {
    return std::span(cells).subspan(number * columns.size(), columns.size());
  }

  /// `name`: plain text; `type` outlives the set.
  void add_column(std::string_view name, std::string_view type = "string");
  /// Plain texts, one for each column.
  void add_row(std::span<const std::string_view> texts);
  void add_row(std::initializer_list<std::string_view> texts) { add_row(std::span(texts)); }
};

/// A set without rows whose columns have texts.
ResultSet text_rows(std::initializer_list<std::string_view> columns);

/// A copy of the set, of types that outlive it, which refers to no reply.
ResultSet copy_of(const ResultSet& set);

/// The cell as plain text.
std::string cell_text(std::string_view cell);

/// The number of documents or groups that a query found.
struct TotalFound {
  std::uint64_t count = 0;
  bool is_lower_bound = false;

  /// Adds that of another shard; no sum goes beyond the largest number.
  void add(std::uint64_t more) {
    if (__builtin_add_overflow(count, more, &count))
      count = std::numeric_limits<std::uint64_t>::max();
  }
  /// Of shards that each may have stopped at the end of the page, at `stop`, as one server would:
  /// then it is what one server says.
  void cut(std::optional<std::uint64_t> stop) {
    if (stop && is_lower_bound) count = std::min(count, *stop);
  }
};

/// What SHOW META and SHOW SCROLL say of a SELECT.
struct SelectMeta {
  ResultSet rows;            ///< of SHOW META; without columns: they are not known
  std::string scroll_token;  ///< empty: there is no further page

  bool known() const { return !rows.columns.empty(); }
};

}  // namespace karmad
