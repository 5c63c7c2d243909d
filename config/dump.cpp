#include "config/dump.hpp"

#include <fmt/format.h>

#include "config/setting_rows.hpp"
#include "config/settings/attempts.hpp"

namespace karmad {

namespace {

/// Escapes characters that are syntax.
std::string escaped(std::string_view value) {
  std::string out;
  for (const char c : value) {
    if (c == '#' || c == '{' || c == '}' || c == '$') out += '\\';
    out += c;
  }
  return out;
}

void dump(const std::vector<SettingRow>& rows, std::string& out) {
  for (const auto& row : rows) {
    if (!row.is_set)
      out += fmt::format("  # {} is unset: {}\n", row.key, row.unset);
    else if (row.key == "type")  // has no place: a table without it is not read
      out += fmt::format("  {} = {}\n", row.key, row.value);
    else
      out += fmt::format("  {} = {}  # {}\n", row.key, escaped(row.value), text(row.at));
  }
}

}  // namespace

std::string dump(const Settings& settings) {
  std::string out = "searchd {\n";
  dump(setting_rows(settings.searchd), out);
  out += "}\n";
  for (const auto& table : settings.tables) {
    out += fmt::format("\ntable {} {{  # {}\n", table.name, text(table.at));
    dump(setting_rows(table, settings.searchd), out);
    for (const auto& shard : table.shards)
      out += fmt::format("  # at most {} attempts of a request at the shard in {}\n",
                         most_attempts(table, shard), text(shard.at));
    out += "}\n";
  }
  return out;
}

}  // namespace karmad
