#include "config/dump.hpp"

#include <fmt/format.h>

#include <algorithm>

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

/// What the counts of retries come to, as `max_attempts` leaves them.
void dump_attempts(const InstanceSettings& searchd, const TableSettings& table,
                   const ShardSettings& shard, std::string& out) {
  const auto counts = retry_counts(searchd, table, shard);
  const auto most = most_attempts(
      table.max_attempts ? std::optional(table.max_attempts->value) : std::nullopt, counts);
  const auto left = [&](unsigned count) { return std::min(count, most - 1); };
  out += fmt::format(
      "  # at most {} attempts of a request at the shard in {}; retries: {} ordinary, {} after "
      "overload, {} after a delay, {} after timeouts\n",
      most, text(shard.at), left(counts.ordinary), left(counts.overload), left(counts.throttled),
      left(counts.timeouts));
}

}  // namespace

std::string dump(const Settings& settings) {
  std::string out = "searchd {\n";
  dump(setting_rows(settings.searchd), out);
  out += "}\n";
  for (const auto& table : settings.tables) {
    out += fmt::format("\ntable {} {{  # {}\n", table.name, text(table.at));
    dump(setting_rows(table, settings.searchd), out);
    for (const auto& shard : table.shards) dump_attempts(settings.searchd, table, shard, out);
    out += "}\n";
  }
  return out;
}

}  // namespace karmad
