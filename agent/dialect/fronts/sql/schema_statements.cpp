#include "agent/dialect/fronts/sql/foreign_forms.hpp"

#include <algorithm>
#include <array>

#include "config/text/source_text.hpp"

namespace karmad::sql {
namespace {

using Kind = Token::Kind;

bool ends(const Token& token) {
  return token.kind == Kind::end || token.is_sign(';');
}

bool is_from(const Token& token) {
  return token.is_word("from", "in");
}

/// Whether SHOW CREATE is about something that has a schema: a database, or a name of two parts.
bool creates_in_schema(Tokens& tokens) {
  const auto what = tokens.next();
  if (what.is_word("database", "schema")) return true;
  const auto name = tokens.next();
  return what.is_word("table") && name.names_table() &&
         (name.inner().contains('.') || tokens.next().text.starts_with('.'));
}

bool describes(const Token& verb, Tokens& tokens) {
  const auto table = tokens.next();
  if (!table.names_table() && table.kind != Kind::quoted) return false;
  if (verb.is_word("describe")) return true;
  if (verb.is_word("explain"))
    return !table.is_word("select", "query", "insert", "update", "delete", "for", "format",
                          "analyze", "replace", "extended");
  return tokens.next().is_word("table") && ends(tokens.next());
}

/// Whether the text has a word without which no SELECT is one from a system schema: cheaper than
/// its tokens, and most SELECTs have none.
bool may_select_schema(std::string_view statement) {
  constexpr std::array<std::string_view, 4> kParts{"_schema", "mysql", "sys", "dual"};
  const auto same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a | 0x20 : a) == b; };
  for (; !statement.empty(); statement.remove_prefix(1)) {
    const auto first = statement.front() | 0x20;
    if (first != ('_' | 0x20) && first != 'm' && first != 's' && first != 'd') continue;
    const auto begins_with = [&](std::string_view part) {
      return std::ranges::equal(statement.substr(0, part.size()), part, same);
    };
    if (std::ranges::any_of(kParts, begins_with)) return true;
  }
  return false;
}

}  // namespace

bool shows_schema(std::string_view statement) {
  Tokens tokens(statement);
  const auto verb = tokens.next();
  if (!verb.is_word("show")) return describes(verb, tokens);
  const auto object = tokens.next();
  if (object.is_word("full", "extended", "global", "session", "local", "columns", "fields",
                     "indexes", "keys", "databases", "schemas", "collation", "charset", "character",
                     "plugins", "engines", "engine", "storage", "errors", "count", "grants",
                     "procedure", "function", "package", "triggers", "events", "processlist",
                     "privileges", "profiles", "open", "master", "slave", "replica", "replicas",
                     "binary", "all"))
    return true;
  if (object.is_word("create")) return creates_in_schema(tokens);
  const auto next = tokens.next();
  if (object.is_word("tables")) return is_from(next) || next.is_word("where");
  if (object.is_word("status")) return next.is_word("where");
  if (object.is_word("index")) return is_from(next);
  if (!object.is_word("table") || !next.is_word("status")) return false;
  const auto last = tokens.next();
  return ends(last) || is_from(last) || last.is_word("like", "where");
}

bool shows_variables(std::string_view statement) {
  Tokens tokens(statement);
  if (!tokens.next().is_word("show")) return false;
  auto object = tokens.next();
  // LOCAL, which servers do not know, is read as SESSION where karmad answers by itself.
  if (object.is_word("session", "global")) object = tokens.next();
  return object.is_word("variables");
}

bool selects_schema(std::string_view statement) {
  if (statement.size() > kLongestSchemaStatement || !may_select_schema(statement)) return false;
  std::string plain;
  if (statement.contains("/*!")) statement = plain = without_executable_comments(statement);
  Tokens tokens(statement);
  bool behind_from = false;
  for (auto token = tokens.next(); token.kind != Kind::end; token = tokens.next()) {
    if (token.kind == Kind::ambiguous || token.kind == Kind::unfinished) return false;
    if (behind_from && token.names_table()) {
      const auto name = token.inner();
      const auto schema = name.substr(0, name.find('.'));
      if (schema.size() == name.size() && token.is_word("dual")) return true;
      const bool has_part = schema.size() < name.size() || tokens.next().text.starts_with('.');
      return has_part && is_system_schema(schema);
    }
    behind_from = token.is_word("from");
  }
  return false;
}

bool is_system_schema(std::string_view schema) {
  return is_any_of(lower(schema), "information_schema", "performance_schema", "mysql", "sys");
}

std::string without_executable_comments(std::string_view statement) {
  std::string out(statement);
  char quote = 0;
  for (std::size_t at = 0; at < out.size(); ++at) {
    const char c = out[at];
    if (quote != 0) {
      if (c == '\\' && quote != '`') ++at;
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"' || c == '`') {
      quote = c;
    } else if (out.compare(at, 3, "/*!") == 0) {
      auto end = at + 3;
      while (end < out.size() && out[end] >= '0' && out[end] <= '9') ++end;
      out.replace(at, end - at, end - at, ' ');
      at = end - 1;
    } else if (out.compare(at, 2, "*/") == 0) {
      out[at] = out[at + 1] = ' ';
    } else if (out.compare(at, 2, "/*") == 0) {  // an ordinary comment
      const auto end = out.find("*/", at + 2);
      if (end == out.npos) break;
      at = end + 1;
    }
  }
  return out;
}

}  // namespace karmad::sql
