#include "agent/dialect/manticore_sql/table_name.hpp"

namespace karmad {

void append_table_names(std::string& out, std::span<const std::string> tables) {
  for (std::size_t i = 0; i < tables.size(); ++i) {
    if (i != 0) out += ',';
    const bool plain =
        tables[i].find_first_not_of(
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == std::string::npos;
    out.append(plain ? "" : "`").append(tables[i]).append(plain ? "" : "`");
  }
}

void append_with_tables(std::string& out, std::string_view statement, std::size_t begin,
                        std::size_t end, std::span<const std::string> tables) {
  if (end == 0) {
    out += statement;
    return;
  }
  out += statement.substr(0, begin);
  append_table_names(out, tables);
  out += statement.substr(end);
}

}  // namespace karmad
