#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/dialect/rows/json_path.hpp"
#include "agent/transport/http/http_syntax.hpp"
#include "config/settings/settings.hpp"

namespace karmad {

/// How the names of hidden columns begin; clients cannot use such names.
inline constexpr std::string_view kHiddenName = "karmad_";

/// A column of the shards' rows: from the left if all columns before it are known, else from the
/// right, because `*` stands for an unknown number of columns. Counted from 0 on both sides: 0 from
/// the right is the last column, hidden ones included.
struct ColumnAt {
  std::size_t at = 0;
  bool from_right = false;

  bool operator==(const ColumnAt&) const = default;
};

/// The position from the left in rows of that many columns; nothing if they have no such column.
inline std::optional<std::size_t> position(ColumnAt column, std::size_t columns) {
  if (column.at >= columns) return std::nullopt;
  return column.from_right ? columns - 1 - column.at : column.at;
}

/// One key by which hits are ordered.
struct SortKey {
  enum class By : std::uint8_t { score, id, attribute, knn_dist, hybrid_score };
  By by = By::attribute;
  bool descending = false;
  std::string name;  ///< for By::attribute: as the client wrote it, `price` or `meta.color`
  /// For By::attribute: the member of `_source` with the value, `price` or `meta`.
  std::string attribute;
  std::vector<JsonStep> path;  ///< from the attribute to the value; empty: the attribute itself
  /// Computed by the shards as `name`, which clients do not see; empty: not computed.
  std::string expression;

  bool operator==(const SortKey&) const = default;
};

/// Compares names of attributes, which are not case-sensitive.
inline bool same_attribute(std::string_view a, std::string_view b) {
  return wire::same_word(a, b);
}

/// One key by which rows are ordered.
struct RowKey {
  ColumnAt column;
  bool descending = false;
  bool as_text = false;  ///< a value inside JSON: the server compares values as texts
  /// Where `as_text`: the whole attribute and the place of the value in it, which tell the types
  /// that rows do not.
  std::optional<ColumnAt> attribute{};
  std::vector<JsonStep> steps{};
};

/// How the values of one column become one when groups of several shards are the same group.
enum class Fold : std::uint8_t {
  keep,  ///< that of the best row in the order `within`
  sum,
  smallest,
  largest,
  mean,      ///< weighted by the column `weight`
  concat,    ///< joined by commas, in the order of the shards
  distinct,  ///< counted in the result set `pairs`
};

struct FoldedColumn {
  ColumnAt column;
  Fold fold = Fold::keep;
  ColumnAt weight{};  ///< Fold::mean: number of documents behind the value
  std::optional<ColumnAt>
      sum{};              ///< Fold::mean: sum of the values; divided by `weight` it is exact
  std::size_t pairs = 0;  ///< Fold::distinct: which of SelectPlan::pairs
};

/// HAVING: what a merged column must fulfil.
struct RowCondition {
  enum class Is : std::uint8_t { less, at_most, greater, at_least, equal, unequal, between, in };
  ColumnAt column;
  Is is = Is::equal;
  bool negated = false;
  std::vector<std::string> values;  ///< numbers or unquoted texts; between: two
};

/// A column with a value inside JSON. Rows have it as a text; its type shows in the whole
/// attribute.
struct JsonCell {
  ColumnAt column;
  ColumnAt attribute;
  std::vector<JsonStep> steps;
};

/// The ORDER BY and LIMIT around a SELECT in brackets: rows that are merged are sorted and cut once
/// more. Equal rows keep their order.
struct OuterRows {
  std::vector<RowKey> order;
  std::size_t offset = 0;
  std::size_t limit = 20;
};

/// How the groups of several shards become one list.
struct GroupPlan {
  bool grouped = false;         ///< rows are groups
  std::vector<ColumnAt> group;  ///< key of a group; empty: all rows are one group
  /// GROUPBY(), the key where a column of `group` turns out to have several values.
  std::optional<ColumnAt> group_number;
  /// By key of `group`, whether it is a value inside JSON, whose strings differ by case. Where
  /// fewer are given, names and types of the columns tell.
  std::vector<bool> exact;
  std::vector<FoldedColumn> folded;
  /// Without GROUP BY: COUNT(*), where the server shows no row for aggregates of no document.
  std::optional<ColumnAt> documents;
  std::vector<RowKey> within;  ///< order of the rows of one group
  std::size_t per_group = 1;   ///< GROUP n BY
  std::optional<RowCondition> having;
  /// Rows requested of a shard in an order in which a group that it does not return may still be
  /// among the first of all shards. As many in a reply: counts may be too small. 0: exact.
  std::size_t asked = 0;
};

/// How a result set of several shards becomes one. A shard's documents are in the order `order`,
/// except that its last key, the id, may be missing.
struct RowPlan : GroupPlan {
  std::size_t hidden = 0;                 ///< number of last columns that the client does not get
  std::vector<std::string> hidden_names;  ///< what the shards call them, in their order
  /// Of a facet: number of columns behind the hidden ones that the client gets.
  std::size_t behind = 0;
  std::string facet_name;     ///< of a facet: its key's, inside of a JSON string
  std::vector<RowKey> order;  ///< rows of documents: ends with the id, so that it is total
  std::size_t offset = 0;
  std::size_t limit = 20;
  std::size_t nearest = 0;  ///< most rows found by KNN() over all shards; 0: no bound
  std::optional<std::uint64_t> stops_at{};  ///< TotalFound::cut
  /// The distance, if `order` is another order: of all rows of the shards, those that are not among
  /// the `nearest` of all shards are left out.
  std::optional<ColumnAt> distance;
  std::optional<ColumnAt> id;     ///< rows are documents, and those with the same id are one
  std::optional<ColumnAt> score;  ///< RowForm::hits: shown as `_score`
  std::vector<JsonCell> json;     ///< RowForm::hits
  /// The names of the keys of `order` in the tokens of a scroll; empty: the rows do not scroll.
  std::vector<std::string> scroll_names;

