#include "agent/dialect/manticore_sql/rows/text_table.hpp"

#include "agent/dialect/manticore_sql/rows/write_rows.hpp"
#include "agent/json/json_text.hpp"

namespace karmad {

namespace {

/// The number of elements of a JSON array; 0 for anything else.
std::size_t elements_in(std::string_view text) {
  JsonCursor json(text);
  JsonElements elements(json);
  std::size_t count = 0;
  while (elements.next()) {
    if (!take_value(json)) return 0;
    ++count;
  }
  return elements.complete() ? count : 0;
}

}  // namespace

bool append_text_of(std::string_view raw_sets, std::string& out) {
  const auto sets = elements_in(raw_sets);
  const ShardReply reply{raw_sets};
  RawReplies replies;
  if (sets == 0 || replies.read({&reply, 1}, sets, LastSet::whole)) return false;
  const auto before = out.size();
  for (std::size_t i = 0; i < sets; ++i) {
    const CommonColumns columns(replies, i);
    ResultSet rows{.columns = columns.columns()};
    if (!append_rows(replies, 0, i, columns, rows, [] {})) {
      out.resize(before);
      return false;
    }
    rows.warning = json_unescaped(replies.set(0, i).warning);
    append_sets(RowForm::text, {&rows, 1}, out);
  }
  return true;
}

}  // namespace karmad
