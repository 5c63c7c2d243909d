#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "agent/dialect/merge/merged_rows.hpp"
#include "agent/dialect/replies/infinities.hpp"
#include "agent/json/json_cursor.hpp"
#include "agent/json/json_line.hpp"
#include "agent/json/json_text.hpp"
#include "agent/json/keyed_hash.hpp"
#include "config/text/number_in.hpp"
#include "config/text/source_text.hpp"

namespace karmad {

namespace {

std::unexpected<BadReply> bad(std::size_t shard, const char* reason) {
  return std::unexpected(BadReply{shard, reason});
}

__extension__ typedef __int128 Wide;  // sums of 64-bit integers of many shards

constexpr std::size_t kMostDecimals = 400;  // most that are shown; few doubles have more

std::size_t decimals_of(std::string_view value) {
  const auto point = value.find('.');
  if (point == value.npos) return 0;
  const auto end = value.find_first_not_of("0123456789", point + 1);
  return std::min(std::min(end, value.size()) - point - 1, kMostDecimals);
}

/// The format of the shards for real numbers.
struct RealFormat {
  std::size_t decimals = 0;
  bool exponent = false;
  bool infinite = false;  ///< a shard has such a value

  void see(std::string_view number) {
    infinite |= is_infinity(number);
    decimals = std::max(decimals, decimals_of(number));
    exponent |= number.find_first_of("eE") != number.npos;
  }
  std::string text(long double value) const {
    // In the order of rows it is infinite; merge_with_infinities() makes it null then.
    if (infinite && std::isinf(value))
      return std::string(std::signbit(value) ? kMinusInfinity : kInfinity);
    // A value beyond the range of double is not a valid number for JSON readers.
    if (!std::isfinite(static_cast<double>(value))) return "null";
    if (exponent) return fmt::format("{}", static_cast<double>(value));
    return fmt::format("{:.{}f}", value, decimals);
  }
};

std::string sum_over(std::span<const Measured> shards, SumOf of) {
  RealFormat format;
  bool any = false;
  bool exact = true;
  Wide whole = 0;
  long double real = 0;
  for (const auto& shard : shards) {
    if (!is_json_number(shard.value)) continue;
    const auto number = json_number(shard.value);
    any = true;
    format.see(shard.value);
    real += as_real(number);
    exact &= number.integer;
    const auto magnitude = static_cast<Wide>(number.magnitude);
    if (number.integer) whole += number.negative ? -magnitude : magnitude;
  }
  if (!any) return {};
  if (exact && of == SumOf::whole) return fmt::to_string(static_cast<std::int64_t>(whole));
  if (exact) return fmt::format("{}", whole);
  return format.text(of == SumOf::floats ? static_cast<float>(real) : real);
}

/// The sum of the values behind a shard's mean.
std::optional<long double> sum_behind(const Measured& mean) {
  const auto documents = static_cast<long double>(mean.documents);
  if (documents == 0) return std::nullopt;
  const auto summed = is_json_number(mean.sum) ? std::optional(as_real(json_number(mean.sum)))
                                               : std::optional<long double>();
  if (!is_json_number(mean.value)) return summed;
  const auto product = as_real(json_number(mean.value)) * documents;
  // Half of the mean's last digit, and what doubles lose when they are added.
  const auto rounding =
      documents * 0.5L * std::pow(10.0L, -static_cast<long double>(decimals_of(mean.value))) +
      std::abs(product) * 1e-12L;
  return summed && std::abs(*summed - product) <= rounding ? *summed : product;
}

std::string mean_of(std::span<const Measured> shards) {
  RealFormat format;
  bool any = false;
  bool with_sums = false;
  long double sum = 0;
  long double documents = 0;
  for (const auto& shard : shards) {
    const auto added = sum_behind(shard);
    if (!added && shard.sum.empty()) continue;
    format.see(shard.value);
    with_sums |= !shard.sum.empty();
    documents += static_cast<long double>(shard.documents);
    any |= added.has_value();
    sum += added.value_or(0);
  }
  if (!any) return {};
  // The server divides doubles: of large numbers it shows their digits.
  const auto mean = sum / documents;
  return format.text(with_sums ? static_cast<double>(mean) : mean);
}

std::string extreme_of(std::span<const Measured> shards, bool largest, Collation collation) {
  std::string_view best;
  SortValue best_value;
  for (const auto& shard : shards) {
    if (shard.documents == 0) continue;
    const auto value = sort_value(shard.value);
    if (value.kind == SortValue::Kind::missing) continue;
    const auto order = compare(value, best_value, collation);
    if (!best.empty() && (largest ? order <= 0 : order >= 0)) continue;
    best = shard.value;
    best_value = value;
  }
  return std::string(best);
}

/// The strings joined by commas, without empty ones.
std::string joined_texts(std::span<const Measured> shards) {
  std::string text = "\"";
  for (const auto& shard : shards) {
    if (!is_string(shard.value) || shard.value.size() == 2) continue;
    if (text.size() > 1) text += ',';
    text += without_quotes(shard.value);
  }
  return text + '"';
}

}  // namespace

std::string folded(Fold fold, std::span<const Measured> values, Collation collation, SumOf sum_of) {
  if (fold == Fold::sum) return sum_over(values, sum_of);
  if (fold == Fold::mean) return mean_of(values);
  if (fold == Fold::concat) return joined_texts(values);
  if (fold != Fold::smallest && fold != Fold::largest) return {};
  return extreme_of(values, fold == Fold::largest, collation);
}

std::optional<JsonNumber> number_of_having(std::string_view text) {
  const auto digits = text.substr(text.starts_with('-') ? 1 : 0);
  const bool is_finite = digits.find_first_of("0123456789.") == 0;  // not inf and nan
  return is_finite && number_in<double>(text) ? std::optional(json_number(text)) : std::nullopt;
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

bool Having::fulfils(const SortValue& cell) const {
  const bool numbers = cell.kind == SortValue::Kind::number;
  const auto order = [&](const Value& with) -> std::partial_ordering {
    if (numbers && !with.number) return std::partial_ordering::unordered;
    return compare(cell, numbers ? *with.number : with.text, collation_);
  };
  using Is = RowCondition::Is;
  if (condition_.is == Is::in)
    return std::ranges::any_of(values_, [&](const Value& with) { return order(with) == 0; });
  if (values_.empty()) return false;
  const auto is = condition_.is;
  const auto first = order(values_.front());
  if (is == Is::between) return first >= 0 && values_.size() > 1 && order(values_[1]) <= 0;
  if (first < 0) return is == Is::less || is == Is::at_most || is == Is::unequal;
  if (first > 0) return is == Is::greater || is == Is::at_least || is == Is::unequal;
  return first == 0 && (is == Is::equal || is == Is::at_most || is == Is::at_least);
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
      if (!append_rows(replies_, s, set_, common, rows_)) return bad(s, "a row is malformed");
      if (rows_.count >= kNoRow) return bad(s, "it has too many rows");
    }
    shard_begin_.push_back(static_cast<std::uint32_t>(rows_.count));
    groups_of_shard_.resize(replies_.shards());
    for (std::size_t s = 0; s < replies_.shards(); ++s) full_shards_ += is_full(s) ? 1 : 0;
    find_groups();
    for (const auto& group : groups_) fold(group);
    sort_rows(plan_.order, rows_, collation_, std::span(ordered_),
              [this](const KeptGroup& group) { return kept_[group.begin]; });
    return page();
  }

