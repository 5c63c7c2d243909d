#include "agent/dialect/merge/merge_steps.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <unordered_map>

#include "agent/dialect/merge/merged_rows.hpp"
#include "agent/dialect/replies/error_text.hpp"
#include "agent/dialect/write/write_rows.hpp"
#include "agent/json/json_cursor.hpp"
#include "agent/json/json_line.hpp"
#include "agent/json/json_text.hpp"
#include "agent/json/keyed_hash.hpp"
#include "config/text/number_in.hpp"

namespace karmad {

namespace {

/// The result set of SHOW CREATE TABLE with that name of the table in its row.
std::string with_table_name(std::string_view set, std::string_view table) {
  constexpr std::string_view kCreate = "\"CREATE TABLE ";
  std::string name;
  JsonLine(name).add_escaped(table);
  std::vector<Replaced> names;
  const auto visit = [&](std::string_view key, std::string_view value) {
    if (!is_string(value)) return;
    const auto mirrors = names.empty() ? std::string_view() : names.front().part;
    if (key == "Table")
      names.push_back({without_quotes(value), name});
    else if (key == "Create Table" && value.starts_with(kCreate) &&
             value.substr(kCreate.size()).starts_with(mirrors))
      names.push_back({value.substr(kCreate.size(), mirrors.size()), name});
  };
  visit_members(set, [&](std::string_view key, std::string_view value) {
    JsonCursor json(value);
    if (key != "data" || !is_array(value)) return;
    JsonElements rows(json);
    if (rows.next()) visit_members(json, visit);
  });
  std::string named;
  append_replaced(named, set, names);
  return named;
}

/// Draws an answer in the form RowForm::raw, any number of result sets, as the tables of `/cli`;
/// warnings follow their table. False: it is malformed, and `out` is unchanged.
bool append_text_of(std::string_view raw_sets, std::string& out) {
  RawReplies replies;
  if (!replies.read_answer(raw_sets)) return false;
  const auto before = out.size();
  for (std::size_t i = 0; i < replies.sets_each(); ++i) {
    const CommonColumns columns(replies, i);
    ResultSet rows{.columns = columns.columns()};
    if (!replies.set(0, i).error.empty() || !append_rows(replies, 0, i, columns, rows)) {
      out.resize(before);
      return false;
    }
    rows.warning = json_unescaped(replies.set(0, i).warning);
    append_sets(RowForm::text, {&rows, 1}, out);
  }
  return true;
}

}  // namespace

std::optional<BadReply> merge_replies(const OneShardSets& how, std::span<const ShardReply> replies,
                                      const MergeNotes&, std::string& out) {
  using Kept = OneShardSets::Kept;
  const auto body = replies.front().body;
  const auto answer = whole_value(body);
  if (!answer) return BadReply{0, "the answer is not JSON"};
  if (how.kept == Kept::whole_answer) {
    out.append(*answer);
    return std::nullopt;
  }
  auto sets = is_array(*answer) ? answer->substr(1, answer->size() - 2) : std::string_view();
  if (sets.empty()) return BadReply{0, "the answer is not a list of result sets"};
  if (how.kept == Kept::last) {
    std::string_view last;
    const auto keep = [&](std::string_view set) { last = set; };
    sets = visit_elements(body, keep) ? last : std::string_view();
  }
  if (sets.empty()) return BadReply{0, "a result set is malformed"};
  std::string named;
  if (!how.table.empty()) {
    named = with_table_name(sets, how.table);
    sets = named;
  }
  const auto raw = fmt::format("[{}]", sets);
  if (how.form != RowForm::text) {
    out += raw;
  } else if (!append_text_of(raw, out)) {
    return BadReply{0, "a result set is malformed"};
  }
  return std::nullopt;
}

namespace {

/// Columns of counts, which add up; all others of KEYWORDS and SUGGEST are equal in equal rows.
constexpr std::string_view kCounts[] = {"docs", "hits", "found_docs"};

/// The integer that a cell says, as a number or in quotes.
template <class Integer>
std::optional<Integer> integer_in(std::string_view cell) {
  return number_in<Integer>(is_string(cell) ? without_quotes(cell) : cell);
}

/// A row of the answer, while rows are merged.
struct MergedRow {
  std::vector<std::string_view> cells;
  std::size_t rank = 0;   ///< its position in its shard's reply
  std::size_t shard = 0;  ///< the first one that has it
};

class RowsOfShards {
 public:
  RowsOfShards(const RawReplies& replies, const RowsMerge& how)
      : replies_(replies), common_(replies, 0), how_(how) {}

