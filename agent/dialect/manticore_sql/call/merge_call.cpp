#include "agent/dialect/manticore_sql/call/merge_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "agent/dialect/manticore_sql/rows/merged_rows.hpp"
#include "agent/dialect/manticore_sql/rows/warnings.hpp"
#include "agent/dialect/manticore_sql/rows/write_rows.hpp"
#include "agent/json/json_text.hpp"
#include "agent/json/keyed_hash.hpp"
#include "config/text/whole_number.hpp"

namespace karmad {
namespace {

/// Columns of counts, which add up; all others of KEYWORDS and SUGGEST are equal in equal rows.
constexpr std::string_view kCounts[] = {"docs", "hits", "found_docs"};

/// The integer that a cell says, as a number or in quotes; 0 if it says none.
std::uint64_t count_in(std::string_view cell) {
  if (is_string(cell)) cell = without_quotes(cell);
  return whole_number<std::uint64_t>(cell).value_or(0);
}

/// A row of the answer, while rows are merged.
struct CallRow {
  std::vector<std::string_view> cells;
  std::size_t rank = 0;   ///< its position in its shard's reply
  std::size_t shard = 0;  ///< the first one that has it
};

class CallRows {
 public:
  CallRows(const RawReplies& replies, const CallMerge& how)
      : replies_(replies), common_(replies, 0), how_(how) {}

  /// Reads all rows; equal ones become one. The shard whose rows are malformed, if any.
  std::optional<std::size_t> read() {
    std::vector<std::string_view> row(common_.widest());
    for (std::size_t s = 0; s < replies_.shards(); ++s) {
      const auto& set = replies_.set(s, 0);
      RawRows rows(set.rows);
      for (std::size_t rank = 0;; ++rank) {
        const auto step = rows.next(replies_.columns_of(set), row.data());
        if (step == RawRows::Step::end) break;
        if (step == RawRows::Step::malformed) return s;
        if (columns().empty()) continue;
        CallRow next{.rank = rank, .shard = s};
        common_.append(s, row, next.cells);
        add(std::move(next));
      }
    }
    return std::nullopt;
  }

  void sort() {
    using Rows = CallMerge::Rows;
    const auto by = [this](std::string_view column, const CallRow& row) {
      const auto at = place(column);
      return at ? count_in(row.cells[*at]) : 0;
    };
    const auto before = [&](const CallRow& a, const CallRow& b) {
      switch (how_.rows) {
        case Rows::by_id:
          return count_in(a.cells.front()) < count_in(b.cells.front());
        case Rows::keywords: {
          const auto position = by("qpos", a) <=> by("qpos", b);
          if (position != 0) return position < 0;
          return !how_.sorted_by.empty() && by(how_.sorted_by, a) > by(how_.sorted_by, b);
        }
        case Rows::suggestions:
          if (by("found_docs", a) != by("found_docs", b))
            return by("found_docs", a) > by("found_docs", b);
          if (by("distance", a) != by("distance", b)) return by("distance", a) < by("distance", b);
          if (by("docs", a) != by("docs", b)) return by("docs", a) > by("docs", b);
          return a.cells.front() < b.cells.front();
        case Rows::by_rank:
          return a.rank < b.rank;
        case Rows::same:
          break;
      }
      return false;
    };
    std::ranges::stable_sort(rows_, before);
    if (how_.limit != 0 && rows_.size() > how_.limit) rows_.resize(how_.limit);
  }

  ResultSet merged() && {
    ResultSet out{.columns = columns()};
    out.hidden = std::min(how_.hidden, columns().size());
    out.count = rows_.size();
    for (const auto& row : rows_)
      out.cells.insert(out.cells.end(), row.cells.begin(), row.cells.end());
    out.made = std::move(made_);
    return how_.in_one_line ? in_one_line(std::move(out)) : std::move(out);
  }

 private:
  const std::vector<RawColumn>& columns() const { return common_.columns(); }

  std::optional<std::size_t> place(std::string_view column) const {
    const auto found = std::ranges::find(columns(), column, &RawColumn::name);
    if (found == columns().end()) return std::nullopt;
    return static_cast<std::size_t>(found - columns().begin());
  }

  static bool is_count(const RawColumn& column) {
    return std::ranges::find(kCounts, column.name) != std::end(kCounts);
  }

  /// What is equal in equal rows; empty: all rows are different ones.
  std::string key_of(const CallRow& row) const {
    using Rows = CallMerge::Rows;
    std::string key;
    if (how_.rows == Rows::suggestions || how_.rows == Rows::by_rank)
      return std::string(row.cells.front());
    if (how_.rows != Rows::keywords) return key;
    for (std::size_t c = 0; c < row.cells.size(); ++c)
      if (!is_count(columns()[c])) key.append(row.cells[c]).append(",");
    return key;
  }

  void add(CallRow&& row) {
    if (auto key = key_of(row); !key.empty()) {
      const auto [known, is_new] = known_.try_emplace(std::move(key), rows_.size());
      if (!is_new) return add_counts(rows_[known->second], row);
    }
    rows_.push_back(std::move(row));
  }

  void add_counts(CallRow& to, const CallRow& row) {
    to.rank = std::min(to.rank, row.rank);
    if (to.shard == row.shard) return;  // a word that stands twice in the text
    for (std::size_t c = 0; c < to.cells.size(); ++c) {
      if (!is_count(columns()[c])) continue;
      const auto sum = count_in(to.cells[c]) + count_in(row.cells[c]);
      to.cells[c] = made_.emplace_front(is_string(to.cells[c]) ? fmt::format("\"{}\"", sum)
                                                               : fmt::to_string(sum));
    }
  }

  /// `result_line`: a row for each column, with all its values.
  static ResultSet in_one_line(ResultSet rows) {
    ResultSet line{.columns = {{"name", "string"}, {"value", "string"}}};
    for (std::size_t c = 0; c < rows.columns.size() && rows.shows(c); ++c) {
      std::string values;
      for (std::size_t r = 0; r < rows.count; ++r) {
        const auto cell = rows.row(r)[c];
        values.append(r == 0 ? "" : ",").append(is_string(cell) ? without_quotes(cell) : cell);
      }
      const auto& name = rows.columns[c].name;
      line.cells.push_back(
          rows.made.emplace_front(fmt::format("\"{}\"", name == "suggest" ? "suggests" : name)));
      line.cells.push_back(rows.made.emplace_front(fmt::format("\"{}\"", values)));
      ++line.count;
    }
    line.made = std::move(rows.made);
    return line;
  }

  const RawReplies& replies_;
  CommonColumns common_;
  const CallMerge& how_;
  std::vector<CallRow> rows_;
  std::unordered_map<std::string, std::size_t, KeyedHash> known_;  // by key_of()
  OwnedTexts made_;
};

}  // namespace

std::optional<BadReply> merge_call(const CallMerge& how, std::span<const ShardReply> replies,
                                   const MergeNotes& notes, std::string& out) {
  RawReplies raw;
  if (auto bad = raw.read(replies, 1, LastSet::whole)) return bad;
  Warnings warnings(notes.warning);
  for (std::size_t s = 0; s < raw.shards(); ++s) warnings.add_of_shard(s, raw.set(s, 0).warning);
  CallRows rows(raw, how);
  if (const auto shard = rows.read()) return BadReply{*shard, "a row is malformed"};
  rows.sort();
  auto merged = std::move(rows).merged();
  merged.warning = warnings.text();
  append_sets(how.form, {&merged, 1}, out);
  return std::nullopt;
}

}  // namespace karmad
