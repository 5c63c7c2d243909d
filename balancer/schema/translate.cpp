#include "balancer/schema/translate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "agent/json/json_text.hpp"
#include "config/text/number_in.hpp"
#include "config/text/source_text.hpp"

namespace karmad {
namespace {

using Kind = sql::Token::Kind;

struct Renamed {
  std::string_view mysql;
  std::string_view sqlite;
};

/// Functions whose names SQLite uses for something else; those with `_` are in functions.cpp.
constexpr std::array kRenamedFunctions{
    Renamed{"left", "left_"},
    Renamed{"right", "right_"},
    Renamed{"isnull", "isnull_"},
    Renamed{"length", "length_"},
    Renamed{"if", "iif"},
    Renamed{"ucase", "upper"},
    Renamed{"lcase", "lower"},
    Renamed{"mid", "substr"},
    Renamed{"substring", "substr"},
    Renamed{"char_length", "length"},
    Renamed{"character_length", "length"},
    Renamed{"least", "min"},
    Renamed{"greatest", "max"},
    Renamed{"convert", "cast"},
};

/// Words of a SELECT of MySQL; an empty text: SQLite does without.
constexpr std::array kRenamedWords{
    Renamed{"binary", ""},
    Renamed{"sql_no_cache", ""},
    Renamed{"sql_cache", ""},
    Renamed{"high_priority", ""},
    Renamed{"sql_calc_found_rows", ""},
    Renamed{"straight_join", "JOIN"},
    Renamed{"rlike", "REGEXP"},
    Renamed{"signed", "INTEGER"},
    Renamed{"unsigned", "INTEGER"},
};

/// Words behind which an item of a SELECT has ended, and had no alias.
constexpr std::array<std::string_view, 9> kBehindItems{"from",  "where", "group", "having", "order",
                                                       "limit", "union", "for",   "on"};

const Renamed* renamed(std::span<const Renamed> words, const sql::Token& token) {
  const auto found =
      std::ranges::find_if(words, [&](const Renamed& each) { return token.is_word(each.mysql); });
  return found == words.end() ? nullptr : &*found;
}

bool begins_number(const sql::Token& token) {
  const auto text = token.text.substr(token.text.starts_with('.') ? 1 : 0);
  return token.kind == Kind::word && !text.empty() && text[0] >= '0' && text[0] <= '9';
}

std::string in_quotes(std::string_view text, char quote) {
  std::string out(1, quote);
  for (const char c : text) out.append(c == quote ? 2 : 1, c);
  return out + quote;
}

/// A text that is compared without case.
std::string literal(std::string_view text) {
  return in_quotes(text, '\'') + " COLLATE NOCASE";
}

/// The statement with a SELECT around it where SQLite needs one: for HAVING without GROUP BY, a
/// condition on the result, whose aliases it may name; and for UNION, whose rows MySQL gives in
/// their order.
std::string reshaped(std::string_view statement) {
  constexpr std::array<std::string_view, 6> kAggregates{"count", "sum", "min",
                                                        "max",   "avg", "group_concat"};
  constexpr auto kNowhere = std::string_view::npos;
  std::size_t having = kNowhere;
  std::size_t order = kNowhere;
  std::size_t limit = kNowhere;
  std::string distinct = "SELECT DISTINCT * FROM (";
  std::size_t copied = 0;
  SchemaTokens tokens(statement);
  for (int depth = 0; !tokens.at_end(); tokens.step()) {
    const auto& now = tokens.now();
    depth += now.is_sign('(') ? 1 : now.is_sign(')') ? -1 : 0;
    const bool aggregates =
        having != kNowhere && tokens.ahead().is_sign('(') &&
        std::ranges::any_of(kAggregates, [&](auto name) { return now.is_word(name); });
    const bool keeps_equal = now.is_word("union") && tokens.ahead().is_word("all");
    if (aggregates || keeps_equal) return std::string(statement);
    if (depth != 0) continue;
    if (now.is_word("group") && copied == 0) return std::string(statement);
    if (now.is_word("union")) {
      distinct.append(statement.substr(copied, now.end() - copied)).append(" ALL");
      copied = now.end();
    }
    if (now.is_word("having")) having = now.at;
    if (now.is_word("order")) order = now.at;
    if (now.is_word("limit") || now.is_word("for")) limit = std::min(limit, now.at);
  }
  limit = std::min(limit, tokens.now().at);
  order = std::min(order, limit);
  const auto part = [&](std::size_t from, std::size_t to) {
    return from < to ? statement.substr(from, to - from) : std::string_view();
  };
  if (having != kNowhere && copied == 0)
    return fmt::format("SELECT * FROM ({}{}) AS result WHERE {}{}", part(0, having),
                       part(order, limit), part(having + std::string_view("having").size(), order),
                       statement.substr(limit));
  if (copied == 0 || having != kNowhere) return std::string(statement);
  return fmt::format("{}{}) AS result {}", distinct, part(copied, order), statement.substr(order));
}

}  // namespace

class SelectTranslator {
 public:
  SelectTranslator(std::string_view statement, const SchemaFacts& facts)
      : statement_(reshaped(statement)), tokens_(statement_), facts_(facts) {}

