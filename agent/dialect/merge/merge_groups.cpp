#include "agent/dialect/merge/merge_groups.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <limits>
#include <unordered_map>

#include "agent/dialect/merge/merged_rows.hpp"
#include "agent/dialect/merge/metrics.hpp"
#include "agent/dialect/rows/sort_value.hpp"
#include "agent/json/json_cursor.hpp"
#include "agent/json/json_line.hpp"
#include "agent/json/json_text.hpp"
#include "agent/json/keyed_hash.hpp"
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

std::optional<JsonNumber> number_of_having(std::string_view text) {
  const auto digits = text.substr(text.starts_with('-') ? 1 : 0);
  if (digits.find_first_of("0123456789.") != 0) return std::nullopt;  // inf and nan
  double value = 0;
  const auto* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc{} || read.ptr != end) return std::nullopt;
  return json_number(text);
}

Having::Having(const RowCondition& condition, Collation collation)
    : condition_(condition), collation_(collation), values_(condition.values.size()) {
  for (std::size_t v = 0; v < values_.size(); ++v) {
    auto& value = values_[v];
    const auto& text = condition.values[v];
    JsonLine(value.escaped).add_escaped(text);
    value.text = {.kind = SortValue::Kind::text, .text = value.escaped};
    if (const auto number = number_of_having(text))
      value.number = SortValue{.kind = SortValue::Kind::number, .number = *number};
  }
}

bool Having::holds(std::string_view cell) const {
  const auto value = sort_value(cell);
  return value.kind != SortValue::Kind::missing && fulfils(value) != condition_.negated;
}

bool Having::compares(const SortValue& cell, std::size_t value, bool less, bool equal,
                      bool greater) const {
  if (value >= values_.size()) return false;
  const auto& with = values_[value];
  const bool numbers = cell.kind == SortValue::Kind::number;
  if (numbers && !with.number) return false;
  const auto order = compare(cell, numbers ? *with.number : with.text, collation_);
  return order < 0 ? less : order > 0 ? greater : equal;
}

bool Having::fulfils(const SortValue& cell) const {
  using Is = RowCondition::Is;
  switch (condition_.is) {
    case Is::less:
      return compares(cell, 0, true, false, false);
    case Is::at_most:
      return compares(cell, 0, true, true, false);
    case Is::greater:
      return compares(cell, 0, false, false, true);
    case Is::at_least:
      return compares(cell, 0, false, true, true);
    case Is::equal:
      return compares(cell, 0, false, true, false);
    case Is::unequal:
      return compares(cell, 0, true, false, true);
    case Is::between:
      return compares(cell, 0, false, true, true) && compares(cell, 1, true, true, false);
    case Is::in:
      break;
  }
  for (std::size_t v = 0; v < values_.size(); ++v)
    if (compares(cell, v, false, true, false)) return true;
  return false;
}

namespace {

constexpr std::uint32_t kNoRow = std::numeric_limits<std::uint32_t>::max();

/// The rows of one group, as a list through GroupMerge::next_.
struct RowGroup {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

/// A group of the answer: rows `begin` to `end` of GroupMerge::kept_.
struct KeptGroup {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool exact = true;  ///< each shard that may have more groups has returned this one
};

class GroupMerge {
 public:
  GroupMerge(const RawReplies& replies, std::size_t set, const RowPlan& plan, Collation collation,
             std::span<const DistinctPairs> pairs)
      : replies_(replies), set_(set), plan_(plan), collation_(collation), pairs_(pairs) {}

