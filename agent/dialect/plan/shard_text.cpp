#include "agent/dialect/plan/shard_text.hpp"

#include <algorithm>

#include "agent/json/json_line.hpp"

namespace karmad {

namespace {

/// The search server reads other names only in backquotes.
bool needs_backquotes(std::string_view table) {
  constexpr std::string_view kDigits = "0123456789";
  constexpr std::string_view kOfWords =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  return table.find_first_of(kDigits) == 0 || table.find_first_not_of(kOfWords) != table.npos;
}

/// Appends the names, separated by commas; those that need backquotes get them. Where the client
/// wrote backquotes, in `replaced`, all names get them, as words may stand right beside them.
void append_table_names(std::string& out, std::span<const std::string> tables,
                        std::string_view replaced) {
  const bool all = replaced.starts_with('`') || replaced.ends_with('`');
  for (std::size_t i = 0; i < tables.size(); ++i) {
    if (i != 0) out += ',';
    const auto* const quote = all || needs_backquotes(tables[i]) ? "`" : "";
    out.append(quote).append(tables[i]).append(quote);
  }
}

/// Appends the names as one text in single quotes.
void append_sql_text(std::string& out, std::span<const std::string> tables) {
  out += '\'';
  for (const auto& table : tables) {
    if (&table != tables.data()) out += ',';
    for (const char c : table) {
      if (c == '\'' || c == '\\') out += '\\';
      out += c;
    }
  }
  out += '\'';
}

void append_names(std::string& out, TableNames how, std::span<const std::string> tables,
                  std::string_view replaced) {
  using enum TableNames;
  if (how == sql_first || how == json_first)
    tables = tables.first(std::min<std::size_t>(tables.size(), 1));
  if (how == sql || how == sql_first) append_table_names(out, tables, replaced);
  if (how == json || how == json_first) append_json_names(out, tables);
  if (how == sql_text) append_sql_text(out, tables);
}

}  // namespace

TextEdits name_edits(const Parsed& parsed, TableNames names) {
  TextEdits edits;
  for (const auto& place : {parsed.table_place, parsed.other_place})
    if (place.found()) edits.push_back({.begin = place.begin, .end = place.end, .names = names});
  return edits;
}

void append_edited(std::string& out, std::string_view text, const TextEdits& edits,
                   std::span<const std::string> tables) {
  std::size_t copied = 0;
  for (const auto& edit : edits) {
    out.append(text.substr(copied, edit.begin - copied)).append(edit.text);
    append_names(out, edit.names, tables, text.substr(edit.begin, edit.end - edit.begin));
    copied = edit.end;
  }
  out.append(text.substr(copied));
}

void append_json_names(std::string& to, std::span<const std::string> tables) {
  JsonLine out(to);
  out.add('"');
  for (std::size_t i = 0; i < tables.size(); ++i) {
    if (i != 0) out.add(',');
    out.add_escaped(tables[i]);
  }
  out.add('"');
}

}  // namespace karmad
