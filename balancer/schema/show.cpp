#include "balancer/schema/schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "agent/dialect/fronts/sql/foreign_forms.hpp"
#include "agent/json/json_text.hpp"
#include "balancer/schema/translate.hpp"
#include "config/text/paragraphs.hpp"
#include "config/text/source_text.hpp"

// The bytes of views.txt.
extern "C" const char karmad_schema_views[];      // NOLINT(readability-identifier-naming): a symbol
extern "C" const char karmad_schema_views_end[];  // NOLINT(readability-identifier-naming)

namespace karmad {
namespace {

/// A SHOW as a SELECT: its words, and the text of the SELECT (views.txt).
struct View {
  std::string words;
  std::string select;
};

const std::vector<View>& views() {
  static const auto all = [] {
    std::vector<View> read;
    for (const auto& [heads, select] :
         read_paragraphs(karmad_schema_views, karmad_schema_views_end))
      for (std::size_t at = 0, end = 0; end < heads.size(); at = end + 2) {
        end = std::min(heads.find(", ", at), heads.size());
        read.push_back({heads.substr(at, end - at), select});
      }
    return read;
  }();
  return all;
}

/// Those of the columns of views.txt whose names have blanks.
constexpr std::array<std::string_view, 5> kWithBlank{
    "Database_Collation", "Time_zone", "Execute_at", "Interval_value", "Interval_field"};

std::string replaced(std::string_view text, std::string_view mark, std::string_view by) {
  std::string out;
  for (auto at = text.find(mark); at != text.npos; at = text.find(mark)) {
    out.append(text.substr(0, at)).append(by);
    text.remove_prefix(at + mark.size());
  }
  return out.append(text);
}

/// The SELECT of columns without rows.
std::string empty_select(std::string_view columns) {
  std::string out = "SELECT ";
  for (; !columns.empty();) {
    const auto name = take_until(columns, ' ');
    const bool blank = std::ranges::find(kWithBlank, name) != kWithBlank.end();
    out += fmt::format("'' AS `{}`{}", blank ? replaced(name, "_", " ") : name,
                       columns.empty() ? "" : ", ");
  }
  return out + " FROM dual WHERE FALSE";
}

/// A statement for a mirror about the table that the tokens name.
OrError<SchemaStatement> passed(std::string_view before, SchemaTokens& tokens,
                                std::string_view behind) {
  if (!tokens.now().names_table()) return refused("syntax error: expected a table");
  SchemaStatement out{.is = SchemaStatement::Is::passed, .text = std::string(before)};
  out.table = tokens.take_path().back();
  out.table_begin = out.text.size();
  out.text += out.table;
  out.table_end = out.text.size();
  out.text += behind;
  return out;
}

/// Reads what stands behind SHOW: the words of a view, and what they are about.
class ShowReader {
 public:
  ShowReader(SchemaTokens& tokens, const SchemaFacts& facts) : tokens_(tokens), facts_(facts) {}

  OrError<SchemaStatement> run() {
    const auto begin = tokens_.now().at;
    auto words = object();
    const auto given = tokens_.statement().substr(begin, tokens_.end_before() - begin);
    if (words == "create table") return passed("SHOW CREATE TABLE ", tokens_, "");
    if (words == "create database")
      from_ = tokens_.now().names_table() ? tokens_.take_path().back() : facts_.schema;
    if (words == "columns" || words == "index") {
      if (!take_from() || !tokens_.now().names_table())
        return refused("syntax error: expected FROM and a table behind SHOW " + words);
      of_ = tokens_.take_path();
    }
    if (words == "grants" && tokens_.take_word("for"))
      while (!tokens_.at_end()) tokens_.step();
    auto view = std::ranges::find(views(), full_ ? "full " + words : words, &View::words);
    if (view == views().end()) view = std::ranges::find(views(), words, &View::words);
    if (view == views().end())
      return refused(fmt::format("unknown statement: SHOW {}", shortened_utf8(given)));
    if (take_from()) from_ = tokens_.take_path().back();
    return made_of(*view);
  }

 private:
  bool take_from() { return tokens_.take_word("from", "in"); }

  /// The words that name the object, in the form of views.txt.
  std::string object() {
    for (bool more = true; more;) {
      full_ |= tokens_.now().is_word("full");
      more = tokens_.take_word("full", "extended", "global", "session", "local");
    }
    if (tokens_.take_word("count")) {
      while (tokens_.take_sign('(', '*', ')')) {
      }
      const bool errors = tokens_.take_word("errors");
      if (!errors) tokens_.take_word("warnings");
      return errors ? "count errors" : "count warnings";
    }
    auto words = lower(tokens_.take_text());
    if (words == "fields") words = "columns";
    if (words == "indexes" || words == "keys") words = "index";
    // Of the views that have several words, the next ones belong to them.
    const auto begins = [](std::string_view begin) {
      return std::ranges::any_of(views(), [&](const View& view) {
        return view.words.starts_with(begin) &&
               (view.words.size() == begin.size() || view.words[begin.size()] == ' ');
      });
    };
    if (words == "create") {
      const bool database = tokens_.now().is_word("database") || tokens_.now().is_word("schema");
      tokens_.step();
      if (database && tokens_.take_word("if")) {
        tokens_.take_word("not");
        tokens_.take_word("exists");
      }
      return database ? "create database" : "create table";
    }
    while (tokens_.now().kind == sql::Token::Kind::word &&
           begins(words + " " + lower(tokens_.now().text)))
      words += " " + lower(tokens_.take_text());
    return words;
  }