  std::expected<MergedRows, BadReply> run() {
    const CommonColumns common(replies_, set_);
    rows_.columns = common.columns();
    if (!find_columns()) return bad(first_shard(), "its rows lack columns that were requested");
    for (std::size_t s = 0; s < replies_.shards(); ++s) {
      shard_begin_.push_back(static_cast<std::uint32_t>(rows_.count));
      if (!append_rows(replies_, s, set_, common, rows_, [] {}))
        return bad(s, "a row is malformed");
      if (rows_.count >= kNoRow) return bad(s, "it has too many rows");
    }
    shard_begin_.push_back(static_cast<std::uint32_t>(rows_.count));
    groups_of_shard_.resize(replies_.shards());
    for (std::size_t s = 0; s < replies_.shards(); ++s) full_shards_ += is_full(s) ? 1 : 0;
    find_groups();
    for (const auto& group : groups_) fold(group);
    order_groups();
    return page();
  }

 private:
  static std::unexpected<BadReply> bad(std::size_t shard, const char* reason) {
    return std::unexpected(BadReply{shard, reason});
  }

  std::size_t first_shard() const {
    std::size_t shard = 0;
    while (shard + 1 < replies_.shards() && replies_.set(shard, set_).columns == 0) ++shard;
    return shard;
  }

  /// Finds the positions of the columns that the plan names.
  bool find_columns() {
    const auto width = rows_.columns.size();
    bool found = true;
    const auto at = [&](ColumnAt column) {
      const auto place = position(column, width);
      found &= place.has_value();
      return place.value_or(0);
    };
    const auto has_list = [&](ColumnAt key) { return rows_.columns[at(key)].has_several_values(); };
    const bool lists = std::ranges::any_of(plan_.group, has_list);
    const auto& number = plan_.group_number;
    keys_are_lists_ = lists && !number;
    for (const auto key : lists&& number ? std::span(&*number, 1) : std::span(plan_.group)) {
      key_columns_.push_back(at(key));
      kinds_.push_back(plan_.exact ? KeyKind::json_path
                                   : RowKeyText::kind_of(rows_.columns[key_columns_.back()]));
    }
    for (std::size_t c = 0; c < width; ++c)
      if (rows_.columns[c].name == "count(*)") counts_ = c;
    for (const auto& folded : plan_.folded)
      if (folded.fold == Fold::mean) counts_ = at(folded.weight);
    if (plan_.documents) counts_ = at(*plan_.documents);
    for (const auto& folded : plan_.folded) {
      FoldColumn column{.fold = folded.fold, .column = at(folded.column), .counts = counts_};
      if (folded.fold == Fold::mean) column.weight = at(folded.weight);
      if (folded.sum) column.sum = at(*folded.sum);
      if (folded.fold == Fold::distinct) found &= folded.pairs < pairs_.size();
      folds_.push_back(column);
    }
    if (plan_.having) {
      having_.emplace(*plan_.having, collation_);
      having_column_ = at(plan_.having->column);
    }
    found &= order_.add(plan_.order, width) && within_.add(plan_.within, width);
    return found;
  }

  /// Whether the shard may have more groups than it returned.
  bool is_full(std::size_t shard) const {
    return plan_.asked != 0 && shard_begin_[shard + 1] - shard_begin_[shard] >= plan_.asked;
  }

  std::size_t shard_of(std::uint32_t row) const {
    const auto after = std::ranges::upper_bound(shard_begin_, row);
    return static_cast<std::size_t>(after - shard_begin_.begin()) - 1;
  }

  void find_groups() {
    // By the hash of the key's text; groups with the same hash are told apart by the text.
    std::unordered_multimap<std::uint64_t, std::uint32_t> known;
    next_.assign(rows_.count, kNoRow);
    RowKeyText key(collation_);
    RowKeyText other(collation_);
    const auto write_key = [this](RowKeyText& text, std::uint32_t row) {
      text.clear();
      for (std::size_t k = 0; k < key_columns_.size(); ++k)
        text.add(rows_.row(row)[key_columns_[k]], kinds_[k]);
    };
    for (std::uint32_t row = 0; row < rows_.count; ++row) {
      write_key(key, row);
      const auto hash = KeyedHash{}(key.text());
      auto [at, end] = known.equal_range(hash);
      for (; at != end; ++at) {
        write_key(other, groups_[at->second].first);
        if (other.text() == key.text()) break;
      }
      if (at == end) {
        known.emplace(hash, static_cast<std::uint32_t>(groups_.size()));
        groups_.push_back({row, row});
      } else {
        auto& group = groups_[at->second];
        next_[group.last] = row;
        group.last = row;
      }
    }
  }