  OrError<TranslatedSelect> run() {
    while (!tokens_.at_end() && reason_.empty()) token();
    tokens_.take_sign(';');
    if (reason_.empty() && tokens_.now().kind != Kind::end)
      reason_ = fmt::format("syntax error: expected the end of the statement at offset {}",
                            tokens_.now().at);
    if (!reason_.empty()) return refused(std::move(reason_));
    out_.statement_ = statement_;
    return std::move(out_);
  }

 private:
  enum class Brackets : std::uint8_t { plain, convert, group_concat, dropped };
  /// What is before a token: MySQL compares a text with a number as a number.
  enum class Beside : std::uint8_t { others, number, comparison, comparison_of_number };

  bool is_in(Brackets kind) const { return !open_.empty() && open_.back() == kind; }

  /// Puts `text` in the place of so many tokens.
  void put(std::string_view text, std::size_t tokens = 1) {
    const auto from = tokens_.now().at;
    for (; tokens > 0; --tokens) tokens_.step();
    put_from(from, text);
  }

  /// Puts `text` in the place of the tokens from that offset to the present one.
  void put_from(std::size_t from, std::string_view text) {
    const auto to = tokens_.end_before();
    auto& all = out_.text_;
    all += tokens_.statement().substr(behind_, from - behind_);
    const bool same = text == tokens_.statement().substr(from, to - from);
    if (!same) all += ' ';
    out_.pieces_.push_back({all.size(), all.size() + text.size(), from, to});
    all += text;
    if (!same) all += ' ';
    behind_ = to;
  }

  void put_same() { put(tokens_.now().text); }

  void token() {
    const auto now = tokens_.now();
    const bool behind_value = std::exchange(behind_value_, false);
    const auto beside = std::exchange(beside_, Beside::others);
    if (auto trouble = now.trouble()) {
      reason_ = "syntax error: " + *trouble;
    } else if (now.kind == Kind::quoted) {
      const auto text = tokens_.take_text();
      put_from(now.at, behind_value ? in_quotes(text, '"')
                       : beside == Beside::comparison_of_number ||
                               (beside != Beside::comparison && compares_with_number())
                           ? fmt::format("CAST({} AS NUMERIC)", in_quotes(text, '\''))
                           : literal(text));
      behind_value_ = true;
    } else if (now.kind == Kind::name) {
      put_same();
      behind_value_ = true;
    } else if (now.kind == Kind::sign) {
      if (is_comparison(now))
        beside_ = beside == Beside::number || beside == Beside::comparison_of_number
                      ? Beside::comparison_of_number
                      : Beside::comparison;
      sign(now.text.front());
    } else {
      word();
    }
  }

  static bool is_comparison(const sql::Token& token) {
    return token.kind == Kind::sign && std::string_view("=<>!").contains(token.text.front());
  }

  /// Whether a comparison with a number follows.
  bool compares_with_number() const {
    std::size_t at = 0;
    while (is_comparison(tokens_.ahead(at))) ++at;
    if (at == 0) return false;
    return begins_number(tokens_.ahead(tokens_.ahead(at).is_sign('-') ? at + 1 : at));
  }

  void sign(char sign) {
    const auto follows = [&](std::string_view signs) {
      for (std::size_t i = 0; i < signs.size(); ++i)
        if (!tokens_.ahead(i + 1).is_sign(signs[i]) ||
            tokens_.ahead(i + 1).at != tokens_.now().at + i + 1)
          return false;
      return true;
    };
    if (sign == '(') open_.push_back(std::exchange(next_, Brackets::plain));
    if (sign == ')') {
      const bool dropped = is_in(Brackets::dropped);
      if (!open_.empty()) open_.pop_back();
      behind_value_ = true;
      if (dropped) return put("");
    }
    if (sign == '(' && is_in(Brackets::dropped)) return put("");
    if (sign == ',' && is_in(Brackets::convert)) return put("AS");
    if (sign == '/') return put("* 1.0 /");  // SQLite divides whole numbers without a rest
    if (sign == '|' && follows("|")) return put("OR", 2);
    if (sign == '&' && follows("&")) return put("AND", 2);
    if (sign == '<' && follows("=>")) return put("IS", 3);
    if (sign == '!' && follows("=")) return put("<>", 2);
    if (sign == '!') return put("NOT");
    put_same();
  }