  OrError<SchemaStatement> made_of(const View& view) {
    auto schema = from_.value_or(of_.size() > 1 ? of_.front() : facts_.schema);
    const auto name = schema;
    if (!sql::is_system_schema(schema)) schema = facts_.schema;  // all names mean the only one
    SchemaStatement out;
    if (!of_.empty() && schema == facts_.schema) out.table = of_.back();
    auto text = view.select;
    if (text.starts_with('!')) text = empty_select(std::string_view(view.select).substr(1));
    if (!facts_.variable) text = replaced(text, "@@warning_count", "0");  // no connection has any
    const auto plain = [](std::string_view name_of) {
      std::string text_of(name_of);
      std::erase_if(text_of, [](char c) { return std::string_view("'\"`\\{}").contains(c); });
      return text_of;
    };
    text = replaced(text, "{schema}", sql_literal(schema));
    text = replaced(text, "{name}", plain(shortened_utf8(name)));
    text = replaced(text, "{user}", plain(facts_.account()));
    text =
        replaced(text, "{rights}", facts_.read_only ? "SELECT" : "SELECT, INSERT, UPDATE, DELETE");
    if (!of_.empty()) text = replaced(text, "{table}", sql_literal(of_.back()));
    auto condition = condition_on(first_column(text));
    if (!condition) return std::unexpected(std::move(condition.error()));
    out.text = fmt::format("SELECT * FROM ({}) AS shown{}", text, *condition);
    return out;
  }

  /// The name of the first column of a SELECT above.
  static std::string first_column(std::string_view select) {
    SchemaTokens tokens(select);
    while (!tokens.take_word("as")) tokens.step();
    return std::string(tokens.now().text);
  }

  /// LIKE, about the first column; WHERE; what may follow them.
  OrError<std::string> condition_on(std::string_view first) {
    if (tokens_.take_word("where")) {
      const auto from = tokens_.now().at;
      while (!tokens_.at_end()) tokens_.step();
      const auto text = tokens_.statement().substr(from, tokens_.end_before() - from);
      return fmt::format(" WHERE {}", text);
    }
    std::string out;
    if (tokens_.take_word("like")) {
      if (tokens_.now().kind != sql::Token::Kind::quoted)
        return refused("LIKE needs a pattern in quotes");
      const auto from = tokens_.now().at;
      tokens_.take_text();
      const auto pattern = tokens_.statement().substr(from, tokens_.end_before() - from);
      out = fmt::format(" WHERE {} LIKE {}", first, pattern);
    }
    if (tokens_.take_word("limit"))
      while (!tokens_.at_end()) tokens_.step();
    if (tokens_.at_end()) return out;
    return refused(fmt::format(
        "syntax error: expected LIKE 'pattern', WHERE or the end at offset {}", tokens_.now().at));
  }

  SchemaTokens& tokens_;
  const SchemaFacts& facts_;
  bool full_ = false;
  std::vector<std::string> of_;      ///< FROM table, as a path
  std::optional<std::string> from_;  ///< FROM schema
};

/// DESCRIBE t, DESCRIBE t column, EXPLAIN t: as SHOW COLUMNS. DESC t TABLE: passed on.
OrError<SchemaStatement> describe(SchemaTokens& tokens, const SchemaFacts& facts) {
  const bool passes = tokens.now().is_word("desc");
  tokens.step();
  if (!tokens.now().names_table() && tokens.now().kind != sql::Token::Kind::quoted)
    return refused("syntax error: expected a table");
  const auto begin = tokens.now().at;
  if (passes) return passed("DESC ", tokens, " TABLE");
  if (tokens.now().kind == sql::Token::Kind::quoted)
    tokens.step();
  else
    tokens.take_path();
  const auto table = tokens.statement().substr(begin, tokens.end_before() - begin);
  std::string like;
  tokens.take_word("like");
  if (!tokens.at_end()) like = fmt::format(" LIKE {}", sql_literal(tokens.take_text()));
  if (!tokens.at_end())
    return refused("syntax error: expected the end behind DESCRIBE table column");
  const auto text = fmt::format("SHOW COLUMNS FROM {}{}",
                                table.starts_with('\'') || table.starts_with('"')
                                    ? "`" + std::string(table.substr(1, table.size() - 2)) + "`"
                                    : std::string(table),
                                like);
  return read_schema_statement(text, facts);
}

}  // namespace

OrError<SchemaStatement> read_schema_statement(std::string_view statement,
                                               const SchemaFacts& facts) {
  const auto text = sql::without_executable_comments(statement);
  SchemaTokens tokens(text);
  if (tokens.now().is_word("select")) return SchemaStatement{.text = text};
  if (tokens.take_word("show")) return ShowReader(tokens, facts).run();
  return describe(tokens, facts);
}

}  // namespace karmad