  /// Keeps the best rows of a group, with the values of all its rows folded into them.
  void fold(const RowGroup& group) {
    KeptGroup kept{.begin = kept_.size()};
    one_per_shard_.clear();
    std::size_t full = 0;
    auto shard_before = std::numeric_limits<std::size_t>::max();
    for (auto row = group.first; row != kNoRow; row = next_[row]) {
      kept_.push_back(row);
      const auto shard = shard_of(row);
      const bool first_of_shard = shard != shard_before;
      // With GROUP n BY each row of a group has the values of the whole group.
      if (first_of_shard || plan_.per_group == 1) one_per_shard_.push_back(rows_.row(row));
      if (first_of_shard) ++groups_of_shard_[shard];
      if (first_of_shard && is_full(shard)) ++full;
      shard_before = shard;
    }
    kept.exact = full == full_shards_;
    within_.sort(rows_, collation_, std::span(kept_).subspan(kept.begin));
    kept_.resize(std::min(kept_.size(), kept.begin + std::max<std::size_t>(plan_.per_group, 1)));
    kept.end = kept_.size();
    fold_values(kept);
    if (is_empty_group(kept) || (having_ && !having_->holds(cell(kept.begin, having_column_)))) {
      kept_.resize(kept.begin);
      return;
    }
    ordered_.push_back(kept);
  }

  bool is_empty_group(const KeptGroup& kept) {
    return plan_.documents && cell(kept.begin, *counts_) == "0";
  }

  std::string_view& cell(std::size_t kept, std::size_t column) {
    return rows_.cells[kept_[kept] * rows_.columns.size() + column];
  }

  void fold_values(const KeptGroup& kept) {
    made_.assign(folds_.size(), {});
    for (std::size_t f = 0; f < folds_.size(); ++f) {
      if (folds_[f].fold == Fold::distinct)
        made_[f] = distinct_values(f, kept.begin);
      else if (one_per_shard_.size() > 1)
        made_[f] = folded_value(folds_[f], one_per_shard_, collation_);
    }
    for (std::size_t f = 0; f < folds_.size(); ++f) {
      if (made_[f].empty()) continue;
      const std::string_view value = rows_.made.emplace_front(std::move(made_[f]));
      for (auto row = kept.begin; row < kept.end; ++row) cell(row, folds_[f].column) = value;
    }
  }

  /// Empty: the pairs of that group are unknown.
  std::string distinct_values(std::size_t fold, std::size_t kept) {
    const auto& pairs = pairs_of(fold);
    key_.clear();
    if (pairs.by_group())
      for (const auto column : key_columns_) key_.push_back(cell(kept, column));
    auto values = pairs.values_of(key_);
    if (!pairs.by_group()) {
      std::uint64_t counted = 0;
      for (const auto& row : one_per_shard_)
        counted += json_number(row[folds_[fold].column]).magnitude;
      values = std::min(values, counted);
    }
    return values == 0 ? std::string() : fmt::format("{}", values);
  }

  const DistinctPairs& pairs_of(std::size_t fold) const { return pairs_[plan_.folded[fold].pairs]; }

  void order_groups() {
    std::vector<std::uint32_t> heads;
    for (const auto& group : ordered_) heads.push_back(kept_[group.begin]);
    std::vector<std::uint32_t> places(heads.size());
    for (std::uint32_t i = 0; i < places.size(); ++i) places[i] = i;
    order_.sort_by(rows_, collation_, heads, places);
    std::vector<KeptGroup> sorted;
    sorted.reserve(places.size());
    for (const auto place : places) sorted.push_back(ordered_[place]);
    ordered_ = std::move(sorted);
  }

