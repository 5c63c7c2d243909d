#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/request/sql_span.hpp"
#include "agent/dialect/rows/row_plan.hpp"

namespace karmad {

/// An aggregate function of SQL. COUNT(*) is a sum over shards.
struct Aggregate {
  Fold fold = Fold::sum;
  SqlSpan argument;
};

/// One item of a select list, or an expression that is treated like one.
struct SelectItem {
  SqlSpan expression;             ///< without the alias
  std::string canonical;          ///< of the expression
  std::string alias{};            ///< in its canonical form; empty: none
  std::string_view alias_text{};  ///< as the client wrote it
  std::optional<Aggregate> aggregate{};
  std::string shown{};  ///< the client's alias, where `alias` is a hidden one in its place

  /// What the client calls the result; empty: it has no alias.
  const std::string& name() const { return shown.empty() ? alias : shown; }
  bool is_star() const { return canonical == "*"; }
};

/// Reads an expression. Refuses (501) aggregates within an expression, whose result cannot be
/// computed from the results of shards, and aggregates that cannot be merged at all.
std::expected<SelectItem, ClientError> read_expression(SqlSpan tokens);

/// Reads one item: an expression, AS and an alias; AS may be left out.
std::expected<SelectItem, ClientError> read_item(SqlSpan tokens);

/// Reads a select list.
std::expected<std::vector<SelectItem>, ClientError> read_items(SqlSpan tokens);

/// One key of ORDER BY.
struct OrderKey {
  SelectItem by;
  bool descending = false;
};

/// Reads the keys of ORDER BY; refuses (400) more than any server sorts by.
std::expected<std::vector<OrderKey>, ClientError> read_order(SqlSpan tokens);

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

/// Most pairs of a group's key and a value that a shard is asked for. Below it COUNT(DISTINCT …) is
/// exact; 100 000 rows of two numbers are about 9 MB of reply.
inline constexpr std::size_t kMostPairs = 100'000;

/// The statement whose rows are the keys of a group and one value, each pair once: `SELECT keys,
/// value` and what follows the table, up to its LIMIT.
struct PairsText {
  std::string list;
  std::string group;
  bool numbered = false;  ///< the second column behind the value is a number of the pair

  std::size_t size() const { return list.size() + group.size(); }
};

/// Most statements of pairs of one SELECT: each repeats its WHERE, and is a search of its own. Some
/// servers take at most 32 statements at once (max_batch_queries).
inline constexpr std::size_t kMostPairsStatements = 16;
/// Most bytes of all of them together, where there are several.
inline constexpr std::size_t kLongestPairsTexts = 4 << 20;

/// The aliases of a select list, and whether WHERE uses one.
class ListAliases {
 public:
  ListAliases(const std::vector<SelectItem>& items, std::string_view where);

  bool are_in_where() const { return are_in_where_; }
  /// Whether a name in the text is one of them.
  bool are_in(std::string_view text) const;

 private:
  std::set<std::string> names_;
  bool are_in_where_;
};

/// What the pairs are grouped by. A server groups by several keys only if none of them has several
/// values; the text of such an attribute, `1,2,3`, is one value.
enum class PairsBy : std::uint8_t { values, texts };

/// `items`: the select list, whose aliases may be used by keys, value and WHERE.
PairsText write_pairs(const std::vector<SelectItem>& keys, const SelectItem& value,
                      const std::vector<SelectItem>& items, const ListAliases& aliases,
                      HiddenNames& names, PairsBy by);

}  // namespace karmad
