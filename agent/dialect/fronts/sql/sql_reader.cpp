// Drives the parser of sql_grammar.y: gives it the tokens of a statement and keeps what it finds.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "agent/dialect/fronts/sql/foreign_forms.hpp"
#include "agent/dialect/fronts/sql/sql_builders.hpp"
#include "agent/json/json_text.hpp"
#include "config/text/number_in.hpp"
#include "embedded/sql_grammar.h"

namespace karmad::sql {
namespace {

constexpr std::string_view kKnownStatements =
    "SELECT, INSERT, REPLACE, UPDATE, DELETE, CALL; SHOW META, WARNINGS, SCROLL, PLAN, PROFILE, "
    "TABLE t STATUS, TABLE t SETTINGS, CREATE TABLE t, THREADS, VARIABLES, SETTINGS, COLUMNS FROM "
    "t and what else tools of MySQL ask; about karmad: SHOW TABLES, AGENTS, AGENT STATUS, AGENT "
    "'host:port' STATUS, AGENT table STATUS, STATUS, VERSION, DESC table (all but VERSION may end "
    "with LIKE 'pattern'); SET, USE, BEGIN, COMMIT, ROLLBACK, KILL";
constexpr std::string_view kKnownShow =
    "SHOW CREATE TABLE t, SHOW TABLE t STATUS, SHOW TABLE t SETTINGS, SHOW THREADS, SHOW SETTINGS "
    "and SHOW VARIABLES";
constexpr std::size_t kLongestPattern = 1024;  // keys and names are far shorter
constexpr std::size_t kMostQuotedBytes = 60;   // of a statement, in an error
/// Of a statement about karmad or the connection: bounds memory.
constexpr std::size_t kMostKept = 10'000;

/// Bounds the answer of a mirror to CALL UUID_SHORT.
constexpr std::uint32_t kMostShortIds = 100'000;

/// A token as the parser's stack holds it.
struct Piece {
  Token::Kind kind;
  int keyword;
  const char* text;
  std::size_t size;
  std::size_t at;
  int depth;  // of brackets, with its own

  Token token() const { return {kind, keyword, {text, size}, at, {}}; }
};

Piece piece_of(const Token& token, int depth) {
  return {token.kind, token.keyword, token.text.data(), token.text.size(), token.at, depth};
}

/// Whether a word begins a part of a SELECT.
bool is_clause(int keyword) {
  return is_any_of(keyword, SQL_SELECT, SQL_FROM, SQL_WHERE, SQL_GROUP, SQL_WITHIN, SQL_HAVING,
                   SQL_ORDER, SQL_LIMIT, SQL_OPTION, SQL_FACET);
}

ClientError bad_behind_tables(const Token& token) {
  return bad_request(
      "expected WHERE, GROUP BY, ORDER BY or another clause behind FROM at offset {}; a table has "
      "no part, and one of several no alias",
      token.at);
}

ClientError out_of_order(const Token& keyword) {
  return wrong_at(keyword.at,
                  "{} is given twice or out of order, which is: WHERE, GROUP BY, WITHIN GROUP "
                  "ORDER BY, HAVING, ORDER BY, LIMIT, OPTION, FACET",
                  keyword.text);
}

/// Whether the arguments of CALL UUID_SHORT are what servers take, and not too many ids.
bool has_count_of_ids(std::string_view arguments) {
  Tokens tokens(arguments);
  const bool opens = tokens.next().is_sign('(');
  const auto count = number_in<std::uint32_t>(tokens.next().text);
  return opens && count && *count > 0 && *count <= kMostShortIds && tokens.next().is_sign(')');
}

struct yyParser;
using Clause = SelectBuilder::Clause;
using FacetPart = SelectBuilder::FacetPart;
/// What a token that the grammar does not expect means.
enum class ExpectedElse : std::uint8_t { refusal, other_form };

/// Reads one statement of a known kind. What the grammar finds comes through the functions that its
/// actions call.
class Reader {
 public:
  Reader(std::string_view statement, StatementKind kind)
      : select(statement), statement_(statement), tokens_(statement), kind_(kind) {
    if (kind == StatementKind::call)
      expected_ = "one of PQ, SUGGEST, QSUGGEST, KEYWORDS, SNIPPETS, AUTOCOMPLETE and UUID_SHORT";
  }

