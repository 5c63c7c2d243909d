#include "balancer/mysql/local_statement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>

#include "agent/dialect/manticore_sql/sql_tokens.hpp"
#include "agent/json/json_line.hpp"
#include "config/text/source_text.hpp"

namespace karmad {
namespace {

using TokenKind = SqlToken::Kind;
using MysqlRow = std::vector<std::string>;

/// The tokens of a statement, one of which can be looked at.
struct LookAhead {
  explicit LookAhead(std::string_view statement) : tokens(statement), now(tokens.next()) {}
  void go_on() { now = tokens.next(); }
  bool take_word(std::string_view word) {
    if (!now.is_word(word)) return false;
    go_on();
    return true;
  }
  bool take_sign(char sign) {
    if (!now.is_sign(sign)) return false;
    go_on();
    return true;
  }
  bool at_end() {
    take_sign(';');
    return now.kind == TokenKind::end;
  }
  bool take_any(std::initializer_list<std::string_view> words) {
    return std::ranges::any_of(words, [this](auto word) { return take_word(word); });
  }

  SqlTokens tokens;
  SqlToken now;
};

std::string inner_text(const SqlToken& token) {
  const bool quoted = token.kind == TokenKind::quoted || token.kind == TokenKind::name;
  return std::string(quoted ? token.text.substr(1, token.text.size() - 2) : token.text);
}

MysqlLocalAnswer rows_answer(const MysqlRow& columns, const std::vector<MysqlRow>& rows) {
  std::string json;
  {
    JsonLine line(json);
    line.add(R"([{"columns":[)");
    for (std::size_t i = 0; i < columns.size(); ++i) {
      line.add(i == 0 ? "{" : ",{");
      line.add_quoted(columns[i]);
      line.add(R"(:{"type":"string"}})");
    }
    line.add(R"(],"data":[)");
    for (std::size_t row = 0; row < rows.size(); ++row) {
      line.add(row == 0 ? "{" : ",{");
      for (std::size_t i = 0; i < columns.size(); ++i) {
        if (i != 0) line.add(',');
        line.add_quoted(columns[i]);
        line.add(':');
        line.add_quoted(rows[row][i]);
      }
      line.add('}');
    }
    line.add(R"(],"total":)");
    line.add(fmt::format("{}", rows.size()));
    line.add(R"(,"error":"","warning":""}])");
  }
  return {std::move(json)};
}

/// `VERSION()`, `DATABASE()` …: nothing for other functions.
std::optional<std::string> value_of_function(std::string_view name,
                                             const MysqlConnectionFacts& facts) {
  if (name == "version") return std::string(kMysqlVersion);
  if (name == "database" || name == "schema") return std::string(facts.database);
  if (name == "connection_id") return fmt::format("{}", facts.id);
  if (name == "last_insert_id") return fmt::format("{}", facts.last_insert_id);
  if (name == "user" || name == "current_user" || name == "session_user" || name == "system_user")
    return fmt::format("{}@{}", facts.user, facts.host.empty() ? "localhost" : facts.host);
  return std::nullopt;
}

/// `SELECT` of nothing but variables and functions about the connection.
std::optional<MysqlLocalAnswer> select_locally(std::string_view statement, LookAhead& next,
                                               const MysqlConnectionFacts& facts) {
  constexpr std::size_t kMostItems = 256;
  MysqlRow names;
  MysqlRow values;
  do {
    if (next.now.kind != TokenKind::word || names.size() == kMostItems) return std::nullopt;
    const auto word = lower(next.now.text);
    const auto begin = next.now.at;
    auto end = begin + next.now.text.size();
    next.go_on();
    std::optional<std::string> value;
    if (word.starts_with("@@")) {
      value = value_of_variable(word, facts);
      if (!value)
        return MysqlLocalAnswer{
            MysqlError{1193, "HY000", fmt::format("Unknown system variable '{}'", word.substr(2))}};
    } else {
      value = value_of_function(word, facts);
      const bool has_brackets = next.take_sign('(');
      end = next.now.at + 1;
      if (has_brackets && !next.take_sign(')')) return std::nullopt;
      if (!value || (!has_brackets && word != "current_user")) return std::nullopt;
      if (!has_brackets) end = begin + word.size();
    }
    auto name = std::string(statement.substr(begin, end - begin));
    const bool has_as = next.take_word("as");
    if (has_as ||
        (next.now.kind == TokenKind::word && !next.now.is_word("limit") &&
         !next.now.is_word("from")) ||
        next.now.kind == TokenKind::quoted || next.now.kind == TokenKind::name) {
      name = inner_text(next.now);
      next.go_on();
    }
    names.push_back(std::move(name));
    values.push_back(*std::move(value));
  } while (next.take_sign(','));
  if (next.take_word("from") && !next.take_word("dual")) return std::nullopt;
  if (next.take_word("limit")) next.go_on();
  if (!next.at_end()) return std::nullopt;
  return rows_answer(names, {values});
}

/// `SET` of what has no meaning here.
std::optional<MysqlLocalAnswer> set_locally(LookAhead& next) {
  for (;;) {
    next.take_any({"session", "global", "local"});
    next.take_any({"@@session", "@@global", "@@local"});
    if (next.now.kind != TokenKind::word && next.now.kind != TokenKind::name) return std::nullopt;
    const auto written = lower(inner_text(next.now));
    const auto name = plain_variable(written);
    next.go_on();
    if (!may_be_set(name)) return std::nullopt;
    next.take_sign(':');
    next.take_sign('=');
    if (name == "autocommit" && (next.now.is_word("0") || next.now.is_word("off")))
      return MysqlLocalAnswer{
          MysqlError{.text = "karmad has no transactions: autocommit cannot be switched off"}};
    while (next.now.kind != TokenKind::end && !next.now.is_sign(',') && !next.now.is_sign(';')) {
      if (next.now.kind == TokenKind::unfinished || next.now.kind == TokenKind::ambiguous)
        return std::nullopt;
      next.go_on();
    }
    if (next.take_sign(',')) continue;
    if (!next.at_end()) return std::nullopt;
    return MysqlLocalAnswer{MysqlLocalAnswer::Ok{}};
  }
}

std::optional<MysqlLocalAnswer> show_locally(LookAhead& next, const MysqlConnectionFacts& facts) {
  if (next.take_any({"databases", "schemas"})) return rows_answer({"Databases"}, {{"Manticore"}});
  if (next.take_word("collation"))
    return rows_answer({"Collation", "Charset", "Id", "Default", "Compiled", "Sortlen"},
                       {{"utf8mb4_general_ci", "utf8mb4", "45", "Yes", "Yes", "1"}});
  if (next.take_word("charset") || next.take_word("character"))
    return rows_answer({"Charset", "Description", "Default collation", "Maxlen"},
                       {{"utf8mb4", "UTF-8 Unicode", "utf8mb4_general_ci", "4"}});
  if (next.take_word("warnings")) {
    std::vector<MysqlRow> rows;
    if (!facts.warning.empty()) rows.push_back({"warning", "1000", std::string(facts.warning)});
    return rows_answer({"Level", "Code", "Message"}, rows);
  }
  return std::nullopt;
}

}  // namespace

std::optional<MysqlLocalAnswer> answer_locally(std::string_view statement,
                                               const MysqlConnectionFacts& facts) {
  using Local = MysqlLocalAnswer;
  statement = trimmed(statement);
  // A comment that only MySQL itself executes.
  if (statement.starts_with("/*!") && statement.find("*/") + 2 == statement.size())
    return Local{Local::Ok{}};
  LookAhead next(statement);
  if (next.take_word("select")) return select_locally(statement, next, facts);
  if (next.take_word("set")) return set_locally(next);
  if (next.take_word("show")) return show_locally(next, facts);
  if (next.take_word("use")) {
    const bool named = next.now.kind == TokenKind::word || next.now.kind == TokenKind::name;
    if (!named) return Local{MysqlError{1064, "42000", "syntax error: USE needs a name"}};
    return Local{Local::UseDatabase{inner_text(next.now)}};
  }
  if (next.take_any({"commit", "rollback"})) return Local{Local::Ok{}};
  if (next.take_any({"begin", "start"}))
    return Local{MysqlError{.text = "karmad has no transactions: each statement takes effect at "
                                    "once"}};
  return std::nullopt;
}

bool only_reads(std::string_view statement) {
  LookAhead next(statement);
  return next.take_any({"select", "show", "desc", "describe", "call", "explain", "set"});
}

bool makes_documents(std::string_view statement) {
  LookAhead next(statement);
  return next.take_any({"insert", "replace"});
}

}  // namespace karmad