  /// Reads all rows; equal ones become one. The shard whose rows are malformed, if any.
  std::optional<std::size_t> read() {
    for (std::size_t s = 0; s < replies_.shards(); ++s) {
      std::size_t rank = 0;
      const auto add_row = [&](std::span<const std::string_view> row) {
        if (columns().empty()) return;
        MergedRow next{.rank = rank++, .shard = s};
        common_.append(s, row, next.cells);
        add(std::move(next));
      };
      if (!visit_rows(replies_, replies_.set(s, 0), add_row)) return s;
    }
    return std::nullopt;
  }

  void sort() {
    std::vector<ColumnOrder> keys;
    if (how_.rows == Rows::by_id) keys = {{0}};
    if (how_.rows == Rows::keywords) keys = {{place("qpos")}};
    if (!keys.empty() && !how_.sorted_by.empty()) keys.push_back({place(how_.sorted_by), true});
    if (how_.rows == Rows::suggestions)
      keys = {{place("found_docs"), true}, {place("distance")}, {place("docs"), true}};
    std::ranges::stable_sort(rows_, [&](const MergedRow& a, const MergedRow& b) {
      if (how_.rows == Rows::by_rank) return a.rank < b.rank;
      for (const auto& [column, descending] : keys) {
        const auto x = count_in(a, column);
        const auto y = count_in(b, column);
        if (x != y) return (x < y) != descending;
      }
      return how_.rows == Rows::suggestions && a.cells.front() < b.cells.front();
    });
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
  using Rows = RowsMerge::Rows;
  struct ColumnOrder {
    std::optional<std::size_t> column;
    bool descending = false;
  };

  const std::vector<RawColumn>& columns() const { return common_.columns(); }

  std::optional<std::size_t> place(std::string_view column) const {
    const auto found = std::ranges::find(columns(), column, &RawColumn::name);
    if (found == columns().end()) return std::nullopt;
    return static_cast<std::size_t>(found - columns().begin());
  }
  static std::uint64_t count_in(const MergedRow& row, const std::optional<std::size_t>& column) {
    return column ? integer_in<std::uint64_t>(row.cells[*column]).value_or(0) : 0;
  }

  /// Whether the cells of equal rows add up, if they are integers.
  bool is_count(std::size_t column) const {
    if (how_.rows == Rows::added) return column != 0;
    return std::ranges::find(kCounts, columns()[column].name) != std::end(kCounts);
  }

  /// What is equal in equal rows; empty: all rows are different ones.
  std::string key_of(const MergedRow& row) const {
    std::string key;
    if (how_.rows == Rows::suggestions || how_.rows == Rows::by_rank || how_.rows == Rows::added)
      return std::string(row.cells.front());
    if (how_.rows != Rows::keywords) return key;
    for (std::size_t c = 0; c < row.cells.size(); ++c)
      if (!is_count(c)) key.append(row.cells[c]).append(",");
    return key;
  }

  void add(MergedRow&& row) {
    if (auto key = key_of(row); !key.empty()) {
      const auto [known, is_new] = known_.try_emplace(std::move(key), rows_.size());
      if (!is_new) return add_counts(rows_[known->second], row);
    }
    rows_.push_back(std::move(row));
  }

  void add_counts(MergedRow& to, const MergedRow& row) {
    to.rank = std::min(to.rank, row.rank);
    // A word that stands twice in the text has the same counts twice.
    if (to.shard == row.shard && how_.rows != Rows::added) return;
    for (std::size_t c = 0; c < to.cells.size(); ++c) {
      const auto a = integer_in<std::int64_t>(to.cells[c]);
      const auto b = integer_in<std::int64_t>(row.cells[c]);
      std::int64_t sum = 0;
      if (!is_count(c) || !a || !b || __builtin_add_overflow(*a, *b, &sum)) continue;
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
        JsonLine text(values);
        text.add(r == 0 ? "" : ",");
        is_string(cell) ? text.add(without_quotes(cell)) : text.add_escaped(cell);
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
  const RowsMerge& how_;
  std::vector<MergedRow> rows_;
  std::unordered_map<std::string, std::size_t, KeyedHash> known_;  // by key_of()
  OwnedTexts made_;
};

}  // namespace

std::optional<BadReply> merge_replies(const RowsMerge& how, std::span<const ShardReply> replies,
                                      const MergeNotes& notes, std::string& out) {
  RawReplies raw;
  if (auto bad = raw.read(replies, 1, LastSet::whole)) return bad;
  Warnings warnings(notes.warning);
  for (std::size_t s = 0; s < raw.shards(); ++s) warnings.add_of_shard(s, raw.set(s, 0).warning);
  RowsOfShards rows(raw, how);
  if (const auto shard = rows.read()) return BadReply{*shard, "a row is malformed"};
  rows.sort();
  auto merged = std::move(rows).merged();
  merged.warning = warnings.text();
  append_sets(how.form, {&merged, 1}, out);
  return std::nullopt;
}

}  // namespace karmad