  OrError<Statement> run();

  // ---- for the grammar

  SelectBuilder select;
  ChangeBuilder change;
  CallBuilder call;

  void syntax_error(Piece at);

  Range empty_range() const { return {kept_count_, kept_count_}; }
  Range kept(Range range, Piece piece) {
    if (is_select()) {
      kept_count_ = select.keep(piece.token(), piece.depth);
    } else if (kept_.size() == kMostKept) {
      refuse("the statement has too many words");
    } else {
      kept_.push_back(piece.token());
      kept_count_ = kept_.size();
    }
    return {range.begin, kept_count_};
  }

  void alias_of_table(Piece first, Piece name);
  void misplaced(Piece keyword) { misplaced_ = misplaced_ || keyword.keyword != 0; }

  void refuse(MaybeError refusal) {
    if (refusal && !refusal_) refusal_ = std::move(refusal);
  }
  void expect(std::string_view what, ExpectedElse otherwise = ExpectedElse::refusal) {
    expected_ = what;
    expected_else_ = otherwise;
  }

  void changed_table(Piece name) {
    refuse(change.set_table(name.token()));
    expected_ = change.makes_documents() ? "(, VALUES or SET behind the table"
                : change.updates()       ? "SET"
                                         : "WHERE or the end of the statement";
  }
  void no_rows(Piece keyword) {
    change.set_other_form(fmt::format("expected VALUES at offset {}", keyword.at));
    skimming_ = true;
  }
  void delete_with(Piece word) {
    if (!word.token().is_word("inner", "left")) syntax_error(word);
  }

  void procedure(Piece name) {
    if (call.set_procedure(name.token())) return expect("(");
    if (!name.token().is_word("uuid_short")) return refuse_call_at(name.at);
    if (!has_count_of_ids(statement_.substr(name.at + name.size)))
      return refuse(bad_request(
          "CALL UUID_SHORT takes one number, from 1 to {}: CALL UUID_SHORT(3)", kMostShortIds));
    read_ = ShowStatement{.object = ShowStatement::Object::server};
    skimming_ = true;
  }
  void begin_argument() {
    expected_ = "an argument";
    refuse(call.begin_argument());
  }
  void listed_argument(Piece piece) {
    if (!call.add_listed(piece.token())) refuse_call_at(piece.at);
    expected_ = piece.depth == 1 ? ", or )" : ")";
  }
  void unnamed_argument() {
    if (call.end_unnamed()) return;
    expected_ = "AS and the name of an option";
    refuse_call_at(token_.at);
  }
  void argument_name(Piece name, bool as) {
    refuse(call.set_name(name.token(), as));
    expected_ = ", or )";
  }

  void show_server(Piece what) {
    read_ =
        ShowStatement{.object = what.token().is_word("threads") ? ShowStatement::Object::threads
                                                                : ShowStatement::Object::server};
  }
  void show_table(ShowStatement::Object object, Piece piece) {
    const auto name = piece.token();
    read_ = ShowStatement{
        .object = object, .table = std::string(name.inner()), .table_place = {name.at, name.end()}};
  }
  void show_create(Piece word, Piece name) {
    if (!word.token().is_word("table")) refuse(bad_request("known are {}", kKnownShow));
    show_table(ShowStatement::Object::create_table, name);
  }
  void explain(Piece word, Piece name) {
    if (!word.token().is_word("query")) refuse("EXPLAIN explains a QUERY only");
    show_table(ShowStatement::Object::query_tree, name);
  }
  void status(Show show) { read_ = StatusStatement{.show = show, .like = std::move(like_)}; }
  void status(Show show, Range name) {
    auto text = joined(name);
    if (!text || text->empty()) return refuse(unknown_statement(statement_));
    if (show == Show::table) text->erase(0, text->rfind('.') + 1);  // the schema before it
    read_ = StatusStatement{.show = show, .name = *std::move(text), .like = std::move(like_)};
  }
  void like(Range pattern) {
    like_ = joined(pattern);
    if (!like_) syntax_error(piece_of(kept_[pattern.end - 1], 0));
  }
  void session(SessionStatement::Is is) {
    read_ = SessionStatement{.is = is, .like = std::move(like_)};
  }
  void inspect(Piece what) {
    read_ = SessionStatement{.is = SessionStatement::Is::inspected,
                             .text = what.token().is_word("plan") ? "SHOW PLAN" : "SHOW PROFILE"};
  }
  void use(Range name) {
    read_ = SessionStatement{.is = SessionStatement::Is::use,
                             .text = name.empty() || !kept_[name.begin].names_table()
                                         ? std::string()
                                         : std::string(kept_[name.begin].inner())};
  }
  void session(OrError<SessionStatement> statement) {
    if (!statement) return refuse(std::move(statement.error()));
    read_ = *std::move(statement);
  }
  Span tokens_of(Range range) const {
    return Span(kept_).subspan(range.begin, range.end - range.begin);
  }

