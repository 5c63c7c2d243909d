#include "balancer/status/rows/statements.hpp"

#include "agent/json/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <vector>

namespace karmad {
namespace {

constexpr std::string_view kKnown =
    "SELECT, INSERT, REPLACE, UPDATE, DELETE, CALL; SHOW META, WARNINGS, SCROLL, PLAN, PROFILE, "
    "TABLE t STATUS, TABLE t SETTINGS, CREATE TABLE t, THREADS, VARIABLES, SETTINGS; about karmad: "
    "SHOW TABLES, AGENTS, AGENT STATUS, AGENT 'host:port' STATUS, AGENT table STATUS, STATUS, "
    "VERSION, DESC table (all but VERSION may end with LIKE 'pattern'); SET, USE, COMMIT";
/// Words that begin statements which change a server or its tables.
constexpr std::array<std::string_view, 18> kAdministration{
    "create", "drop",   "alter",    "truncate", "optimize", "flush", "reload", "attach", "import",
    "backup", "freeze", "unfreeze", "lock",     "unlock",   "kill",  "join",   "grant",  "revoke"};
constexpr std::size_t kMaxTokens = 12;  // twice what the longest statement has
constexpr std::size_t kMaxText = 1024;  // of a name or pattern: keys are far shorter
constexpr std::size_t kMaxQuoted = 60;  // of a statement, in an error

struct Token {
  std::string text;
  bool quoted = false;
};

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f';
}
bool is_quote(char c) {
  return c == '\'' || c == '"' || c == '`';
}

bool same_word(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

/// The rest after white space and comments.
std::string_view skip_blanks(std::string_view sql) {
  for (;;) {
    while (!sql.empty() && is_space(sql.front())) sql.remove_prefix(1);
    const bool block = sql.starts_with("/*");
    if (!block && !sql.starts_with("-- ") && !sql.starts_with('#')) return sql;
    const auto end = block ? sql.find("*/", 2) : sql.find('\n');
    if (end == std::string_view::npos) return {};
    sql.remove_prefix(block ? end + 2 : end + 1);
  }
}

/// Removes a quoted text from the front of `sql`; nothing if it is not closed. A quote is written
/// twice or after a backslash; `\%` and `\_` stay unchanged for LIKE.
std::optional<Token> take_quoted(std::string_view& sql) {
  const char quote = sql.front();
  Token token{.quoted = true};
  for (std::size_t i = 1; i < sql.size(); ++i) {
    const char next = i + 1 < sql.size() ? sql[i + 1] : '\0';
    if (sql[i] == '\\' && (is_quote(next) || next == '\\')) {
      token.text += next;
      ++i;
    } else if (sql[i] != quote) {
      token.text += sql[i];
    } else if (next == quote) {
      token.text += quote;
      ++i;
    } else {
      sql.remove_prefix(i + 1);
      return token;
    }
    if (token.text.size() > kMaxText) return std::nullopt;
  }
  return std::nullopt;
}

Token take_word(std::string_view& sql) {
  const auto stop = [](char c) { return is_space(c) || is_quote(c) || c == ';'; };
  const auto end = static_cast<std::size_t>(std::ranges::find_if(sql, stop) - sql.begin());
  Token token{.text = std::string{sql.substr(0, std::min(end, kMaxText))}};
  sql.remove_prefix(end);
  return token;
}

/// Whether the statement reads or changes documents.
bool concerns_tables(std::string_view sql) {
  constexpr std::array<std::string_view, 5> kTableWords{"select", "insert", "replace", "update",
                                                        "delete"};
  const auto ends_word = [](char c) {
    return !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') &&
           c != '_';
  };
  return std::ranges::any_of(kTableWords, [&](std::string_view word) {
    return same_word(sql.substr(0, word.size()), word) &&
           (sql.size() == word.size() || ends_word(sql[word.size()]));
  });
}

struct Tokens {
  std::vector<Token> tokens;
  std::string problem;  ///< why there are no more of them
};

Tokens tokenize(std::string_view sql) {
  Tokens result;
  for (sql = skip_blanks(sql); !sql.empty(); sql = skip_blanks(sql)) {
    if (result.tokens.size() == kMaxTokens) {
      result.problem = "too many words";
      return result;
    }
    if (sql.front() == ';') {
      while (!sql.empty() && (sql.front() == ';' || is_space(sql.front()))) sql.remove_prefix(1);
      if (!skip_blanks(sql).empty()) result.problem = "more than one statement";
      return result;
    }
    if (!is_quote(sql.front())) {
      result.tokens.push_back(take_word(sql));
    } else if (auto token = take_quoted(sql)) {
      result.tokens.push_back(std::move(*token));
    } else {
      result.problem = "a quoted text that does not end, or is too long";
      return result;
    }
  }
  return result;
}

/// Walks over the tokens of a statement.
class Reader {
 public:
  explicit Reader(const std::vector<Token>& tokens) : tokens_(tokens) {}

  bool at_end() const { return at_ == tokens_.size(); }

  /// Steps over these words if they come next.
  bool take(std::initializer_list<std::string_view> words) {
    if (tokens_.size() - at_ < words.size()) return false;
    const auto is_word = [](const Token& token, std::string_view word) {
      return !token.quoted && same_word(token.text, word);
    };
    const auto next = tokens_.begin() + static_cast<std::ptrdiff_t>(at_);
    if (!std::equal(words.begin(), words.end(), next,
                    [&](auto word, const Token& token) { return is_word(token, word); }))
      return false;
    at_ += words.size();
    return true;
  }

  std::optional<std::string> take_name() {
    if (at_end() || tokens_[at_].text.empty()) return std::nullopt;
    return tokens_[at_++].text;
  }

  /// The end of the statement, or LIKE and a pattern, which is stored in `like`.
  bool ends(std::optional<std::string>& like) {
    if (at_end()) return true;
    if (!take({"like"}) || at_end() || !tokens_[at_].quoted) return false;
    like = tokens_[at_++].text;
    return at_end();
  }

 private:
  const std::vector<Token>& tokens_;
  std::size_t at_ = 0;
};

/// Reads statements with SHOW AGENT. A table called `status` needs no quotes: in two such words the
/// first is the name.
std::optional<StatusStatement> read_agent(Reader after_agent) {
  StatusStatement all{.show = Show::agents};
  if (auto reader = after_agent; reader.take({"status"}) && reader.ends(all.like)) return all;
  StatusStatement one{.show = Show::agent};
  auto name = after_agent.take_name();
  if (!name || !after_agent.take({"status"}) || !after_agent.ends(one.like)) return std::nullopt;
  one.name = std::move(*name);
  return one;
}

std::optional<StatusStatement> read_statement(Reader reader) {
  if (reader.take({"show", "agent"})) return read_agent(reader);
  StatusStatement statement;
  if (reader.take({"show", "agents"})) {
    statement.show = Show::mirrors;
  } else if (reader.take({"show", "tables"})) {
    statement.show = Show::tables;
  } else if (reader.take({"show", "status"})) {
    statement.show = Show::status;
  } else if (reader.take({"show", "version"})) {
    statement.show = Show::version;
    if (!reader.at_end()) return std::nullopt;
  } else if (reader.take({"desc"}) || reader.take({"describe"})) {
    statement.show = Show::table;
    auto name = reader.take_name();
    if (!name) return std::nullopt;
    statement.name = std::move(*name);
  } else {
    return std::nullopt;
  }
  if (!reader.ends(statement.like)) return std::nullopt;
  return statement;
}

bool is_administration(const Token& first) {
  return !first.quoted && std::ranges::any_of(kAdministration, [&](std::string_view word) {
    return same_word(first.text, word);
  });
}

UnknownStatement unknown(std::string_view sql, std::string_view problem) {
  const auto begin = skip_blanks(sql);
  const bool cut = begin.size() > kMaxQuoted;
  return {fmt::format("{} in '{}{}'; known statements: {}", problem,
                      clean_utf8(begin.substr(0, kMaxQuoted)), cut ? "..." : "", kKnown)};
}

}  // namespace

AnyStatement parse_statement(std::string_view sql) {
  if (concerns_tables(skip_blanks(sql))) return SelectStatement{};
  const auto [tokens, problem] = tokenize(sql);
  if (!tokens.empty() && is_administration(tokens.front()))
    return UnknownStatement{
        fmt::format("{} changes servers or their tables, which karmad does not pass on; send it to "
                    "the mirrors themselves",
                    tokens.front().text)};
  if (!problem.empty()) return unknown(sql, problem);
  if (tokens.empty()) return UnknownStatement{fmt::format("no statement; known: {}", kKnown)};
  if (auto statement = read_statement(Reader{tokens})) return std::move(*statement);
  return unknown(sql, "unknown statement");
}

}  // namespace karmad
