#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/manticore_sql/rows/row_plan.hpp"
#include "agent/dialect/manticore_sql/select/select_item.hpp"

namespace karmad {

/// Gives hidden columns their names, which are unique within one statement.
class HiddenNames {
 public:
  std::string next() { return std::string(kHiddenName) + std::to_string(next_++); }

 private:
  std::size_t next_ = 0;
};

/// The columns of a shard's rows: the client's items and, after them, hidden columns. Until
/// settle() a ColumnAt counts from the left also where it is marked `from_right`.
class ShardColumns {
 public:
  /// Both must outlive this.
  ShardColumns(const std::vector<SelectItem>& items, HiddenNames& names);

  /// The client's item that has this name, else one with this expression.
  const SelectItem* item(const SelectItem& wanted) const;

  /// The column with the values of an expression; adds a hidden one if there is none.
  ColumnAt of(const SelectItem& wanted);
  /// The same for an expression written here.
  ColumnAt of(std::string_view text, std::string_view canonical_text,
              std::optional<Fold> fold = std::nullopt);

  /// How other clauses name the expression; adds a hidden column if it has no name yet.
  std::string name_of(const SelectItem& wanted);

  /// Whether the values are those of a JSON path, which the server orders as texts.
  bool holds_path(const SelectItem& wanted) const;

  /// The aggregates among all columns, hidden ones included.
  struct Aggregated {
    ColumnAt column;
    Fold fold;
    SqlSpan argument;  ///< empty: of a hidden column written here
  };
  std::vector<Aggregated> aggregated() const;

  std::size_t hidden() const { return hidden_.size(); }
  std::vector<std::string> hidden_names() const;
  /// `, expression AS karmad_0` for each hidden column.
  std::string written() const;

  /// Replaces the position by the final one. Call it when all columns are known.
  void settle(ColumnAt& column) const;
  void settle(RowKey& key) const;
  /// The final position of the client's item of that number.
  ColumnAt settled(std::size_t item) const;

 private:
  struct Hidden {
    std::string text;
    std::string canonical;
    std::string name;
    std::optional<Fold> fold;
    SqlSpan argument;
  };
  ColumnAt column_at(std::size_t index) const;
  const Hidden* hidden_with(std::string_view canonical_text) const;
  const Hidden& add(const SelectItem& wanted);

  const std::vector<SelectItem>& items_;
  HiddenNames& names_;
  std::optional<std::size_t> star_;  // index of `*`
  std::vector<Hidden> hidden_;
};

}  // namespace karmad