  std::optional<OuterRows> outer;
  /// Columns that the client knows by another name: inside of a JSON string, escaped.
  std::vector<std::pair<ColumnAt, std::string>> names;
};

/// Calls `visit` with each column that the plan names.
template <class Visit>
void visit_columns(RowPlan& plan, Visit visit) {
  const auto visit_keys = [&visit](std::vector<RowKey>& keys) {
    for (auto& key : keys) {
      visit(key.column);
      if (key.attribute) visit(*key.attribute);
    }
  };
  visit_keys(plan.order);
  visit_keys(plan.within);
  if (plan.outer) visit_keys(plan.outer->order);
  for (auto& json : plan.json) {
    visit(json.column);
    visit(json.attribute);
  }
  for (auto& [column, name] : plan.names) visit(column);
  for (auto& key : plan.group) visit(key);
  for (auto& folded : plan.folded) {
    visit(folded.column);
    visit(folded.weight);
    if (folded.sum) visit(*folded.sum);
  }
  for (auto* const column :
       {&plan.distance, &plan.id, &plan.score, &plan.group_number, &plan.documents})
    if (*column) visit(**column);
  if (plan.having) visit(plan.having->column);
}

/// What the pairs are grouped by. A server groups by several keys only if none of them has several
/// values; the text of such an attribute, `1,2,3`, is one value.
enum class PairsBy : std::uint8_t { values, texts };

/// A further statement to the shards, whose rows are the keys of a group and one value, each pair
/// once: the values of COUNT(DISTINCT …) are counted in the pairs of all shards.
struct PairsPlan {
  std::size_t keys = 0;   ///< first columns, the group's key; the value is the next one
  bool numbered = false;  ///< the groups have a RowPlan::group_number
  std::size_t asked =
      0;  ///< pairs requested of a shard; as many in a reply: the count is an estimate
  /// The column with a number that equal pairs have on all shards, unless a column has several
  /// values. Tells floats apart that are written alike.
  std::optional<std::size_t> number{};
  std::vector<bool> exact{};  ///< as RowPlan::exact
};

}  // namespace karmad