  void word() {
    const auto now = tokens_.now();
    const auto next = tokens_.ahead();
    const bool is_introducer = now.text.front() == '_' || now.is_word("n");  // _utf8'x', N'x'
    if (is_introducer && next.kind == Kind::quoted) return put("");
    behind_value_ = sqlite3_keyword_check(now.text.data(), static_cast<int>(now.text.size())) == 0;
    if (begins_number(now)) {
      beside_ = Beside::number;
      return put_same();
    }
    if (now.text.front() == '@') {
      const bool is_quoted = now.is_variable_with(next);
      return variable(lower(now.text) + (is_quoted ? lower(next.inner()) : ""), is_quoted ? 2 : 1);
    }
    if (now.is_word("union")) return union_of();
    if (const auto* const other = renamed(kRenamedWords, now)) {
      behind_value_ = false;
      return put(other->sqlite);
    }
    if (next.is_sign('(')) return call(now);
    if (now.is_word("end") || now.is_word("as")) behind_value_ = true;
    if (now.is_word("current_user")) return put(literal(facts_.account()));
    if (is_in(Brackets::convert) && now.is_word("using")) return put("AS TEXT", 2);
    if (is_in(Brackets::group_concat) && now.is_word("order")) return order_of_group();
    if (is_in(Brackets::group_concat) && now.is_word("separator")) {
      behind_value_ = false;
      return put(",");
    }
    if (now.is_word("for") && next.is_word("update")) return put("", 2);
    if (now.is_word("select") && tokens_.ahead().is_word("straight_join")) return put("SELECT", 2);
    put_same();
  }

  void variable(const std::string& name, std::size_t tokens) {
    const auto value = facts_.variable ? facts_.variable(name) : std::nullopt;
    const bool of_server = name.starts_with("@@");
    if (!value && of_server)
      reason_ = fmt::format("Unknown system variable '{}'", shortened_utf8(name.substr(2)));
    if (!value) return put("NULL", tokens);
    const bool is_number = of_server && number_in<std::int64_t>(*value);
    put(is_number ? fmt::format("CAST({} AS INTEGER)", *value) : literal(*value), tokens);
  }

  void call(const sql::Token& name) {
    if (tokens_.ahead(2).is_sign(')'))
      if (const auto fact = schema_fact(lower(name.text), facts_))
        return put(fact->kind == SchemaValue::Kind::number ? fact->text : literal(fact->text), 3);
    if (name.is_word("convert")) next_ = Brackets::convert;
    if (name.is_word("group_concat") && tokens_.ahead(2).is_word("distinct")) {
      open_.push_back(Brackets::group_concat);
      return put("group_concat_distinct_(", 3);
    }
    if (name.is_word("group_concat")) next_ = Brackets::group_concat;
    const auto* const other = renamed(kRenamedFunctions, name);
    put(other == nullptr ? name.text : other->sqlite);
  }

  /// GROUP_CONCAT(x ORDER BY y SEPARATOR z): the rows of the schema have an order already.
  void order_of_group() {
    const auto from = tokens_.now().at;
    for (int depth = 0; !tokens_.at_end(); tokens_.step()) {
      if (depth == 0 && (tokens_.now().is_sign(')') || tokens_.now().is_word("separator"))) break;
      depth += tokens_.now().is_sign('(') ? 1 : tokens_.now().is_sign(')') ? -1 : 0;
    }
    put_from(from, "");
    behind_value_ = false;
  }

  /// UNION DISTINCT, UNION (SELECT …)
  void union_of() {
    put_same();
    if (tokens_.now().is_word("all")) put_same();
    if (tokens_.now().is_word("distinct")) put("");
    if (tokens_.now().is_sign('(') && tokens_.ahead().is_word("select")) next_ = Brackets::dropped;
  }

