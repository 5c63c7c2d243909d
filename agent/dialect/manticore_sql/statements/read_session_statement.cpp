#include "agent/dialect/manticore_sql/statements/read_session_statement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "agent/dialect/manticore_sql/sql_tokens.hpp"

namespace karmad {
namespace {

using Kind = SqlToken::Kind;
using Is = SessionStatement::Is;

/// Variables without effect on the answers of karmad, in lower case.
constexpr std::array<std::string_view, 15> kIdleVariables{"names",
                                                          "character",
                                                          "character_set_client",
                                                          "character_set_connection",
                                                          "charset",
                                                          "character_set_results",
                                                          "profiling",
                                                          "wait_timeout",
                                                          "sql_mode",
                                                          "interactive_timeout",
                                                          "net_read_timeout",
                                                          "net_write_timeout",
                                                          "sql_auto_is_null",
                                                          "sql_quote_show_create",
                                                          "sql_safe_updates"};

SessionStatement no_session(std::string reason) {
  return {.is = Is::refused, .text = std::move(reason)};
}

/// The name of a variable without `@@` and its scope.
std::string_view bare_name(std::string_view name) {
  for (const std::string_view prefix : {"@@", "session.", "SESSION.", "local.", "LOCAL."})
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  return name;
}

/// SET, after its first word.
SessionStatement read_set(SqlTokens& tokens) {
  auto token = tokens.next();
  if (token.is_word("session") || token.is_word("local")) token = tokens.next();
  if (token.is_word("global"))
    return no_session("SET GLOBAL changes a server; send it to the mirrors themselves");
  if (token.kind != Kind::word) return no_session("SET names no variable");
  if (token.text.starts_with('@') && !token.text.starts_with("@@"))
    return no_session("variables of a client are not kept; write the value into the statement");
  SqlToken variable = token;
  variable.text = bare_name(token.text);
  auto value = tokens.next();
  if (value.is_sign('=')) value = tokens.next();
  if (variable.is_word("autocommit")) {
    if (value.is_word("1") || value.is_word("on") || value.is_word("true")) return {};
    return no_session("autocommit is always 1: each statement takes effect at once");
  }
  const bool idle = std::ranges::any_of(
      kIdleVariables, [&](std::string_view known) { return variable.is_word(known); });
  if (idle) return {};
  return no_session(
      fmt::format("SET {} has no effect here, because a statement goes to any mirror; known are "
                  "NAMES, CHARACTER SET, autocommit = 1, profiling, sql_mode and timeouts",
                  variable.text.substr(0, 64)));
}

/// The rest of SHOW META, SHOW SCROLL and SHOW WARNINGS: nothing, or LIKE and a pattern in quotes.
SessionStatement with_like(SessionStatement statement, SqlTokens& tokens) {
  auto token = tokens.next();
  if (token.is_word("like")) {
    token = tokens.next();
    if (token.kind != Kind::quoted) return no_session("LIKE needs a pattern in quotes");
    statement.like = std::string(token.text.substr(1, token.text.size() - 2));
    token = tokens.next();
  }
  if (token.kind == Kind::end) return statement;
  return no_session(fmt::format("expected LIKE 'pattern' or the end at offset {}", token.at));
}

}  // namespace

std::optional<SessionStatement> read_session_statement(std::string_view statement) {
  SqlTokens tokens(statement);
  const auto first = tokens.next();
  if (first.is_word("set")) return read_set(tokens);
  if (first.is_word("commit") || first.is_word("rollback") || first.is_word("use"))
    return SessionStatement{};
  if (first.is_word("begin") || first.is_word("start"))
    return no_session("there are no transactions: each statement takes effect at once");
  if (!first.is_word("show")) return std::nullopt;
  const auto what = tokens.next();
  if (what.is_word("meta")) return with_like({.is = Is::meta}, tokens);
  if (what.is_word("scroll")) return with_like({.is = Is::scroll}, tokens);
  if (what.is_word("warnings")) return with_like({.is = Is::warnings}, tokens);
  if (!what.is_word("plan") && !what.is_word("profile")) return std::nullopt;
  if (tokens.next().kind != Kind::end) return no_session("expected the end after SHOW PLAN");
  return SessionStatement{.is = Is::inspected,
                          .text = what.is_word("plan") ? "SHOW PLAN" : "SHOW PROFILE"};
}

std::string write_inspection(std::string_view select, std::string_view what) {
  return fmt::format("SET profiling=1; {}; {}", select, what);
}

}  // namespace karmad
