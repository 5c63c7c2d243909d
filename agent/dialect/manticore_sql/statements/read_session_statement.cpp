#include "agent/dialect/manticore_sql/statements/read_session_statement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "agent/dialect/manticore_sql/sql_tokens.hpp"
#include "config/text/source_text.hpp"

namespace karmad {
namespace {

using Kind = SqlToken::Kind;
using Is = SessionStatement::Is;

/// Variables without effect on the answers of karmad, in lower case.
constexpr std::array<std::string_view, 25> kIdleVariables{"names",
                                                          "character",
                                                          "charset",
                                                          "character_set_client",
                                                          "character_set_connection",
                                                          "character_set_results",
                                                          "collation_connection",
                                                          "profiling",
                                                          "sql_mode",
                                                          "time_zone",
                                                          "wait_timeout",
                                                          "interactive_timeout",
                                                          "net_read_timeout",
                                                          "net_write_timeout",
                                                          "sql_auto_is_null",
                                                          "sql_safe_updates",
                                                          "sql_quote_show_create",
                                                          "sql_log_bin",
                                                          "foreign_key_checks",
                                                          "unique_checks",
                                                          "transaction",
                                                          "transaction_isolation",
                                                          "tx_isolation",
                                                          "lock_wait_timeout",
                                                          "group_concat_max_len"};

/// Variables with only these values, in lower case.
struct FixedVariable {
  std::string_view name;
  std::array<std::string_view, 4> values;  ///< that may be set; the empty one is none
  std::string_view reason;                 ///< why there are no others
};
constexpr std::array kFixedVariables{
    FixedVariable{"autocommit",
                  {"1", "on", "true", "default"},
                  "autocommit is always 1: each statement takes effect at once"},
    FixedVariable{"sql_select_limit",
                  {"default", "18446744073709551615", "", ""},
                  "sql_select_limit has no effect here; write LIMIT into the statement"}};

SessionStatement no_session(std::string reason) {
  return {.is = Is::refused, .text = std::move(reason)};
}

std::string_view without_quotes_of(const SqlToken& token) {
  const bool quoted = token.kind == Kind::quoted || token.kind == Kind::name;
  return quoted ? token.text.substr(1, token.text.size() - 2) : token.text;
}

/// The name of a variable in lower case, without `@@` and its scope.
std::string bare_name(const SqlToken& token) {
  const auto whole = lower(without_quotes_of(token));
  std::string_view name = whole;
  for (const std::string_view prefix : {"@@", "session.", "local."})
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  return std::string(name);
}

bool ends_assignment(const SqlToken& token) {
  return token.kind == Kind::end || token.is_sign(',') || token.is_sign(';');
}

/// Reads an assignment of SET; `token`: its first token, afterwards the one behind it. The text of
/// the result says why it is refused.
SessionStatement read_assignment(SqlTokens& tokens, SqlToken& token) {
  if (token.is_word("session") || token.is_word("local")) token = tokens.next();
  if (token.is_word("global"))
    return no_session("SET GLOBAL changes a server; send it to the mirrors themselves");
  if (!token.names_table()) return no_session("SET names no variable");
  if (token.text.starts_with('@') && !token.text.starts_with("@@"))
    return no_session("variables of a client are not kept; write the value into the statement");
  const auto name = bare_name(token);
  token = tokens.next();
  if (token.is_sign(':')) token = tokens.next();
  if (token.is_sign('=')) token = tokens.next();
  const auto* const fixed = std::ranges::find(kFixedVariables, name, &FixedVariable::name);
  if (fixed != kFixedVariables.end()) {
    const auto value = lower(without_quotes_of(token));
    if (!ends_assignment(token)) token = tokens.next();
    const bool known =
        !value.empty() && std::ranges::find(fixed->values, value) != fixed->values.end();
    if (!known || !ends_assignment(token)) return no_session(std::string(fixed->reason));
    return {};
  }
  if (std::ranges::find(kIdleVariables, name) == kIdleVariables.end())
    return no_session(fmt::format(
        "SET {} has no effect here, because a statement goes to any mirror; known are "
        "NAMES, CHARACTER SET, autocommit = 1, profiling, sql_mode and the timeouts of connections",
        std::string_view(name).substr(0, 64)));
  for (; !ends_assignment(token); token = tokens.next())
    if (auto trouble = token.trouble()) return no_session(*std::move(trouble));
  return {};
}

/// SET, after its first word.
SessionStatement read_set(SqlTokens& tokens) {
  auto token = tokens.next();
  for (;;) {
    auto assignment = read_assignment(tokens, token);
    if (assignment.is == Is::refused || !token.is_sign(',')) return assignment;
    token = tokens.next();
  }
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
