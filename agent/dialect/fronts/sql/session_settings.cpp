#include "agent/dialect/fronts/sql/sql_builders.hpp"

#include <algorithm>

#include "agent/json/json_text.hpp"
#include "config/text/number_in.hpp"
#include "config/text/source_text.hpp"

namespace karmad::sql {
namespace {

/// Steps through the tokens; behind the last one is one of kind `end`.
class SettingTokens {
 public:
  explicit SettingTokens(Span tokens) : tokens_(tokens) {}
  Token now() const { return tokens_.empty() ? Token() : tokens_.front(); }
  void step() { tokens_ = tokens_.subspan(tokens_.empty() ? 0 : 1); }
  bool take_word(auto... words) { return take_if(now().is_word(words...)); }
  bool take_sign(char sign) { return take_if(now().is_sign(sign)); }
  bool at_end() const { return tokens_.empty(); }

 private:
  bool take_if(bool wanted) {
    if (wanted) step();
    return wanted;
  }

  Span tokens_;
};

/// Reads an expression up to the next comma outside of brackets, or to the end.
OrError<std::string_view> read_value(SettingTokens& tokens, bool with_commas) {
  const auto first = tokens.now();
  auto last = first;
  int depth = 0;
  for (; !tokens.at_end(); tokens.step()) {
    const auto token = tokens.now();
    if (token.is_sign(',') && depth == 0 && !with_commas) break;
    if (token.is_sign('(')) ++depth;
    if (token.is_sign(')') && --depth < 0) break;
    last = token;
  }
  if (depth != 0) return refused("SET: brackets do not match at offset {}", last.at);
  if (last.text.empty() || (last.at == first.at && first.is_sign(',')))
    return refused("syntax error: SET assigns no value");
  return std::string_view(first.text.data(), last.end() - first.at);
}

/// Whether the token names a scope that is not the session.
bool is_of_server(std::string_view scope) {
  return is_any_of(scope, "global", "persist", "persist_only");
}

OrError<SessionSetting> read_setting(SettingTokens& tokens) {
  constexpr std::string_view kOfServer =
      "SET GLOBAL changes a server; send it to the mirrors themselves";
  if (is_of_server(lower(tokens.now().text))) return refused(std::string(kOfServer));
  const bool has_scope = tokens.take_word("session", "local");
  const auto first = tokens.now();
  if (!first.names_table()) return refused("SET names no variable");
  SessionSetting setting{.name = lower(first.inner()), .value = {}};
  tokens.step();
  if (const auto next = tokens.now(); first.is_variable_with(next)) {
    setting.name += lower(next.inner());
    tokens.step();
  }
  bool needs_sign = false;
  if (setting.name == "names" || setting.name == "charset" ||
      (setting.name == "character" && tokens.take_word("set"))) {
    setting.name = "names";
  } else if (setting.name == "transaction") {
    // Without SESSION it is about the next transaction only.
    if (!has_scope) setting.name = "next_transaction";
  } else {
    needs_sign = true;
    std::string_view name = setting.name;
    if (name.starts_with("@@")) name.remove_prefix(2);
    const auto scope = name.substr(0, name.find('.'));
    if (scope.size() < name.size() && is_of_server(scope)) return refused(std::string(kOfServer));
    if (scope == "session" || scope == "local")
      name.remove_prefix(std::min(scope.size() + 1, name.size()));
    if (name.empty() || is_digit(name.front())) return refused("SET names no variable");
    if (name.starts_with("read_preference"))
      return refused(
          "a read preference is given with a request over HTTP; SET has no effect on it");
    setting.name = std::string(name);
  }
  tokens.take_sign(':');
  if (!tokens.take_sign('=') && needs_sign)
    return refused("syntax error: SET {}: expected = behind it", shortened_utf8(setting.name));
  auto value = read_value(tokens, !needs_sign && setting.name != "names");
  if (!value) return std::unexpected(std::move(value.error()));
  setting.value = *value;
  return setting;
}

/// The words behind START TRANSACTION.
OrError<SessionStatement> read_characteristics(SettingTokens& tokens) {
  SessionStatement statement{.is = SessionStatement::Is::begin};
  for (bool more = !tokens.at_end(); more; more = tokens.take_sign(',')) {
    bool known = false;
    if (tokens.take_word("read")) {
      statement.read_only = tokens.take_word("only");
      known = statement.read_only || tokens.take_word("write");
    } else if (tokens.take_word("with")) {
      known = tokens.take_word("consistent") && tokens.take_word("snapshot");
    }
    if (!known)
      return refused(
          "syntax error: START TRANSACTION takes WITH CONSISTENT SNAPSHOT, READ ONLY and READ "
          "WRITE");
  }
  return statement;
}

/// The words behind COMMIT and ROLLBACK. Those that are not known stay.
SessionStatement read_end(SessionStatement::Is is, SettingTokens& tokens) {
  SessionStatement statement{.is = is};
  tokens.take_word("work");
  auto ahead = tokens;
  if (is == SessionStatement::Is::rollback && ahead.take_word("to")) {
    ahead.take_word("savepoint");
    if (!ahead.now().names_table()) return statement;
    ahead.step();
    tokens = ahead;
    return {.is = SessionStatement::Is::undo};
  }
  if (ahead.take_word("and")) {
    statement.chain = !ahead.take_word("no");
    if (ahead.take_word("chain")) tokens = ahead;
  }
  ahead = tokens;
  if (ahead.take_word("no") && ahead.take_word("release")) tokens = ahead;
  return statement;
}

}  // namespace

OrError<SessionStatement> read_settings(Span all) {
  SettingTokens tokens(all);
  SessionStatement statement{.is = SessionStatement::Is::set};
  do {
    auto setting = read_setting(tokens);
    if (!setting) return std::unexpected(std::move(setting.error()));
    statement.settings.push_back(*std::move(setting));
  } while (tokens.take_sign(','));
  return statement;
}

OrError<SessionStatement> read_transaction(const Token& verb, Span rest) {
  SettingTokens tokens(rest);
  OrError<SessionStatement> statement;
  if (verb.is_word("begin")) {
    tokens.take_word("work");
    statement = SessionStatement{.is = SessionStatement::Is::begin};
  } else if (verb.is_word("start")) {
    if (!tokens.take_word("transaction"))
      return refused("syntax error: expected START TRANSACTION");
    statement = read_characteristics(tokens);
  } else if (verb.is_word("commit", "rollback")) {
    statement = read_end(
        verb.is_word("commit") ? SessionStatement::Is::commit : SessionStatement::Is::rollback,
        tokens);
  } else {  // SAVEPOINT, RELEASE
    const bool names =
        (verb.is_word("savepoint") || tokens.take_word("savepoint")) && tokens.now().names_table();
    if (!names) return refused("syntax error: expected SAVEPOINT and its name");
    tokens.step();
  }
  if (statement && tokens.now().is_word("release"))
    return refused("syntax error: RELEASE is not supported; send {} and end the connection",
                   verb.text);
  if (statement && !tokens.at_end())
    return refused("syntax error: {} is not expected at offset {}",
                   shortened_utf8(tokens.now().text), tokens.now().at);
  return statement;
}

OrError<SessionStatement> read_kill(Span rest) {
  SettingTokens tokens(rest);
  SessionStatement statement{.is = SessionStatement::Is::kill};
  if (!tokens.take_word("hard")) tokens.take_word("soft");
  statement.statement_only = tokens.take_word("query");
  if (!statement.statement_only) tokens.take_word("connection");
  const auto number = number_in<decltype(statement.connection)>(tokens.now().text);
  tokens.step();
  if (!number || !tokens.at_end())
    return refused("syntax error: expected KILL [CONNECTION | QUERY] and a number");
  statement.connection = *number;
  return statement;
}

}  // namespace karmad::sql