 private:
  std::size_t first_shard() const {
    std::size_t shard = 0;
    while (shard + 1 < replies_.shards() && replies_.set(shard, set_).columns == 0) ++shard;
    return shard;
  }

  /// Finds the positions of the columns that the plan names.
  // NOLINTNEXTLINE(readability-function-cognitive-complexity)
  bool find_columns() {
    const auto width = rows_.columns.size();
    if (width == 0) return false;  // the shards have no column in common
    bool found = true;
    const auto at = [&](ColumnAt column) {
      const auto place = position(column, width);
      found &= place.has_value();
      return place.value_or(0);
    };
    const auto has_list = [&](ColumnAt key) { return rows_.columns[at(key)].has_several_values(); };
    const auto is_real = [&](ColumnAt key) {
      const auto type = rows_.columns[at(key)].type;
      return type == "float" || type == "double";
    };
    const bool lists = std::ranges::any_of(plan_.group, has_list);
    const auto& number = plan_.group_number;
    keys_are_lists_ = lists && !number;
    keys_are_reals_ = number && std::ranges::any_of(plan_.group, is_real);
    const bool by_number = number && (lists || keys_are_reals_);
    const auto keys = [&](bool numbered) {
      return numbered ? std::span(&*number, 1) : std::span(plan_.group);
    };
    for (const auto key : keys(number && lists)) pair_columns_.push_back(at(key));
    for (const auto key : keys(by_number)) {
      const auto k = key_columns_.size();
      const bool exact = !by_number && k < plan_.exact.size() && plan_.exact[k];
      key_columns_.push_back(at(key));
      kinds_.push_back(exact ? KeyKind::json_path
                             : RowKeyText::kind_of(rows_.columns[key_columns_.back()]));
    }
    for (std::size_t c = 0; c < width; ++c)
      if (rows_.columns[c].name == "count(*)") counts_ = c;
    for (const auto& folded : plan_.folded) {
      at(folded.column);
      if (folded.fold == Fold::mean) counts_ = at(folded.weight);
      if (folded.sum) at(*folded.sum);
      if (folded.fold == Fold::distinct) found &= folded.pairs < pairs_.size();
    }
    if (plan_.documents) counts_ = at(*plan_.documents);
    if (plan_.having) {
      having_.emplace(*plan_.having, collation_);
      having_column_ = at(plan_.having->column);
    }
    return found && have_columns(plan_.order, width) && have_columns(plan_.within, width);
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
    std::unordered_map<std::string, std::uint32_t, KeyedHash> known;  // by the text of the key
    next_.assign(rows_.count, kNoRow);
    RowKeyText key(collation_);
    for (std::uint32_t row = 0; row < rows_.count; ++row) {
      key.clear();
      for (std::size_t k = 0; k < key_columns_.size(); ++k)
        key.add(rows_.row(row)[key_columns_[k]], kinds_[k]);
      const auto [place, is_new] =
          known.try_emplace(std::string(key.text()), static_cast<std::uint32_t>(groups_.size()));
      if (is_new) {
        groups_.push_back({row, row});
      } else {
        auto& group = groups_[place->second];
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
    sort_rows(plan_.within, rows_, collation_, std::span(kept_).subspan(kept.begin),
              [](std::uint32_t row) { return row; });
    kept_.resize(std::min(kept_.size(), kept.begin + std::max<std::size_t>(plan_.per_group, 1)));
    kept.end = kept_.size();
    fold_values(kept);
    const bool is_empty = plan_.documents && cell(kept.begin, *counts_) == "0";
    if (is_empty || (having_ && !having_->holds(cell(kept.begin, having_column_)))) {
      kept_.resize(kept.begin);
      return;
    }
    ordered_.push_back(kept);
  }

  std::string_view& cell(std::size_t kept, std::size_t column) {
    return rows_.cells[kept_[kept] * rows_.columns.size() + column];
  }

  void fold_values(const KeptGroup& kept) {
    made_.clear();
    for (const auto& folded : plan_.folded)
      made_.push_back(folded.fold == Fold::distinct ? distinct_values(folded, kept.begin)
                      : one_per_shard_.size() > 1   ? value_of_rows(folded)
                                                    : std::string());
    for (std::size_t f = 0; f < made_.size(); ++f) {
      if (made_[f].empty()) continue;
      const std::string_view value = rows_.made.emplace_front(std::move(made_[f]));
      const auto column = at(plan_.folded[f].column);
      for (auto row = kept.begin; row < kept.end; ++row) cell(row, column) = value;
    }
  }

  /// The position of a column that there is.
  std::size_t at(ColumnAt column) const { return *position(column, rows_.columns.size()); }

  /// Empty: that of the first row.
  std::string value_of_rows(const FoldedColumn& folded) {
    if (folded.fold == Fold::keep) return {};
    const auto documents = folded.fold == Fold::mean ? at(folded.weight) : counts_;
    measured_.clear();
    for (const auto& row : one_per_shard_)
      measured_.push_back({row[at(folded.column)],
                           documents ? number_in<std::uint64_t>(row[*documents]).value_or(0) : 1,
                           folded.sum ? row[at(*folded.sum)] : std::string_view()});
    const auto type = rows_.columns[at(folded.column)].type;
    const auto sum_of = type == "long long" ? SumOf::whole
                        : type == "float"   ? SumOf::floats
                                            : SumOf::numbers;
    return karmad::folded(folded.fold, measured_, collation_, sum_of);
  }

  /// Empty: the pairs of that group are unknown.
  std::string distinct_values(const FoldedColumn& folded, std::size_t kept) {
    const auto& pairs = pairs_[folded.pairs];
    key_.clear();
    if (pairs.by_group())
      for (const auto column : pair_columns_) key_.push_back(cell(kept, column));
    auto values = pairs.values_of(key_);
    if (!pairs.by_group() || keys_are_reals_) {  // the pairs are those of further groups, too
      std::uint64_t counted = 0;
      for (const auto& row : one_per_shard_)
        counted += json_number(row[at(folded.column)]).magnitude;
      values = std::min(values, counted);
    }
    return values == 0 ? std::string() : fmt::to_string(values);
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
    for (const auto& folded : plan_.folded) {
      if (folded.fold == Fold::keep || !merged.shows(at(folded.column))) continue;
      const auto reason = why_estimated(folded, exact);
      if (reason.empty()) continue;
      names += fmt::format("{}{}", names.empty() ? "" : ", ",
                           json_unescaped(merged.columns[at(folded.column)].name));
      if (reasons.find(reason) == reasons.npos) reasons.append("; ").append(reason);
    }
    return names.empty() ? names : "estimated: " + names + reasons;
  }

  /// Empty: the column is exact.
  std::string_view why_estimated(const FoldedColumn& folded, bool exact) const {
    const bool distinct = folded.fold == Fold::distinct;
    if (distinct ? pairs_[folded.pairs].may_be_short() : !exact)
      return "a shard returned as many rows as were requested of it and may have more";
    if (distinct && !pairs_[folded.pairs].by_group())
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
  bool keys_are_reals_ = false;  // groups that are written alike, with a number of each
  std::vector<std::size_t> key_columns_;
  std::vector<std::size_t> pair_columns_;  // the keys of the group in pairs
  std::vector<KeyKind> kinds_;             // of the parts of the key
  std::optional<std::size_t> counts_;      // column with the number of documents of a group
  std::optional<Having> having_;
  std::size_t having_column_ = 0;
  std::vector<RowGroup> groups_;
  std::vector<std::uint32_t> next_;  // by row, the next row of its group
  std::vector<std::uint32_t> kept_;  // rows, group by group
  std::vector<KeptGroup> ordered_;
  std::vector<std::uint64_t> groups_of_shard_;
  // Of the group being folded.
  std::vector<std::span<const std::string_view>> one_per_shard_;
  std::vector<Measured> measured_;
  std::vector<std::string> made_;
  std::vector<std::string_view> key_;
};

}  // namespace

std::expected<MergedRows, BadReply> merge_groups(const RawReplies& replies, std::size_t set,
                                                 const RowPlan& plan, Collation collation,
                                                 std::span<const DistinctPairs> pairs) {
  return GroupMerge(replies, set, plan, collation, pairs).run();
}

namespace {

/// Bounds the memory where rows have columns of several values: 6 MB for each shard, like a reply.
constexpr std::size_t kMostPairsOfShard = 250'000;

/// The values of a row, some of whose cells are lists.
struct CellValues {
  std::vector<bool> several;  ///< by column, whether its cells are lists
  std::vector<std::string_view> values{};

  /// Calls `visit` with each combination of the values in `values`, until that returns false.
  template <class Visit>
  bool each(std::span<const std::string_view> cells, const Visit& visit, std::size_t column = 0) {
    values.resize(several.size());
    if (column == several.size()) return visit();
    auto& value = values[column];
    value = cells[column];
    if (!several[column] || !is_string(value)) return each(cells, visit, column + 1);
    for (auto rest = without_quotes(value); !rest.empty();) {
      value = take_until(rest, ',');
      if (!each(cells, visit, column + 1)) return false;
    }
    return true;
  }
};

}  // namespace

std::expected<DistinctPairs, BadReply> DistinctPairs::read(const RawReplies& replies,
                                                           std::size_t set, const PairsPlan& plan,
                                                           Collation collation) {
  std::vector<KeyKind> kinds(plan.keys + 1, KeyKind::attribute);
  kinds.back() = KeyKind::json_path;  // values differ by capitals, unlike the keys of groups
  for (std::size_t p = 0; p < std::min(plan.keys, plan.exact.size()); ++p)
    if (plan.exact[p]) kinds[p] = KeyKind::json_path;
  std::vector<bool> several(kinds.size());
  bool real = false;
  for (std::size_t s = 0; s < replies.shards(); ++s) {
    const auto columns = replies.columns_of(replies.set(s, set));
    if (columns.empty()) continue;
    if (columns.size() < kinds.size()) return bad(s, "its distinct values lack a column");
    for (std::size_t p = 0; p < kinds.size(); ++p) {
      if (RowKeyText::kind_of(columns[p]) == KeyKind::json_path) kinds[p] = KeyKind::json_path;
      if (columns[p].has_several_values()) several[p] = true;
    }
    const auto type = columns[plan.keys].type;
    real = real || equals_literal(type, "float") || equals_literal(type, "double");
    if (plan.number && *plan.number >= columns.size())
      return bad(s, "its distinct values lack a column");
  }
  const bool by_number = real && plan.number && std::ranges::find(several, true) == several.end();
  DistinctPairs found(std::move(kinds), collation);
  const auto keys_end = several.begin() + static_cast<std::ptrdiff_t>(plan.keys);
  if (plan.numbered && plan.keys > 1 && std::find(several.begin(), keys_end, true) != keys_end) {
    found.by_group_ = false;
    std::fill(several.begin(), keys_end, false);
  }
  const auto keys = found.by_group_ ? plan.keys : 0;
  CellValues row{std::move(several)};
  std::vector<Pair> pairs;
  RowKeyText key(collation);
  for (std::size_t s = 0; s < replies.shards(); ++s) {
    std::size_t read = 0;
    const auto most = pairs.size() + kMostPairsOfShard;
    const auto add = [&](std::span<const std::string_view> cells) {
      ++read;
      found.may_be_short_ |= !row.each(cells, [&] {
        if (row.values[plan.keys] == "null") return true;  // a missing value is none
        if (pairs.size() == most) return false;
        key.clear();
        for (std::size_t p = 0; p < keys; ++p) key.add(row.values[p], found.kinds_[p]);
        Pair pair{.group = KeyedHash{}(key.text())};
        for (auto& half : pair.pair) {
          key.add(by_number ? cells[*plan.number] : row.values[plan.keys], found.kinds_.back());
          half = KeyedHash{}(key.text());
        }
        pairs.push_back(pair);
        return true;
      });
    };
    if (!visit_rows(replies, replies.set(s, set), add))
      return bad(s, "a distinct value is malformed");
    found.may_be_short_ |= plan.asked != 0 && read >= plan.asked;
  }
  found.count_values(pairs);
  return found;
}

void DistinctPairs::count_values(std::vector<Pair>& pairs) {
  std::ranges::sort(pairs);
  const Pair* before = nullptr;
  for (const auto& pair : pairs) {
    if (before == nullptr || before->group != pair.group)
      groups_.push_back({pair.group, 1});
    else if (*before != pair)
      ++groups_.back().values;
    before = &pair;
  }
}

std::uint64_t DistinctPairs::values_of(std::span<const std::string_view> key) const {
  RowKeyText text(collation_);
  for (std::size_t p = 0; p < key.size() && p + 1 < kinds_.size(); ++p) text.add(key[p], kinds_[p]);
  const auto hash = KeyedHash{}(text.text());
  const auto place = std::ranges::lower_bound(groups_, hash, {}, &Group::group);
  return place == groups_.end() || place->group != hash ? 0 : place->values;
}

}  // namespace karmad