 private:
  void refuse(std::string reason) { refuse(bad_request(std::move(reason))); }
  void refuse_call_at(std::size_t at) {
    refuse(bad_request("CALL: expected {} at offset {}", expected_, at));
  }

  bool is_select() const { return kind_ == StatementKind::select; }
  bool is_change() const { return is_any_of(kind_, StatementKind::insert, StatementKind::change); }
  /// Whether the token is within brackets that no rule looks into.
  bool is_inner() const {
    if (is_select()) return depth_ > 0;
    return depth_ > 1 && is_any_of(kind_, StatementKind::insert, StatementKind::call);
  }
  std::optional<std::string> joined(Range range) const;
  bool may_be_foreign() const;
  void look_at_token();
  bool ends_here();
  int code_of_token();
  int code_of_word();
  int code_of_sign();
  void feed(yyParser& parser, bool ended);
  void unexpected_in_select(const Token& token);
  void unexpected_in_change(const Token& token);
  std::string why_unexpected(const Token& token) const;
  OrError<Statement> finish();

  std::string_view statement_;
  Tokens tokens_;
  StatementKind kind_;
  std::optional<Statement> read_;  ///< a statement of another kind
  MaybeError refusal_;
  bool skimming_ = false;  ///< the grammar gets no more tokens; they are only looked at

