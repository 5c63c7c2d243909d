#include "agent/dialect/manticore_sql/table_name.hpp"

namespace karmad {

namespace {

/// The search server reads other names only in backquotes.
bool needs_backquotes(std::string_view table) {
  constexpr std::string_view kDigits = "0123456789";
  constexpr std::string_view kOfWords =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  return table.find_first_of(kDigits) == 0 || table.find_first_not_of(kOfWords) != table.npos;
}

}  // namespace

void append_table_names(std::string& out, std::span<const std::string> tables) {
  append_table_names(out, tables, {});
}

void append_table_names(std::string& out, std::span<const std::string> tables,
                        std::string_view replaced) {
  const bool all = replaced.starts_with('`') || replaced.ends_with('`');
  for (std::size_t i = 0; i < tables.size(); ++i) {
    if (i != 0) out += ',';
    const auto* const quote = all || needs_backquotes(tables[i]) ? "`" : "";
    out.append(quote).append(tables[i]).append(quote);
  }
}

void append_with_tables(std::string& out, std::string_view statement, std::size_t begin,
                        std::size_t end, std::span<const std::string> tables) {
  if (end == 0) {
    out += statement;
    return;
  }
  out += statement.substr(0, begin);
  append_table_names(out, tables, statement.substr(begin, end - begin));
  out += statement.substr(end);
}

}  // namespace karmad
