#include "agent/dialect/manticore_sql/rows/fold_group.hpp"

#include "agent/dialect/manticore_json/aggregations/metrics_merge.hpp"
#include "agent/dialect/manticore_json/sort_value.hpp"
#include "agent/json/json_cursor.hpp"
#include "config/text/whole_number.hpp"

namespace karmad {

namespace {

/// A number of documents; 0 if the cell is none.
std::uint64_t documents_in(std::string_view cell) {
  return whole_number<std::uint64_t>(cell).value_or(0);
}

std::string joined(std::size_t column, GroupRows rows) {
  std::string text = "\"";
  for (const auto& row : rows) {
    const auto cell = row[column];
    if (!is_string(cell) || cell.size() == 2) continue;
    if (text.size() > 1) text += ',';
    text += without_quotes(cell);
  }
  return text + '"';
}

std::vector<Measured> measured(std::size_t column, std::optional<std::size_t> documents,
                               GroupRows rows) {
  std::vector<Measured> values;
  values.reserve(rows.size());
  for (const auto& row : rows)
    values.push_back({row[column], documents ? documents_in(row[*documents]) : 1});
  return values;
}

/// The text, unless it says that there is no number to show.
std::string number_or_none(std::string text) {
  return text == "null" ? std::string() : text;
}

std::string mean_of_rows(const FoldColumn& column, GroupRows rows) {
  const auto means = measured(column.column, column.weight, rows);
  if (!column.sum) return number_or_none(merge_metric(Merging::mean, means));
  std::vector<MeasuredMean> with_sums;
  with_sums.reserve(rows.size());
  for (std::size_t r = 0; r < rows.size(); ++r)
    with_sums.push_back({means[r], rows[r][*column.sum]});
  return number_or_none(exact_mean(with_sums));
}

/// The smallest or largest value; of equal strings the first. Rows without documents do not count.
std::string extreme_of_rows(const FoldColumn& column, GroupRows rows, Collation collation) {
  std::string_view best;
  SortValue best_value;
  for (const auto& row : rows) {
    if (column.counts && documents_in(row[*column.counts]) == 0) continue;
    const auto value = sort_value(row[column.column]);
    if (value.kind == SortValue::Kind::missing) continue;
    const auto order = compare(value, best_value, collation);
    if (!best.empty() && (column.fold == Fold::largest ? order <= 0 : order >= 0)) continue;
    best = row[column.column];
    best_value = value;
  }
  return std::string(best);
}

}  // namespace

std::string folded_value(const FoldColumn& column, GroupRows rows, Collation collation) {
  switch (column.fold) {
    case Fold::sum:
      return number_or_none(
          merge_metric(Merging::sum, measured(column.column, std::nullopt, rows)));
    case Fold::smallest:
    case Fold::largest:
      return extreme_of_rows(column, rows, collation);
    case Fold::mean:
      return mean_of_rows(column, rows);
    case Fold::concat:
      return joined(column.column, rows);
    case Fold::keep:
    case Fold::distinct:
      break;
  }
  return {};
}

}  // namespace karmad
