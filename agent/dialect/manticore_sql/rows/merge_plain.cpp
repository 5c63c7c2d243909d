#include "agent/dialect/manticore_sql/rows/merge_plain.hpp"

#include <fmt/format.h>

#include <unordered_map>

#include "agent/dialect/manticore_sql/rows/merged_rows.hpp"
#include "agent/dialect/manticore_sql/rows/warnings.hpp"
#include "agent/dialect/manticore_sql/rows/write_rows.hpp"
#include "agent/json/keyed_hash.hpp"
#include "config/text/whole_number.hpp"

namespace karmad {

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

}  // namespace karmad