  const std::string statement_;
  SchemaTokens tokens_;
  const SchemaFacts& facts_;
  TranslatedSelect out_;
  std::string reason_;
  std::size_t behind_ = 0;  ///< what of the statement has been put
  std::vector<Brackets> open_;
  Brackets next_ = Brackets::plain;  ///< of the next opening bracket
  bool behind_value_ = false;        ///< a text there is an alias
  Beside beside_ = Beside::others;
};

OrError<TranslatedSelect> TranslatedSelect::of(std::string_view statement,
                                               const SchemaFacts& facts) {
  return SelectTranslator(statement, facts).run();
}

std::string TranslatedSelect::next_column_name(std::string_view name) {
  const auto ends_item = [&](const Piece* next) {
    if (next == pieces_.data() + pieces_.size()) return true;
    const auto word = lower(std::string_view(text_).substr(next->begin, next->end - next->begin));
    return word.empty() || word == "," || word == ")" ||
           std::ranges::find(kBehindItems, word) != kBehindItems.end();
  };
  if (text_.find(name, named_) == text_.npos) named_ = 0;  // a column of `*` before
  for (auto at = text_.find(name, named_); at != text_.npos; at = text_.find(name, at + 1)) {
    const auto first = std::ranges::lower_bound(pieces_, at, {}, &Piece::begin);
    const auto last = std::ranges::lower_bound(pieces_, at + name.size(), {}, &Piece::end);
    if (first == pieces_.end() || last == pieces_.end() || first->begin != at ||
        last->end != at + name.size() || !ends_item(&*last + 1))
      continue;
    named_ = last->end;
    const auto words = std::string_view(statement_).substr(first->from, last->to - first->from);
    SchemaTokens tokens(words);
    const bool is_text = tokens.now().kind == Kind::quoted;
    if (is_text || (tokens.now().names_table() && !begins_number(tokens.now()) &&
                    tokens.now().text.front() != '@')) {
      auto plain = is_text ? tokens.take_text() : tokens.take_path().back();
      if (tokens.now().kind == Kind::end) return plain;
    }
    return std::string(words.substr(0, 256));
  }
  return std::string(name);
}

std::string sql_literal(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

SchemaTokens::SchemaTokens(std::string_view statement) : statement_(statement) {
  sql::Tokens tokens(statement);
  do {
    auto token = tokens.next();
    // Texts that engines would read differently: no engine reads them.
    const auto text = token.text;
    if (token.kind == sql::Token::Kind::ambiguous && text.size() > 1 &&
        text.front() == text.back() && (text.front() == '"' || text.front() == '`'))
      token.kind = text.front() == '"' ? sql::Token::Kind::quoted : sql::Token::Kind::name;
    tokens_.push_back(token);
  } while (tokens_.back().kind != sql::Token::Kind::end &&
           tokens_.back().kind != sql::Token::Kind::ambiguous &&
           tokens_.back().kind != sql::Token::Kind::unfinished);
  if (tokens_.back().kind != sql::Token::Kind::end) tokens_.push_back({.at = statement.size()});
}

std::vector<std::string> SchemaTokens::take_path() {
  std::vector<std::string> parts;
  bool joined = true;
  while (joined && now().names_table()) {
    const auto token = now();
    auto text = token.inner();
    step();
    if (token.kind == sql::Token::Kind::name) {
      parts.emplace_back(text);
      joined = now().kind == sql::Token::Kind::word && now().text.front() == '.' &&
               now().at == token.end();
      continue;
    }
    if (text.starts_with('.')) text.remove_prefix(1);
    joined = false;
    while (!text.empty()) {
      joined = text.find('.') + 1 == text.size();  // ends with a point
      parts.emplace_back(take_until(text, '.'));
    }
    joined = joined || token.text == ".";
  }
  if (joined) parts.emplace_back();
  return parts;
}

std::string SchemaTokens::take_text() {
  const auto token = now();
  step();
  const auto inner = token.inner();
  if (token.kind != sql::Token::Kind::quoted) return std::string(inner);
  constexpr std::string_view kLetters = "nrt";
  constexpr std::string_view kMeanings = "\n\r\t";
  std::string text;
  for (std::size_t i = 0; i < inner.size(); ++i) {
    const bool escapes =
        inner[i] == '\\' && i + 1 < inner.size() && inner[i + 1] != '%' && inner[i + 1] != '_';
    const auto meaning = escapes ? kLetters.find(inner[++i]) : kLetters.npos;
    text += meaning == kLetters.npos ? inner[i] : kMeanings[meaning];
  }
  // A quote that is written twice.
  while (now().kind == sql::Token::Kind::quoted && now().at == end_before() &&
         now().text.front() == token.text.front())
    text.append(1, token.text.front()).append(take_text());
  return text;
}

}  // namespace karmad