  Token token_;          ///< given to the grammar
  Token before_;         ///< the one before it
  Token before_before_;  ///< and the one before that
  Token second_;
  std::size_t count_ = 0;   ///< of tokens that were given
  int depth_ = 0;           ///< of brackets, with the token's own
  int parentheses_ = 0;     ///< open ones of a SELECT; brackets of other kinds may not close them
  bool lost_from_ = false;  ///< one closes before FROM that was not opened: engines differ
  bool closes_nothing_ = false;  ///< the token is a bracket that closes none
  bool has_from_ = false;
  bool expects_table_ = false;  ///< behind FROM, or a comma behind a table
  bool in_tables_ = false;      ///< between FROM and the clause behind it
  bool in_facet_ = false;
  bool misplaced_ = false;  ///< a word that begins a clause stands before FROM
  ForeignForms foreign_;
  std::string_view expected_;
  ExpectedElse expected_else_ = ExpectedElse::refusal;
  std::vector<Token> kept_;
  std::size_t kept_count_ = 0;
  std::optional<std::string> like_;
};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wtype-limits"
#include "embedded/sql_grammar.c"
#pragma GCC diagnostic pop

/// `first`: AS, or the name itself.
void Reader::alias_of_table(Piece first, Piece name) {
  const auto token = name.token();
  const auto text = token.inner();
  const bool is_name = !text.empty() && text.find('.') == text.npos &&
                       (token.kind == Token::Kind::name ||
                        std::string_view("0123456789").find(text[0]) == text.npos);
  const bool touches_table =
      is_select() ? select.is_table_end(first.at) : change.is_table_end(first.at);
  const bool is_of_several = is_select() && select.has_several_tables();
  if (!is_name || touches_table || is_of_several) return refuse(bad_behind_tables(token));
  foreign_.alias = text;
  foreign_.alias_place = {first.at, token.end()};
}

/// The text of tokens that stand right beside each other; quoted ones are unescaped. `\%` and `\_`
/// stay for LIKE. Nothing: they do not, or the text is too long.
std::optional<std::string> Reader::joined(Range range) const {
  std::string text;
  for (auto i = range.begin; i < range.end; ++i) {
    const auto& token = kept_[i];
    const bool quoted = token.kind == Token::Kind::quoted;
    if (i > range.begin) {
      const auto& before = kept_[i - 1];
      const bool was_quoted = before.kind == Token::Kind::quoted;
      if (before.end() != token.at || quoted != was_quoted) return std::nullopt;
      if (quoted && before.text.front() != token.text.front()) return std::nullopt;
      if (quoted) text += token.text.front();  // a quote that is written twice
    }
    const auto inner = token.inner();
    for (std::size_t c = 0; c < inner.size(); ++c) {
      const bool escapes = quoted && inner[c] == '\\' && c + 1 < inner.size() &&
                           std::string_view("'\"`\\").contains(inner[c + 1]);
      text += inner[escapes ? ++c : c];
    }
    if (text.size() > kLongestPattern) return std::nullopt;
  }
  return text;
}

/// Whether the token makes a name with a dot, TRUE or FALSE as a column, an argument of COUNT that
/// is not `*`, ORDER BY NULL, a text that may be compared with the id or stand in LIMIT, or a
/// column's DEFAULT, NULL or empty text.
bool Reader::may_be_foreign() const {
  if (kind_ == StatementKind::insert)
    return token_.is_word("default", "null") || token_.text == "''";
  if (token_.kind == Token::Kind::quoted && token_.inner().find_first_of("-0123456789") == 0)
    return before_.is_sign('=', '<', '>') || before_.is_word("limit", "offset") ||
           (before_.is_sign('(') && before_before_.is_word("in"));
  if (token_.is_word("null") && before_.is_word("by") && before_before_.is_word("order"))
    return true;
  if (token_.kind == Token::Kind::word && token_.text.find('.') != token_.text.npos) return true;
  if (is_select() && !has_from_ && token_.is_word("true", "false")) return true;
  const bool distinct = before_.is_word("distinct") && token_.is_sign('(');
  return distinct ||
         (before_.is_sign('(') && before_before_.is_word("count") && !token_.is_sign('*'));
}

/// What holds for each token, whatever the grammar does with it.
void Reader::look_at_token() {
  // A pattern such as "a\_b%" is not sent on, so that engines do not read it.
  const auto text = token_.text;
  if (kind_ == StatementKind::status && token_.kind == Token::Kind::ambiguous && text.size() > 1 &&
      text.front() == '"' && text.back() == '"')
    token_.kind = Token::Kind::quoted;
  if (auto trouble = token_.trouble()) {
    if (kind_ == StatementKind::status && token_.kind == Token::Kind::unfinished)
      return refuse(
          unknown_statement(statement_, "a quoted text that does not end, or is too long"));
    return refuse(*std::move(trouble));
  }
  // FROM within brackets of other kinds than ( ): engines differ on what it belongs to.
  if (is_select() && token_.keyword == SQL_FROM && !has_from_ && depth_ > parentheses_)
    lost_from_ = true;
  foreign_.may_be_more = foreign_.may_be_more || may_be_foreign();
  foreign_.charsets = foreign_.charsets || names_charset(before_, token_);
  if (is_select() && count_ > 1) refuse(select.look_at(token_, has_from_ && !expects_table_));
  if (!is_change()) return;
  if (token_.is_word("select"))
    refuse(bad_request("a SELECT within a change, at offset {}, is not supported", token_.at));
  refuse(change.look_at(token_));
}

/// At `;`: whether the statement ends there. Refuses what follows it.
bool Reader::ends_here() {
  if (!token_.is_sign(';')) return false;
  const bool in_row = kind_ == StatementKind::insert && depth_ > 0 && !skimming_;
  if (in_row || expects_table_) return false;  // the grammar refuses it
  auto next = tokens_.next();
  while (next.is_sign(';') && kind_ == StatementKind::status) next = tokens_.next();
  if (next.kind == Token::Kind::end) return true;
  if (is_select() && !has_from_) {
    refuse(select.finish(false, 1, token_.at).error());
  } else if (kind_ == StatementKind::call) {
    refuse(bad_request("CALL: expected the end of the statement at offset {}", next.at));
  } else if (kind_ == StatementKind::show) {
    refuse(bad_request("the statement is not understood at offset {}", token_.at));
  } else if (kind_ == StatementKind::status) {
    refuse(unknown_statement(statement_, "more than one statement"));
  } else if (next.kind == Token::Kind::ambiguous) {
    refuse(*next.trouble());
  } else {
    refuse("several statements; send them one by one");
  }
  return true;
}

/// Counts brackets: of a SELECT all kinds, and what they hold is inner; of rows and CALL those
/// within the first ones.
int Reader::code_of_sign() {
  const char sign = token_.text.front();
  const bool opens = sign == '(' || (is_select() && (sign == '[' || sign == '{'));
  const bool closes = sign == ')' || (is_select() && (sign == ']' || sign == '}'));
  if (opens) ++depth_;
  if (sign == '(') ++parentheses_;
  if (sign == ')' && --parentheses_ < 0 && !has_from_) lost_from_ = true;
  const bool inner = is_inner();
  if (closes && depth_ > 0) {
    --depth_;
  } else if (closes && is_select()) {
    closes_nothing_ = true;
    return SQL_INNER;
  }
  if (sign == ';') return SQL_SEMICOLON;
  if (inner) return SQL_INNER;
  if (opens || closes) return opens ? SQL_LP : SQL_RP;
  if (sign == ',') return SQL_COMMA;
  return sign == '-' && kind_ == StatementKind::call ? SQL_MINUS : SQL_SIGN;
}

int Reader::code_of_word() {
  const auto keyword = token_.keyword;
  if (keyword == SQL_DISTINCT) return in_facet_ ? keyword : SQL_WORD;
  const auto before = before_.keyword;
  if (keyword == SQL_BY && !is_select()) return SQL_WORD;
  if (keyword == SQL_BY) {
    const bool ends_key = before == SQL_GROUP || before == SQL_ORDER ||
                          (before_before_.keyword == SQL_GROUP && before != SQL_BY);
    return ends_key || in_facet_ ? keyword : SQL_WORD;
  }
  if (keyword == SQL_FACET && is_select()) {
    if (in_facet_ && (before == SQL_BY || before_.is_sign(','))) return SQL_WORD;  // FACET()
    in_facet_ = true;
  }
  return keyword == 0 ? SQL_WORD : keyword;
}

int Reader::code_of_token() {
  using enum Token::Kind;
  if (token_.kind == sign) return code_of_sign();
  if (is_inner()) return SQL_INNER;
  return token_.kind == name ? SQL_NAME : token_.kind == quoted ? SQL_QUOTED : code_of_word();
}

void Reader::feed(yyParser& parser, bool ended) {
  int code = ended ? 0 : code_of_token();
  if (code == SQL_FROM && is_select() && !has_from_ && parentheses_ != 0) code = SQL_INNER;
  if (is_select() && in_tables_ && !expects_table_) {
    if (code == SQL_HINT || code == SQL_USE) {
      SqlParse(&parser, 0, piece_of(token_, depth_), this);
      select.note_unplannable(token_.at, "expected a comma or the end of FROM");
      in_tables_ = false;
      skimming_ = true;
      return;
    }
    in_tables_ = !is_clause(code) || code == SQL_FROM;
  }
  const bool begins_tables = is_select() && code == SQL_FROM && !has_from_;
  const bool counts = is_select() && has_from_ && !in_tables_ && depth_ == 0 && code != SQL_BY &&
                      token_.kind == Token::Kind::word && !is_clause(code) &&
                      before_.keyword == SQL_GROUP && before_before_.keyword != SQL_WITHIN;
  if (counts && !select.set_per_group(token_)) skimming_ = true;
  if (!skimming_) SqlParse(&parser, code, piece_of(token_, depth_), this);
  if (std::exchange(closes_nothing_, false) && select.is_plannable())
    select.note_unplannable(token_.at, "a bracket closes that was not opened");
  expects_table_ = begins_tables || (in_tables_ && code == SQL_COMMA);
  if (!begins_tables) return;
  has_from_ = true;
  in_tables_ = true;
  if (misplaced_) select.note_unplannable(out_of_order(token_));
}

void Reader::unexpected_in_select(const Token& token) {
  if (expects_table_ && token.is_sign('(')) return refuse(select.inner_select_at(token.at));
  if (expects_table_) return refuse("FROM names no table");
  if (in_tables_) return refuse(bad_behind_tables(token));
  skimming_ = true;
  const auto before = before_.keyword;
  if (in_facet_ && before == SQL_ORDER)
    return select.note_unplannable(before_.at, "expected ORDER BY");
  const bool in_within = before_before_.keyword == SQL_WITHIN;
  const auto* const missing =
      before == SQL_WITHIN  ? "expected group here"
      : before == SQL_ORDER ? "expected by here"
      : before == SQL_GROUP ? in_within ? "expected order here" : "expected GROUP BY or GROUP n BY"
      : before_before_.keyword == SQL_GROUP ? "expected by here"
                                            : nullptr;
  select.note_unplannable(missing == nullptr ? out_of_order(token) : wrong_at(token.at, missing));
}

void Reader::unexpected_in_change(const Token& token) {
  if (!change.has_verb()) return refuse(bad_request("expected FROM at offset {}", token.at));
  if (!change.has_table()) return refuse(change.no_table_at(token.at));
  if (change.is_table_end(before_.end())) refuse(change.after_table(token));
  auto why = fmt::format("expected {} at offset {}", expected_, token.at);
  if (expected_else_ == ExpectedElse::refusal) return refuse(std::move(why));
  change.set_other_form(std::move(why));
  skimming_ = true;
}

std::string Reader::why_unexpected(const Token& token) const {
  const auto before = count_ - 1;  // tokens
  if (kind_ == StatementKind::call)
    return fmt::format("CALL: expected {} at offset {}", expected_, token.at);
  if (kind_ == StatementKind::show && Tokens(statement_).next().keyword == SQL_EXPLAIN)
    return fmt::format("expected EXPLAIN QUERY table 'query' at offset {}", token.at);
  if (kind_ == StatementKind::show) {
    const bool creates = second_.keyword == SQL_CREATE;
    if (before == 2 && creates) return fmt::format("known are {}", kKnownShow);
    if (before == (creates ? 3U : 2U))
      return fmt::format("expected the name of a table at offset {}", token.at);
    if (creates)
      return fmt::format("expected OPTION or the end of the statement at offset {}", token.at);
    return fmt::format("expected STATUS or SETTINGS at offset {}; known are {}", token.at,
                       kKnownShow);
  }
  if (second_.keyword == SQL_PLAN) return "expected the end after SHOW PLAN";
  if (before_.keyword == SQL_LIKE) return "LIKE needs a pattern in quotes";
  return fmt::format("expected LIKE 'pattern' or the end at offset {}", token.at);
}

void Reader::syntax_error(Piece at) {
  if (refusal_ || skimming_) return;
  const auto token = at.token();
  if (is_select()) return unexpected_in_select(token);
  if (is_change()) return unexpected_in_change(token);
  if (kind_ == StatementKind::status) return refuse(unknown_statement(statement_));
  refuse(why_unexpected(token));
}

OrError<Statement> Reader::run() {
  yyParser parser;
  SqlParseInit(&parser);
  for (bool more = true; more && !refusal_;) {
    before_before_ = before_;
    before_ = token_;
    token_ = tokens_.next();
    if (++count_ == 2) second_ = token_;
    look_at_token();
    if (refusal_) break;
    more = token_.kind != Token::Kind::end && !ends_here();
    if (!skimming_ && !refusal_) feed(parser, !more);
  }
  SqlParseFinalize(&parser);
  return finish();
}

OrError<Statement> Reader::finish() {
  if (refusal_) return std::unexpected(*std::move(refusal_));
  if (is_select()) {
    auto read = select.finish(has_from_ && !lost_from_, lost_from_ ? -1 : depth_, token_.at);
    if (read && has_from_) read->foreign = std::move(foreign_);
    return read;
  }
  if (is_change()) {
    auto read = change.finish();
    read.foreign = std::move(foreign_);
    return read;
  }
  if (read_) return *std::move(read_);
  if (kind_ == StatementKind::call) return call.finish(statement_);
  return std::unexpected(unknown_statement(statement_));
}

}  // namespace

ClientError unknown_statement(std::string_view statement, std::string_view problem) {
  const auto begin =
      statement.substr(std::min(statement.find_first_not_of(" \t\r\n"), statement.size()));
  const bool cut = begin.size() > kMostQuotedBytes;
  return {400, fmt::format("{} in '{}{}'; known statements: {}", problem,
                           clean_utf8(begin.substr(0, kMostQuotedBytes)), cut ? "..." : "",
                           kKnownStatements)};
}

/// Whether the statement is one comment up to the end of its only line, with which clients look
/// whether a server answers. No engine finds a statement in it.
bool is_line_of_comment(std::string_view statement) {
  statement.remove_prefix(std::min(statement.find_first_not_of(" \t\r\n"), statement.size()));
  return (statement == "--" || statement.starts_with("-- ")) &&
         statement.find_first_of("\r\n;") == statement.npos;
}

StatementKind kind_of_statement(std::string_view statement) {
  using enum StatementKind;
  if (is_line_of_comment(statement)) return session;
  Tokens tokens(statement);
  const auto first = tokens.next();
  const auto verb = first.keyword;
  if (first.kind == Token::Kind::end || first.is_sign(';')) return empty;
  if (verb == SQL_SELECT) return selects_schema(statement) ? schema : select;
  if (is_any_of(verb, SQL_INSERT, SQL_REPLACE)) return insert;
  if (is_any_of(verb, SQL_UPDATE, SQL_DELETE)) return change;
  if (verb == SQL_CALL) return call;
  if (is_any_of(verb, SQL_SET, SQL_USE, SQL_BEGIN, SQL_COMMIT, SQL_KILL)) return session;
  if (is_any_of(verb, SQL_EXPLAIN, SQL_DESC) && shows_schema(statement)) return schema;
  if (verb == SQL_EXPLAIN) return tokens.next().is_word("query") ? show : unknown;
  if (verb == SQL_DESC) return status;
  if (verb == SQL_SHOW) {
    const auto object = tokens.next();
    if (object.kind == Token::Kind::ambiguous && statement.size() <= kLongestSchemaStatement &&
        shows_schema(without_executable_comments(statement)))
      return schema;
    if (shows_variables(statement)) return show;
    if (shows_schema(statement)) return schema;
    if (is_any_of(object.keyword, SQL_CREATE, SQL_TABLE, SQL_SERVER, SQL_SETTINGS)) return show;
    const bool asks_session =
        is_any_of(object.keyword, SQL_META, SQL_SCROLL, SQL_WARNINGS, SQL_PLAN);
    return asks_session ? session : status;
  }
  const bool administers = first.is_word("create", "drop", "alter", "truncate", "optimize", "flush",
                                         "reload", "attach", "import", "backup", "freeze",
                                         "unfreeze", "lock", "unlock", "join", "grant", "revoke");
  return administers ? administration : unknown;
}

SelectionClass selection_class_of(StatementKind kind, std::string_view statement) {
  using enum StatementKind;
  if (is_any_of(kind, insert, change)) return SelectionClass::must_use_primary;
  if (is_any_of(kind, select, call)) return SelectionClass::may_use_secondary;
  Tokens tokens(statement);
  const bool describes =
      is_any_of(kind, show, schema) || (kind == status && (tokens.next().keyword == SQL_DESC ||
                                                           tokens.next().keyword == SQL_TABLES));
  return describes ? SelectionClass::should_use_primary : SelectionClass::none;
}

OrError<Statement> read_statement(std::string_view statement, StatementKind kind) {
  using enum StatementKind;
  if (kind == empty) return refused("no statement; known: {}", kKnownStatements);
  if (kind == administration)
    return refused(
        "{} changes servers or their tables, which karmad does not pass on; send it to the mirrors "
        "themselves",
        Tokens(statement).next().text);
  if (kind == schema) return refused("statements about the schema are not read here");
  if (kind == unknown) {
    if (auto trouble = Tokens(statement).next().trouble()) return refused(*std::move(trouble));
    return std::unexpected(unknown_statement(statement));
  }
  if (is_line_of_comment(statement)) return SessionStatement{};
  if (kind == select)
    if (const auto brackets = find_nested_select(statement))
      return read_nested_select(statement, *brackets);
  auto read = Reader(statement, kind).run();
  // `SHOW word VARIABLES` has the form of a SHOW that mirrors answer, and is none.
  if (read && (std::holds_alternative<StatusStatement>(*read) != (kind == status) ||
               std::holds_alternative<SessionStatement>(*read) != (kind == session)))
    return std::unexpected(unknown_statement(statement));
  return read;
}

}  // namespace karmad::sql
