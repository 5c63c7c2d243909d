#include "balancer/mysql/local_statement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>

#include "agent/dialect/manticore_sql/sql_tokens.hpp"
#include "agent/dialect/manticore_sql/statements/read_session_statement.hpp"
#include "config/text/source_text.hpp"

namespace karmad {
namespace {

using TokenKind = SqlToken::Kind;
using MysqlRow = std::vector<std::string>;

/// The tokens of a statement; `current` is the one to be read next.
struct TokenReader {
  explicit TokenReader(std::string_view statement) : tokens(statement), current(tokens.next()) {}
  void advance() { current = tokens.next(); }
  bool take_word(std::string_view word) {
    if (!current.is_word(word)) return false;
    advance();
    return true;
  }
  bool take_sign(char sign) {
    if (!current.is_sign(sign)) return false;
    advance();
    return true;
  }
  bool at_end() {
    take_sign(';');
    return current.kind == TokenKind::end;
  }
  bool take_any(std::initializer_list<std::string_view> words) {
    return std::ranges::any_of(words, [this](auto word) { return take_word(word); });
  }

  SqlTokens tokens;
  SqlToken current;
};

std::string inner_text(const SqlToken& token) {
  const bool quoted = token.kind == TokenKind::quoted || token.kind == TokenKind::name;
  return std::string(quoted ? token.text.substr(1, token.text.size() - 2) : token.text);
}

struct LocalColumn {
  std::string name;
  std::string_view type = "string";
};

MysqlLocalAnswer rows_answer(const std::vector<LocalColumn>& columns,
                             const std::vector<MysqlRow>& rows) {
  ResultSet set;
  for (const auto& column : columns) set.add_column(column.name, column.type);
  for (const auto& row : rows) set.add_row(std::vector<std::string_view>(row.begin(), row.end()));
  return {std::move(set)};
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

/// An item of the list of a SELECT that is answered here.
struct LocalItem {
  LocalColumn column;
  std::string value;
  bool is_fact = false;  ///< about the connection; otherwise a literal
  bool unknown = false;  ///< a variable without a value; its name is that of the column
};

/// A number of digits and a point, or a text in quotes without escapes.
std::optional<LocalItem> read_literal(TokenReader& reader) {
  const auto token = reader.current;
  LocalItem item{.column = {.name = inner_text(token)}, .value = inner_text(token)};
  reader.advance();
  if (token.kind == TokenKind::quoted) {
    const bool has_escapes = token.text.find('\\') != token.text.npos;
    if (has_escapes || reader.current.kind == TokenKind::quoted) return std::nullopt;
    return item;
  }
  constexpr std::string_view kDigits = "0123456789";
  const bool is_number = token.text.find_first_not_of("0123456789.") == token.text.npos &&
                         token.text.find_first_of(kDigits) != token.text.npos;
  if (!is_number) return std::nullopt;
  item.column.type = token.text.find('.') == token.text.npos ? "long long" : "decimal";
  return item;
}

/// A variable, or a function about the connection.
std::optional<LocalItem> read_fact(std::string_view statement, TokenReader& reader,
                                   const MysqlConnectionFacts& facts) {
  const auto word = lower(reader.current.text);
  const auto begin = reader.current.at;
  auto end = begin + word.size();
  reader.advance();
  std::optional<std::string> value;
  const bool is_variable = word.starts_with("@@");
  if (is_variable) {
    value = value_of_variable(word, facts);
  } else {
    value = value_of_function(word, facts);
    const bool has_brackets = reader.take_sign('(');
    if (has_brackets) end = reader.current.at + 1;
    if (has_brackets && !reader.take_sign(')')) return std::nullopt;
    if (!value || (!has_brackets && word != "current_user")) return std::nullopt;
  }
  return LocalItem{.column = {.name = std::string(statement.substr(begin, end - begin))},
                   .value = value.value_or(std::string()),
                   .is_fact = true,
                   .unknown = !value};
}

bool is_alias(const SqlToken& token) {
  if (token.kind == TokenKind::quoted || token.kind == TokenKind::name) return true;
  return token.kind == TokenKind::word && !token.is_word("limit") && !token.is_word("from") &&
         std::string_view("0123456789.@").find(token.text.front()) == std::string_view::npos;
}

std::optional<LocalItem> read_item(std::string_view statement, TokenReader& reader,
                                   const MysqlConnectionFacts& facts) {
  const bool is_word = reader.current.kind == TokenKind::word;
  if (!is_word && reader.current.kind != TokenKind::quoted) return std::nullopt;
  const char first = reader.current.text.front();
  const bool is_literal = !is_word || first == '.' || (first >= '0' && first <= '9');
  auto item = is_literal ? read_literal(reader) : read_fact(statement, reader, facts);
  if (!item) return std::nullopt;
  const bool has_as = reader.take_word("as");
  if (is_alias(reader.current)) {
    if (!item->unknown) item->column.name = inner_text(reader.current);
    reader.advance();
  } else if (has_as) {
    return std::nullopt;
  }
  return item;
}

/// Refuses a SELECT without FROM that has facts about the connection among other things: a mirror
/// would answer with its own.
std::optional<MysqlLocalAnswer> refuse_mixed_facts(std::string_view statement,
                                                   const MysqlConnectionFacts& facts) {
  bool has_facts = false;
  for (TokenReader reader(statement); reader.current.kind != TokenKind::end;) {
    const auto token = reader.current;
    if (token.trouble() || token.is_word("from")) return std::nullopt;
    reader.advance();
    if (token.kind != TokenKind::word) continue;
    has_facts |= token.text.starts_with("@@") ||
                 (reader.current.is_sign('(') && value_of_function(lower(token.text), facts));
  }
  if (!has_facts) return std::nullopt;
  return MysqlLocalAnswer{
      MysqlError{1064, "42000",
                 "a SELECT without FROM that has @@variables, VERSION(), DATABASE(), USER(), "
                 "CONNECTION_ID() or LAST_INSERT_ID() in its list may have nothing else there but "
                 "plain numbers and texts in quotes"}};
}

/// `SELECT` of nothing but variables, functions about the connection, and literals.
std::optional<MysqlLocalAnswer> select_locally(std::string_view statement, TokenReader& reader,
                                               const MysqlConnectionFacts& facts) {
  constexpr std::size_t kMostItems = 256;
  std::vector<LocalColumn> columns;
  MysqlRow values;
  bool has_facts = false;
  std::optional<std::string> unknown;
  do {
    auto item = columns.size() == kMostItems ? std::nullopt : read_item(statement, reader, facts);
    if (!item) return refuse_mixed_facts(statement, facts);
    has_facts |= item->is_fact;
    if (item->unknown && !unknown) unknown = item->column.name.substr(2);
    columns.push_back(std::move(item->column));
    values.push_back(std::move(item->value));
  } while (reader.take_sign(','));
  if (reader.take_word("from") && !reader.take_word("dual")) return std::nullopt;
  if (reader.take_word("limit")) reader.advance();
  if (!reader.at_end()) return refuse_mixed_facts(statement, facts);
  if (!has_facts) return std::nullopt;
  if (unknown)
    return MysqlLocalAnswer{
        MysqlError{1193, "HY000", fmt::format("Unknown system variable '{}'", *unknown)}};
  return rows_answer(columns, {values});
}

std::optional<MysqlLocalAnswer> show_locally(TokenReader& reader,
                                             const MysqlConnectionFacts& facts) {
  if (reader.take_any({"databases", "schemas"}))
    return rows_answer({{"Databases"}}, {{"Manticore"}});
  if (reader.take_word("collation"))
    return rows_answer({{"Collation"}, {"Charset"}, {"Id"}, {"Default"}, {"Compiled"}, {"Sortlen"}},
                       {{"utf8mb4_general_ci", "utf8mb4", "45", "Yes", "Yes", "1"}});
  if (reader.take_word("charset") || reader.take_word("character"))
    return rows_answer({{"Charset"}, {"Description"}, {"Default collation"}, {"Maxlen"}},
                       {{"utf8mb4", "UTF-8 Unicode", "utf8mb4_general_ci", "4"}});
  if (reader.take_word("warnings")) {
    std::vector<MysqlRow> rows;
    if (!facts.warning.empty()) rows.push_back({"warning", "1000", std::string(facts.warning)});
    return rows_answer({{"Level"}, {"Code"}, {"Message"}}, rows);
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
  TokenReader reader(statement);
  if (reader.take_word("select")) return select_locally(statement, reader, facts);
  if (reader.take_word("show")) return show_locally(reader, facts);
  if (reader.take_word("use")) {
    const bool named =
        reader.current.kind == TokenKind::word || reader.current.kind == TokenKind::name;
    if (!named) return Local{MysqlError{1064, "42000", "syntax error: USE needs a name"}};
    return Local{Local::UseDatabase{inner_text(reader.current)}};
  }
  if (!reader.current.is_word("set") && !reader.take_any({"commit", "rollback", "begin", "start"}))
    return std::nullopt;
  auto read = read_session_statement(statement);
  if (read && read->is == SessionStatement::Is::nothing) return Local{Local::Ok{}};
  if (read && read->is == SessionStatement::Is::refused)
    return Local{MysqlError{1064, "42000", std::move(read->text)}};
  return std::nullopt;
}

MysqlStatementKind kind_of_mysql(std::string_view statement) {
  TokenReader reader(statement);
  if (reader.at_end()) return MysqlStatementKind::empty;
  if (reader.take_word("select")) return MysqlStatementKind::select;
  if (reader.take_any({"show", "desc", "describe", "call", "explain"}))
    return MysqlStatementKind::description;
  if (reader.take_any({"insert", "replace"})) return MysqlStatementKind::insert;
  if (reader.take_any({"update", "delete"})) return MysqlStatementKind::change;
  return MysqlStatementKind::other;
}

}  // namespace karmad
