#include "balancer/mysql/local_statement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "config/text/source_text.hpp"

namespace karmad {
namespace {

using TokenKind = SqlToken::Kind;
using MysqlRow = std::vector<std::string>;

/// Steps through the tokens of a list; behind the last one `current` is one of kind `end`.
struct ListReader {
  explicit ListReader(SqlSpan list) : rest(list) { advance(); }
  void advance() {
    current = rest.empty() ? SqlToken() : rest.front();
    if (!rest.empty()) rest = rest.subspan(1);
  }
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
  bool at_end() const { return current.kind == TokenKind::end; }

  SqlSpan rest;
  SqlToken current;
};

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
  bool is_null = false;
  bool unknown = false;  ///< a variable without a value; its name is that of the column
};

/// As the search server names it.
std::string_view type_of_number(std::string_view text) {
  if (text.find('.') != text.npos) return "float";
  std::uint32_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc() ? "uint" : "long long";
}

/// A number of digits and a point, or a text in quotes without escapes.
std::optional<LocalItem> read_literal(ListReader& reader) {
  const auto token = reader.current;
  LocalItem item{.column = {.name = std::string(token.inner())},
                 .value = std::string(token.inner())};
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
  item.column.type = type_of_number(token.text);
  return item;
}

/// A variable, or a function about the connection.
std::optional<LocalItem> read_fact(std::string_view statement, ListReader& reader,
                                   const MysqlConnectionFacts& facts) {
  const auto word = lower(reader.current.text);
  const auto begin = reader.current.at;
  auto end = begin + word.size();
  reader.advance();
  std::optional<std::string> value;
  if (word.starts_with('@')) {
    value = value_of_variable(word, facts);
  } else {
    value = value_of_function(word, facts);
    const bool has_brackets = reader.take_sign('(');
    if (has_brackets) end = reader.current.at + 1;
    if (has_brackets && !reader.take_sign(')')) return std::nullopt;
    if (!value || (!has_brackets && word != "current_user")) return std::nullopt;
  }
  return LocalItem{.column = {.name = std::string(statement.substr(begin, end - begin)),
                              .type = word == "connection_id" ? "long long" : "string"},
                   .value = value.value_or(std::string()),
                   .is_fact = true,
                   .is_null = !value,
                   .unknown = !value && word.starts_with("@@")};
}

/// `CONVERT_TZ(…) IS [NOT] NULL`, by which Django asks for tables of time zones: there are none.
std::optional<LocalItem> read_zone_test(std::string_view statement, ListReader& reader) {
  const auto begin = reader.current.at;
  reader.advance();
  if (!reader.take_sign('(')) return std::nullopt;
  while (!reader.at_end() && !reader.current.is_sign(')')) reader.advance();
  if (!reader.take_sign(')') || !reader.take_word("is")) return std::nullopt;
  const bool negated = reader.take_word("not");
  const auto end = reader.current.end();
  if (!reader.take_word("null")) return std::nullopt;
  return LocalItem{
      .column = {.name = std::string(statement.substr(begin, end - begin)), .type = "uint"},
      .value = negated ? "0" : "1",
      .is_fact = true};
}

bool is_alias(const SqlToken& token) {
  if (token.kind == TokenKind::quoted || token.kind == TokenKind::name) return true;
  return token.kind == TokenKind::word && !token.is_word("limit") && !token.is_word("from") &&
         std::string_view("0123456789.@").find(token.text.front()) == std::string_view::npos;
}

std::optional<LocalItem> read_item(std::string_view statement, ListReader& reader,
                                   const MysqlConnectionFacts& facts) {
  const bool is_word = reader.current.kind == TokenKind::word;
  if (!is_word && reader.current.kind != TokenKind::quoted) return std::nullopt;
  const char first = reader.current.text.front();
  const bool is_literal = !is_word || first == '.' || (first >= '0' && first <= '9');
  auto item = is_literal                             ? read_literal(reader)
              : reader.current.is_word("convert_tz") ? read_zone_test(statement, reader)
                                                     : read_fact(statement, reader, facts);
  if (!item) return std::nullopt;
  const bool has_as = reader.take_word("as");
  if (is_alias(reader.current)) {
    if (!item->unknown) item->column.name = std::string(reader.current.inner());
    reader.advance();
  } else if (has_as) {
    return std::nullopt;
  }
  return item;
}

/// Refuses a SELECT without FROM that has facts about the connection among other things: a mirror
/// would answer with its own.
std::optional<MysqlLocalAnswer> refuse_mixed_facts(const SqlSelect& select,
                                                   const MysqlConnectionFacts& facts) {
  bool has_facts = false;
  for (ListReader reader(select.items); !reader.at_end();) {
    const auto token = reader.current;
    reader.advance();
    if (token.kind != TokenKind::word) continue;
    has_facts |= token.text.starts_with('@') ||
                 (reader.current.is_sign('(') && value_of_function(lower(token.text), facts));
  }
  if (!has_facts || !select.table.empty()) return std::nullopt;
  return MysqlLocalAnswer{
      MysqlError{1064, "42000",
                 "a SELECT without FROM that has variables, VERSION(), DATABASE(), USER(), "
                 "CONNECTION_ID() or LAST_INSERT_ID() in its list may have nothing else there but "
                 "plain numbers and texts in quotes"}};
}

/// `SELECT` of nothing but variables, functions about the connection, and literals.
std::optional<MysqlLocalAnswer> select_locally(std::string_view statement, const SqlSelect& select,
                                               const MysqlConnectionFacts& facts) {
  constexpr std::size_t kMostItems = 256;
  const bool from_dual = lower(select.table) == "dual" && !select.unplannable &&
                         select.where.empty() && select.group.empty() && select.facets.empty();
  if (!select.table.empty() && !from_dual) return std::nullopt;
  ListReader reader(select.items);
  std::vector<LocalColumn> columns;
  MysqlRow values;
  std::vector<std::size_t> nulls;
  bool has_facts = false;
  std::optional<std::string> unknown;
  do {
    auto item = columns.size() == kMostItems ? std::nullopt : read_item(statement, reader, facts);
    if (!item) return refuse_mixed_facts(select, facts);
    has_facts |= item->is_fact;
    if (item->is_null) nulls.push_back(columns.size());
    if (item->unknown && !unknown) unknown = item->column.name.substr(2);
    columns.push_back(std::move(item->column));
    values.push_back(std::move(item->value));
  } while (reader.take_sign(','));
  if (reader.take_word("limit")) reader.advance();
  if (!reader.at_end()) return refuse_mixed_facts(select, facts);
  if (!has_facts) return std::nullopt;
  if (unknown)
    return MysqlLocalAnswer{
        MysqlError{1193, "HY000", fmt::format("Unknown system variable '{}'", *unknown)}};
  auto answer = rows_answer(columns, {values});
  for (const auto column : nulls) std::get<ResultSet>(answer.answer).cells[column] = "null";
  return answer;
}

std::optional<MysqlLocalAnswer> answer_session_locally(SessionStatement statement,
                                                       const MysqlConnectionFacts& facts) {
  using Is = SessionStatement::Is;
  switch (statement.is) {
    case Is::nothing:
      return MysqlLocalAnswer{MysqlLocalAnswer::Ok{}};
    case Is::set:
    case Is::begin:
    case Is::commit:
    case Is::rollback:
    case Is::undo:
    case Is::use:
    case Is::kill:
      return MysqlLocalAnswer{std::move(statement)};
    case Is::databases:
      return rows_answer({{"Database"}}, {{"information_schema"}, {"Manticore"}});
    case Is::collations:
      return rows_answer(
          {{"Collation"}, {"Charset"}, {"Id", "long long"}, {"Default"}, {"Compiled"}, {"Sortlen"}},
          {{"utf8_general_ci", "utf8", "33", "Yes", "Yes", "1"},
           {"utf8mb4_general_ci", "utf8mb4", "45", "Yes", "Yes", "1"}});
    case Is::charsets:
      return rows_answer({{"Charset"}, {"Description"}, {"Default collation"}, {"Maxlen"}},
                         {{"utf8", "UTF-8 Unicode", "utf8_general_ci", "3"},
                          {"utf8mb4", "UTF-8 Unicode", "utf8mb4_general_ci", "4"}});
    case Is::warnings: {
      std::vector<MysqlRow> rows;
      if (facts.warning != nullptr)
        rows.push_back({std::string(facts.warning->level), fmt::format("{}", facts.warning->code),
                        facts.warning->text});
      return rows_answer({{"Level"}, {"Code", "uint"}, {"Message"}}, rows);
    }
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<MysqlLocalAnswer> answer_locally(StatementText& statement,
                                               const MysqlConnectionFacts& facts) {
  const auto text = trimmed(statement.text);
  // A comment that only MySQL itself executes.
  if (text.starts_with("/*!") && text.find("*/") + 2 == text.size())
    return MysqlLocalAnswer{MysqlLocalAnswer::Ok{}};
  if (statement.kind != StatementKind::select && statement.kind != StatementKind::session)
    return std::nullopt;
  auto read = read_statement(statement.text, statement.kind);
  if (!read && statement.kind == StatementKind::select) return std::nullopt;  // refused later
  if (!read) return MysqlLocalAnswer{MysqlError{1064, "42000", std::move(read.error().reason)}};
  if (auto* const session = std::get_if<SessionStatement>(&*read))
    return answer_session_locally(std::move(*session), facts);
  statement.read = std::make_shared<const SqlStatement>(*std::move(read));
  return select_locally(statement.text, std::get<SqlSelect>(*statement.read), facts);
}

}  // namespace karmad
