// The tokens of SQL. re2c makes sql_lexer.cpp of this file.
#include <fmt/format.h>

#include <algorithm>

#include "agent/dialect/request/sql_tokens.hpp"
#include "agent/json/work_over.hpp"
#include "embedded/sql_grammar.h"

namespace karmad::sql {

namespace {

constexpr std::string_view kZeroByte = "a zero byte";
constexpr std::string_view kNumberWithLetters =
    "a number with letters right behind it; write a space between them, or put a name that "
    "begins with a digit into backquotes";

/// Whether a quoted text contains marks that would end it, or start something else, in an engine
/// that does not treat its quotes as quotes.
bool has_marks(std::string_view text) {
  constexpr std::string_view marks("'\"`;\\#\r\n\0", 9);
  return text.find_first_of(marks) != text.npos || text.find("--") != text.npos ||
         text.find("/*") != text.npos;
}

}  // namespace

bool Token::begins_with(std::string_view lower_case) const {
  return text.size() >= lower_case.size() &&
         std::ranges::equal(text.substr(0, lower_case.size()), lower_case, [](char a, char b) {
           return (a >= 'A' && a <= 'Z' ? static_cast<char>(a + ('a' - 'A')) : a) == b;
         });
}

std::optional<std::string> Token::trouble() const {
  if (kind == Kind::unfinished)
    return fmt::format("a quote or comment opened at offset {} does not end", at);
  if (kind == Kind::ambiguous) return fmt::format("found {1} at offset {0}", at, why);
  return std::nullopt;
}

Token Tokens::token(Token::Kind kind, const char* end, int keyword) {
  const auto size = static_cast<std::size_t>(end - statement_.data()) - at_;
  const Token found{kind, keyword, statement_.substr(at_, size), at_, {}};
  at_ += size;
  return found;
}

Token Tokens::ambiguous(std::string_view why) {
  auto found = token(Token::Kind::ambiguous, statement_.data() + statement_.size());
  found.why = why;
  return found;
}

/// A text in single quotes that does not go on regularly at `end`.
Token Tokens::unended_text(const char* end) {
  const auto* const limit = statement_.data() + statement_.size();
  if (end < limit && *end == '\0') return ambiguous(kZeroByte);
  if (limit - end < 2) return token(Token::Kind::unfinished, limit);
  return ambiguous(end[1] == '\0' ? kZeroByte
                                  : "a backslash at the end of a line in quotes; write \\n");
}

Token Tokens::next() {
  end_if_over();
  using Kind = Token::Kind;
  const char* at = statement_.data() + at_;
  const char* const limit = statement_.data() + statement_.size();
  const char* marker = at;
  for (;;) {
    at_ = static_cast<std::size_t>(at - statement_.data());
    if (at == limit) return token(Kind::end, at);
    /*!re2c
    re2c:api = custom;
    re2c:api:style = free-form;
    re2c:define:YYCTYPE = "unsigned char";
    re2c:define:YYPEEK = "(at < limit ? static_cast<unsigned char>(*at) : 0)";
    re2c:define:YYSKIP = "++at;";
    re2c:define:YYBACKUP = "marker = at;";
    re2c:define:YYRESTORE = "at = marker;";
    re2c:define:YYLESSTHAN = "at >= limit";
    re2c:yyfill:enable = 0;
    re2c:eof = 0;

    digit = [0-9];
    letter = [a-zA-Z_@$] | [\x80-\xff];
    part = letter | digit | ".";
    exponent = [eE] [+-]? digit+;
    text = ['] ([^'\\\x00] | "\\" [^\x00\n])*;

    [ \t\r\n]+ { continue; }
    "/*" {
      const auto rest = statement_.substr(at_);
      if (rest.starts_with("/*!") || rest.starts_with("/*M!"))
        return ambiguous("/*!, which is a comment for some engines only");
      const auto end = rest.find("*/", 2);
      if (rest.find('*', 2) != end)
        return ambiguous("a * within a comment: engines differ on where such a comment ends");
      if (end == rest.npos) return token(Kind::unfinished, limit);
      if (rest.substr(0, end).find('\0') != rest.npos) return ambiguous(kZeroByte);
      at = rest.data() + end + 2;
      continue;
    }
    "--" {
      return ambiguous(
          "--, which is a comment for some engines and two minus signs for others; "
          "write /* */ or put spaces between the signs");
    }
    "#" { return ambiguous("#, which is a comment for some engines only; write /* */"); }
    "\\" { return ambiguous("a backslash outside of quotes"); }
    [\x00-\x1f\x7f] { return ambiguous("a control character outside of quotes"); }
    $ { return token(Kind::end, limit); }

    text ['] { return token(Kind::quoted, at); }
    text { return unended_text(at); }
    ["`] {
      const auto quote = at[-1];
      const auto* const end = std::find(at, limit, quote);
      const bool marks = has_marks({at, static_cast<std::size_t>(end - at)});
      if (end == limit && !marks) return token(Kind::unfinished, limit);
      auto found = token(quote == '"' ? Kind::quoted : Kind::name, end == limit ? end : end + 1);
      if (!marks) return found;
      found.kind = Kind::ambiguous;
      found.why = quote == '"'
                      ? "a text in double quotes that holds quotes, a backslash, ; or a comment; "
                        "put it into single quotes"
                      : "a name in backquotes that holds quotes, a backslash, ; or a comment";
      return found;
    }

    digit+ ("." digit*)? exponent? | "." digit+ exponent? { return token(Kind::word, at); }
    (digit+ | "." digit+) exponent? letter { return ambiguous(kNumberWithLetters); }

    'agent' { return token(Kind::word, at, SQL_AGENT); }
    'agents' { return token(Kind::word, at, SQL_AGENTS); }
    'as' { return token(Kind::word, at, SQL_AS); }
    'begin' | 'start' { return token(Kind::word, at, SQL_BEGIN); }
    'by' { return token(Kind::word, at, SQL_BY); }
    'call' { return token(Kind::word, at, SQL_CALL); }
    'commit' | 'rollback' | 'savepoint' | 'release' {
      return token(Kind::word, at, SQL_COMMIT);
    }
    'create' { return token(Kind::word, at, SQL_CREATE); }
    'delete' { return token(Kind::word, at, SQL_DELETE); }
    'desc' | 'describe' { return token(Kind::word, at, SQL_DESC); }
    'distinct' { return token(Kind::word, at, SQL_DISTINCT); }
    'explain' { return token(Kind::word, at, SQL_EXPLAIN); }
    'facet' { return token(Kind::word, at, SQL_FACET); }
    'from' { return token(Kind::word, at, SQL_FROM); }
    'group' { return token(Kind::word, at, SQL_GROUP); }
    'having' { return token(Kind::word, at, SQL_HAVING); }
    'inner' | 'left' | 'force' | 'ignore' { return token(Kind::word, at, SQL_HINT); }
    'insert' { return token(Kind::word, at, SQL_INSERT); }
    'into' { return token(Kind::word, at, SQL_INTO); }
    'join' { return token(Kind::word, at, SQL_JOIN); }
    'kill' { return token(Kind::word, at, SQL_KILL); }
    'like' { return token(Kind::word, at, SQL_LIKE); }
    'limit' { return token(Kind::word, at, SQL_LIMIT); }
    'meta' { return token(Kind::word, at, SQL_META); }
    'option' { return token(Kind::word, at, SQL_OPTION); }
    'order' { return token(Kind::word, at, SQL_ORDER); }
    'plan' | 'profile' { return token(Kind::word, at, SQL_PLAN); }
    'replace' { return token(Kind::word, at, SQL_REPLACE); }
    'scroll' { return token(Kind::word, at, SQL_SCROLL); }
    'select' { return token(Kind::word, at, SQL_SELECT); }
    'set' { return token(Kind::word, at, SQL_SET); }
    'settings' { return token(Kind::word, at, SQL_SETTINGS); }
    'show' { return token(Kind::word, at, SQL_SHOW); }
    'status' { return token(Kind::word, at, SQL_STATUS); }
    'table' | 'index' { return token(Kind::word, at, SQL_TABLE); }
    'tables' { return token(Kind::word, at, SQL_TABLES); }
    'threads' | 'variables' { return token(Kind::word, at, SQL_SERVER); }
    'update' { return token(Kind::word, at, SQL_UPDATE); }
    'use' { return token(Kind::word, at, SQL_USE); }
    'value' | 'values' { return token(Kind::word, at, SQL_VALUES); }
    'version' { return token(Kind::word, at, SQL_VERSION); }
    'warnings' { return token(Kind::word, at, SQL_WARNINGS); }
    'where' { return token(Kind::word, at, SQL_WHERE); }
    'within' { return token(Kind::word, at, SQL_WITHIN); }
    letter part* | "." (letter | ".") part* | "." { return token(Kind::word, at); }
    * { return token(Kind::sign, at); }
    */
  }
}

}  // namespace karmad::sql
