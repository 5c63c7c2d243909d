#include "balancer/mysql/session_state.hpp"

#include <fmt/format.h>

#include "agent/dialect/fronts/sql/foreign_forms.hpp"
#include "balancer/schema/schema.hpp"
#include "config/text/source_text.hpp"

namespace karmad::mysql {
namespace {

using TokenKind = sql::Token::Kind;

/// Whether a text is a SELECT without FROM that asks for facts about the connection, or a UNION: a
/// mirror would answer about itself, or not at all.
bool is_about_connection(std::string_view text) {
  sql::Tokens tokens(text);
  bool is = false;
  sql::Token before;
  for (auto token = tokens.next(); token.kind != TokenKind::end; token = tokens.next()) {
    if (token.kind == TokenKind::ambiguous || token.kind == TokenKind::unfinished) return false;
    if (token.is_word("from")) return false;
    const bool calls = token.is_sign('(') && before.kind == TokenKind::word;
    is = is || token.text.starts_with('@') || token.is_word("union") ||
         token.is_word("current_user") || names_charset(before, token) ||
         (calls && schema_fact(lower(before.text), {}));
    before = token;
  }
  return is;
}

/// Carries out a SELECT without FROM. Nothing: it asks nothing about the connection.
std::optional<LocalAnswer> select_locally(std::string_view statement,
                                          const ConnectionFacts& connection) {
  if (statement.size() > sql::kLongestSchemaStatement || !is_about_connection(statement))
    return std::nullopt;
  const auto facts = schema_facts(connection);
  const auto rows = rows_of(statement, tables_named(statement, {}, facts), facts);
  if (!rows) return error_of_answer(rows.error().status, rows.error().reason);
  return result_set_of(*rows);
}

/// Whether a text is UNLOCK TABLES or LOCK TABLES … READ, as programs that make copies send them.
bool is_read_lock(std::string_view text) {
  const auto plain = sql::without_executable_comments(text);
  sql::Tokens tokens(plain);
  const auto verb = tokens.next();
  const auto what = tokens.next();
  if (!what.is_word("tables") && !what.is_word("table")) return false;
  const auto ends = [](const sql::Token& token) {
    return token.kind == TokenKind::end || token.is_sign(';');
  };
  auto token = tokens.next();
  if (verb.is_word("unlock")) return ends(token);
  bool reads = verb.is_word("lock") && !ends(token);
  for (auto last = token; reads && !ends(token); last = token) {
    token = tokens.next();
    if (ends(token) || token.is_sign(',')) reads = last.is_word("read") || last.is_word("local");
  }
  return reads;
}

std::optional<LocalAnswer> answer_session_locally(sql::SessionStatement statement,
                                                  const ConnectionFacts& facts) {
  using enum sql::SessionStatement::Is;
  if (statement.is == meta || statement.is == scroll || statement.is == inspected)
    return std::nullopt;
  if (statement.is != warnings) return statement;
  ResultSet rows = text_rows({"Level", "Code", "Message"});
  rows.columns[1].type = "uint";
  if (facts.warning != nullptr)
    rows.add_row({facts.warning->level, fmt::to_string(facts.warning->code), facts.warning->text});
  return rows;
}

}  // namespace

std::optional<LocalAnswer> answer_locally(sql::StatementText& statement,
                                          const ConnectionFacts& facts) {
  const auto text = trimmed(statement.text);
  // A comment that only MySQL itself executes.
  if (text.starts_with("/*!") && text.find("*/") + 2 == text.size()) return sql::SessionStatement{};
  if (statement.kind == sql::StatementKind::administration && is_read_lock(text))
    return sql::SessionStatement{};
  if (statement.kind == sql::StatementKind::show && sql::shows_variables(text))
    statement.kind = sql::StatementKind::schema;  // its own come first
  if (statement.kind != sql::StatementKind::select && statement.kind != sql::StatementKind::session)
    return std::nullopt;
  if (statement.kind == sql::StatementKind::select)
    if (auto answer = select_locally(statement.text, facts)) return answer;
  auto read = sql::read_statement(statement.text, statement.kind);
  if (!read && statement.kind == sql::StatementKind::select) return std::nullopt;  // refused later
  if (!read) return Error{1064, "42000", std::move(read.error().reason)};
  if (auto* const session = std::get_if<sql::SessionStatement>(&*read))
    return answer_session_locally(std::move(*session), facts);
  statement.read = std::make_shared<const sql::Statement>(*std::move(read));
  return std::nullopt;
}

}  // namespace karmad::mysql
