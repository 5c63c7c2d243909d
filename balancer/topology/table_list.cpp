#include "balancer/topology/table_list.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "agent/transport/http/http_syntax.hpp"
#include "config/text/closest.hpp"
#include "config/text/source_text.hpp"
#include "config/text/wildcard.hpp"

namespace karmad {
namespace {

bool is_wildcard(std::string_view piece) {
  return piece == "_all" || piece.find('*') != piece.npos;
}

bool fits(std::string_view piece, std::string_view name) {
  return piece == "_all" || matches_wildcard(name, piece, '*', [](std::string_view rest, char c) {
           return wire::lower(rest[0]) == wire::lower(c) ? 1U : 0U;
         });
}

/// Takes the next piece off a list, without white space around it.
std::string_view take_piece(std::string_view& list) {
  return trimmed(take_until(list, ','), kJsonSpace);
}

/// Why a piece of a list stands for no table.
ClientError names_nothing(std::string_view piece, std::span<const ListableTable> tables,
                          std::string_view dialect, bool shows_known) {
  for (const auto& table : tables)
    if (!is_wildcard(piece) && wire::same_word(piece, table.name))
      return {404, fmt::format("table '{}' has the dialect {}, which does not use this path",
                               table.name, table.dialect)};
  std::vector<std::string_view> known;
  for (const auto& table : tables)
    if (shows_known && table.dialect == dialect) known.push_back(table.name);
  return {404, unknown_table(piece, known)};
}

}  // namespace

bool is_table_list(std::string_view text) {
  return text == "_all" || std::ranges::any_of(text, [](char c) { return c == ',' || c == '*'; });
}

bool names_any(std::string_view text, std::span<const ListableTable> tables,
               std::string_view dialect) {
  for (std::size_t i = 0; i < kMaxListedTables && !text.empty(); ++i) {
    const auto piece = take_piece(text);
    if (piece.empty()) continue;
    for (const auto& table : tables)
      if (table.dialect == dialect && fits(piece, table.name)) return true;
  }
  return false;
}

std::expected<std::vector<std::size_t>, ClientError> listed_tables(
    std::string_view text, std::span<const ListableTable> tables, std::string_view dialect,
    bool shows_known) {
  std::vector<std::size_t> found;
  std::size_t pieces = 0;
  while (!text.empty()) {
    const auto piece = take_piece(text);
    if (piece.empty()) continue;
    const auto too_long = [](std::string_view what) {
      return std::unexpected(ClientError{
          400, fmt::format("the list of tables has more than {} {}", kMaxListedTables, what)});
    };
    if (++pieces > kMaxListedTables) return too_long("names");
    bool any = false;
    for (std::size_t i = 0; i < tables.size(); ++i) {
      if (tables[i].dialect != dialect || !fits(piece, tables[i].name)) continue;
      any = true;
      if (std::ranges::find(found, i) == found.end()) found.push_back(i);
      if (found.size() > kMaxListedTables) return too_long("tables");
    }
    if (!any) return std::unexpected(names_nothing(piece, tables, dialect, shows_known));
  }
  if (found.empty()) return std::unexpected(ClientError{400, "the list of tables is empty"});
  return found;
}

std::string unknown_table(std::string_view name, std::span<const std::string_view> known) {
  constexpr std::size_t kMost = 20;
  if (known.empty()) return fmt::format("no table '{}'", name);
  return fmt::format("no table '{}'; the tables are: {}", name, some_of(known, kMost));
}

}  // namespace karmad
