#include "agent/dialect/manticore_sql/rows/one_shard_sets.hpp"

#include "agent/dialect/manticore_sql/rows/text_table.hpp"
#include "agent/json/json_cursor.hpp"
#include "agent/json/json_line.hpp"

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

}  // namespace karmad