  MergedRows page() {
    MergedRows merged;
    merged.columns = rows_.columns;
    merged.hidden = plan_.hidden;
    merged.behind = plan_.behind;
    merged.groups = ordered_.size();
    merged.groups_of_shard = std::move(groups_of_shard_);
    std::size_t walked = 0;
    bool exact = true;
    for (const auto& group : ordered_) {
      for (auto row = group.begin; row < group.end && merged.count < plan_.limit; ++row) {
        if (walked++ < plan_.offset) continue;
        const auto cells = rows_.row(kept_[row]);
        merged.cells.insert(merged.cells.end(), cells.begin(), cells.end());
        ++merged.count;
        exact &= group.exact;
      }
      if (merged.count >= plan_.limit) break;
    }
    merged.made = std::move(rows_.made);
    for (const auto& [column, name] : plan_.names)
      if (const auto at = position(column, merged.columns.size()))
        merged.columns[*at].name = merged.made.emplace_front(name);
    merged.estimate = estimate(merged, exact);
    return merged;
  }

  std::string estimate(const ResultSet& merged, bool exact) const {
    std::string names;
    std::string reasons;
    for (std::size_t f = 0; f < folds_.size(); ++f) {
      if (folds_[f].fold == Fold::keep || !merged.shows(folds_[f].column)) continue;
      const auto reason = why_estimated(f, exact);
      if (reason.empty()) continue;
      names += fmt::format("{}{}", names.empty() ? "" : ", ",
                           json_unescaped(merged.columns[folds_[f].column].name));
      if (reasons.find(reason) == reasons.npos) reasons.append("; ").append(reason);
    }
    return names.empty() ? names : "estimated: " + names + reasons;
  }

  /// Empty: the column is exact.
  std::string_view why_estimated(std::size_t fold, bool exact) const {
    const bool distinct = folds_[fold].fold == Fold::distinct;
    if (distinct ? pairs_of(fold).may_be_short() : !exact)
      return "a shard returned as many rows as were requested of it and may have more";
    if (distinct && !pairs_of(fold).by_group())
      return "the groups have several keys, one of them with several values";
    if (keys_are_lists_) return "the facet is BY an attribute with several values";
    return {};
  }

  const RawReplies& replies_;
  std::size_t set_;
  const RowPlan& plan_;
  Collation collation_;
  std::span<const DistinctPairs> pairs_;

  ResultSet rows_;                          // of all shards, in their order
  std::vector<std::uint32_t> shard_begin_;  // by shard, its first row; then the number of rows
  std::size_t full_shards_ = 0;
  bool keys_are_lists_ = false;  // a group of one value has the list of any of its documents
  std::vector<std::size_t> key_columns_;
  std::vector<KeyKind> kinds_;  // of the parts of the key
  std::vector<FoldColumn> folds_;
  std::optional<std::size_t> counts_;  // column with the number of documents of a group
  std::optional<Having> having_;
  std::size_t having_column_ = 0;
  RowOrder order_;
  RowOrder within_;
  std::vector<RowGroup> groups_;
  std::vector<std::uint32_t> next_;  // by row, the next row of its group
  std::vector<std::uint32_t> kept_;  // rows, group by group
  std::vector<KeptGroup> ordered_;
  std::vector<std::uint64_t> groups_of_shard_;
  // Of the group being folded.
  std::vector<std::span<const std::string_view>> one_per_shard_;
  std::vector<std::string> made_;
  std::vector<std::string_view> key_;
};

}  // namespace

std::expected<MergedRows, BadReply> merge_groups(const RawReplies& replies, std::size_t set,
                                                 const RowPlan& plan, Collation collation,
                                                 std::span<const DistinctPairs> pairs) {
  return GroupMerge(replies, set, plan, collation, pairs).run();
}

}  // namespace karmad
