#include "agent/dialect/manticore_sql/rows/text_table.hpp"

#include "agent/dialect/manticore_sql/rows/merged_rows.hpp"
#include "agent/dialect/manticore_sql/rows/write_rows.hpp"
#include "agent/json/json_text.hpp"

namespace karmad {

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

}  // namespace karmad
