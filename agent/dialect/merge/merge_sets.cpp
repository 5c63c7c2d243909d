#include "agent/dialect/merge/merge_sets.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <unordered_map>
#include <vector>

#include "agent/dialect/merge/merged_rows.hpp"
#include "agent/dialect/merge/shard_meta.hpp"
#include "agent/dialect/write/write_rows.hpp"
#include "agent/json/json_cursor.hpp"
#include "agent/json/json_line.hpp"
#include "agent/json/json_text.hpp"
#include "agent/json/keyed_hash.hpp"
#include "config/text/whole_number.hpp"

namespace karmad {

namespace {

/// The elements of an array, without the brackets; empty: it is no array.
std::string_view inside_of(std::string_view array) {
  const auto begin = array.find_first_not_of(kJsonSpace);
  const auto end = array.find_last_not_of(kJsonSpace);
  if (begin == array.npos || begin == end || array[begin] != '[' || array[end] != ']') return {};
  return array.substr(begin + 1, end - begin - 1);
}

/// The result set of SHOW CREATE TABLE with that name of the table in its row.
std::string with_table_name(std::string_view set, std::string_view table) {
  constexpr std::string_view kCreate = "\"CREATE TABLE ";
  std::string name;
  JsonLine(name).add_escaped(table);
  std::string named;
  std::size_t copied = 0;
  const auto replace = [&](std::string_view part) {
    const auto at = static_cast<std::size_t>(part.data() - set.data());
    named.append(set.substr(copied, at - copied)).append(name);
    copied = at + part.size();
  };
  std::string_view mirrors;
  const auto visit = [&](std::string_view key, std::string_view value) {
    if (!is_string(value)) return true;
    if (key == "Table") {
      mirrors = without_quotes(value);
      replace(mirrors);
    } else if (key == "Create Table" && value.starts_with(kCreate) &&
               value.substr(kCreate.size()).starts_with(mirrors)) {
      replace(value.substr(kCreate.size(), mirrors.size()));
    }
    return true;
  };
  visit_members(set, [&](std::string_view key, std::string_view value) {
    JsonCursor json(value);
    if (key != "data" || !is_array(value)) return true;
    JsonElements rows(json);
    if (rows.next()) visit_members(json, visit);
    return true;
  });
  return named.append(set.substr(copied));
}

/// The last element of an array; empty: it is malformed.
std::string_view last_of(std::string_view array) {
  std::string_view last;
  JsonCursor json(array);
  skip_space(json);
  JsonElements elements(json);
  while (elements.next()) {
    const auto value = take_value(json);
    if (!value) return {};
    last = *value;
  }
  return last;
}

}  // namespace

bool append_text_of(std::string_view raw_sets, std::string& out) {
  RawReplies replies;
  if (!replies.read_answer(raw_sets)) return false;
  const auto before = out.size();
  for (std::size_t i = 0; i < replies.sets_each(); ++i) {
    const CommonColumns columns(replies, i);
    ResultSet rows{.columns = columns.columns()};
    if (!replies.set(0, i).error.empty() || !append_rows(replies, 0, i, columns, rows, [] {})) {
      out.resize(before);
      return false;
    }
    rows.warning = json_unescaped(replies.set(0, i).warning);
    append_sets(RowForm::text, {&rows, 1}, out);
  }
  return true;
}

std::optional<BadReply> pass_sets_on(const OneShardSets& how, const ShardReply& reply,
                                     std::string& out) {
  using Kept = OneShardSets::Kept;
  const auto answer = whole_value(reply.body);
  if (!answer) return BadReply{0, "the answer is not JSON"};
  if (how.kept == Kept::whole_answer) {
    out.append(*answer);
    return std::nullopt;
  }
  auto sets = inside_of(reply.body);
  if (sets.empty()) return BadReply{0, "the answer is not a list of result sets"};
  if (how.kept == Kept::last) sets = last_of(reply.body);
  if (sets.empty()) return BadReply{0, "a result set is malformed"};
  std::string named;
  if (!how.table.empty()) {
    named = with_table_name(sets, how.table);
    sets = named;
  }
  if (how.form != RowForm::text) {
    out.append("[").append(sets).append("]");
    return std::nullopt;
  }
  std::string raw;
  raw.append("[").append(sets).append("]");
  if (append_text_of(raw, out)) return std::nullopt;
  return BadReply{0, "a result set is malformed"};
}

namespace {

/// The integer that a cell says, as a number or in quotes.
std::optional<std::int64_t> integer_in(std::string_view cell) {
  if (is_string(cell)) cell = without_quotes(cell);
  return whole_number<std::int64_t>(cell);
}

/// Adds the second cell to the first if both are integers whose sum fits 64 bits.
void add_cell(std::string_view& to, std::string_view cell, std::forward_list<std::string>& made) {
  const auto a = integer_in(to);
  const auto b = integer_in(cell);
  std::int64_t sum = 0;
  if (!a || !b || __builtin_add_overflow(*a, *b, &sum)) return;
  to = made.emplace_front(is_string(to) ? fmt::format("\"{}\"", sum) : fmt::format("{}", sum));
}

/// Adds the last row to the row with the same name, if there is one.
class NamedSums {
 public:
  explicit NamedSums(ResultSet& merged) : merged_(merged) {}

  void fold_last() {
    const auto width = merged_.columns.size();
    const auto last = merged_.count - 1;
    const auto [known, is_new] = rows_.try_emplace(merged_.row(last).front(), last);
    if (is_new) return;
    for (std::size_t c = 1; c < width; ++c)
      add_cell(merged_.cells[known->second * width + c], merged_.row(last)[c], merged_.made);
    merged_.cells.resize(last * width);
    merged_.count = last;
  }

 private:
  ResultSet& merged_;
  std::unordered_map<std::string_view, std::size_t, KeyedHash> rows_;
};

}  // namespace

std::optional<BadReply> merge_plain(const PlainMerge& how, std::span<const ShardReply> replies,
                                    const MergeNotes& notes, std::string& out) {
  RawReplies raw;
  if (auto bad = raw.read(replies, 1, LastSet::whole)) return bad;
  const CommonColumns common(raw, 0);
  ResultSet merged{.columns = common.columns()};
  NamedSums sums(merged);
  Warnings warnings(notes.warning);
  for (std::size_t s = 0; s < raw.shards(); ++s) {
    warnings.add_of_shard(s, raw.set(s, 0).warning);
    const bool read = append_rows(raw, s, 0, common, merged, [&] {
      if (how.rows == PlainMerge::Rows::added) sums.fold_last();
    });
    if (!read) return BadReply{s, "a row is malformed"};
  }
  merged.warning = warnings.text();
  append_sets(how.form, {&merged, 1}, out);
  return std::nullopt;
}

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
