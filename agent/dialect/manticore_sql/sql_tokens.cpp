#include "agent/dialect/manticore_sql/sql_tokens.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "agent/json/work_over.hpp"

namespace karmad {

namespace {

bool is_sql_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool is_control(char c) {
  return static_cast<unsigned char>(c) < ' ' || c == 0x7f;
}

/// Whether a quoted text contains marks that would end it, or start something else, in an engine
/// that does not treat its quotes as quotes.
bool has_marks(std::string_view text) {
  constexpr std::string_view marks("'\"`;\\#\r\n\0", 9);
  return text.find_first_of(marks) != text.npos || text.find("--") != text.npos ||
         text.find("/*") != text.npos;
}

bool is_sql_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Bytes beyond ASCII count as letters; a dot is part of numbers and JSON paths, `@` of variables.
bool is_word_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_sql_digit(c) || c == '_' ||
         c == '.' || c == '@' || c == '$' || static_cast<unsigned char>(c) >= 0x80;
}

/// The length of the number at the start: digits, a dot, an exponent; 0: there is none.
std::size_t length_of_number(std::string_view text) {
  const auto skip_digits = [&](std::size_t at) {
    while (at < text.size() && is_sql_digit(text[at])) ++at;
    return at;
  };
  auto end = skip_digits(0);
  if (end < text.size() && text[end] == '.') {
    const auto fraction = skip_digits(end + 1);
    if (end != 0 || fraction != end + 1) end = fraction;
  }
  if (end == 0 || end == text.size() || (text[end] | 0x20) != 'e') return end;
  auto digits = end + 1;
  if (digits < text.size() && (text[digits] == '+' || text[digits] == '-')) ++digits;
  const auto exponent = skip_digits(digits);
  return exponent == digits ? end : exponent;
}

}  // namespace

bool SqlToken::begins_with(std::string_view lower_case) const {
  return text.size() >= lower_case.size() &&
         std::ranges::equal(text.substr(0, lower_case.size()), lower_case, [](char a, char b) {
           return (a >= 'A' && a <= 'Z' ? static_cast<char>(a + ('a' - 'A')) : a) == b;
         });
}

std::optional<std::string> SqlToken::trouble() const {
  if (kind == Kind::unfinished)
    return fmt::format("a quote or comment opened at offset {} does not end", at);
  if (kind == Kind::ambiguous) return fmt::format("found {1} at offset {0}", at, why);
  return std::nullopt;
}

SqlToken SqlTokens::next() {
  end_if_over();
  using Kind = SqlToken::Kind;
  if (const auto trouble = skip_space_and_comments()) return *trouble;
  if (at_ == statement_.size()) return token(Kind::end, at_);
  const char c = statement_[at_];
  if (c == '\'') return quoted_text();
  if (c == '"' || c == '`') return quoted_name(c);
  if (c == '\\') return ambiguous("a backslash outside of quotes");
  if (is_control(c)) return ambiguous("a control character outside of quotes");
  if (const auto length = length_of_number(statement_.substr(at_))) return number(length);
  if (!is_word_byte(c)) return token(Kind::sign, at_ + 1);
  auto end = at_;
  while (end < statement_.size() && is_word_byte(statement_[end])) ++end;
  return token(Kind::word, end);
}

SqlToken SqlTokens::token(SqlToken::Kind kind, std::size_t end) {
  const SqlToken found{kind, statement_.substr(at_, end - at_), at_, {}};
  at_ = end;
  return found;
}

SqlToken SqlTokens::ambiguous(std::string_view why) {
  auto found = token(SqlToken::Kind::ambiguous, statement_.size());
  found.why = why;
  return found;
}

/// `1.5FROM` is 1.5 and FROM; of `1FROM` and `.5FROM` engines make one token or two.
SqlToken SqlTokens::number(std::size_t length) {
  const auto rest = statement_.substr(at_ + length);
  const bool goes_on = !rest.empty() && rest.front() != '.' && is_word_byte(rest.front());
  const auto dot = statement_.substr(at_, length).find('.');
  if (goes_on && (dot == 0 || dot == std::string_view::npos))
    return ambiguous(
        "a number with letters right behind it; write a space between them, or put a name that "
        "begins with a digit into backquotes");
  return token(SqlToken::Kind::word, at_ + length);
}

SqlToken SqlTokens::quoted_text() {
  for (auto at = at_ + 1; at < statement_.size(); ++at) {
    if (statement_[at] == '\0') return ambiguous("a zero byte");
    if (statement_[at] == '\'') return token(SqlToken::Kind::quoted, at + 1);
    if (statement_[at] != '\\' || ++at == statement_.size()) continue;
    if (statement_[at] == '\0') return ambiguous("a zero byte");
    if (statement_[at] == '\n')
      return ambiguous("a backslash at the end of a line in quotes; write \\n");
  }
  return token(SqlToken::Kind::unfinished, statement_.size());
}

SqlToken SqlTokens::quoted_name(char quote) {
  const auto end = statement_.find(quote, at_ + 1);
  if (has_marks(statement_.substr(at_ + 1, std::min(end, statement_.size()) - at_ - 1)))
    return ambiguous(quote == '"'
                         ? "a text in double quotes that holds quotes, a backslash, ; or a "
                           "comment; put it into single quotes"
                         : "a name in backquotes that holds quotes, a backslash, ; or a "
                           "comment");
  if (end == statement_.npos) return token(SqlToken::Kind::unfinished, statement_.size());
  return token(quote == '"' ? SqlToken::Kind::quoted : SqlToken::Kind::name, end + 1);
}

std::optional<SqlToken> SqlTokens::skip_space_and_comments() {
  for (;;) {
    while (at_ < statement_.size() && is_sql_space(statement_[at_])) ++at_;
    const auto rest = statement_.substr(at_);
    if (rest.starts_with("--"))
      return ambiguous(
          "--, which is a comment for some engines and two minus signs for others; "
          "write /* */ or put spaces between the signs");
    if (rest.starts_with('#'))
      return ambiguous("#, which is a comment for some engines only; write /* */");
    if (!rest.starts_with("/*")) return std::nullopt;
    if (rest.starts_with("/*!") || rest.starts_with("/*M!"))
      return ambiguous("/*!, which is a comment for some engines only");
    const auto end = rest.find("*/", 2);
    const auto star = rest.find('*', 2);
    if (star != end)
      return ambiguous("a * within a comment: engines differ on where such a comment ends");
    if (end == rest.npos) return token(SqlToken::Kind::unfinished, statement_.size());
    if (rest.substr(0, end).find('\0') != rest.npos) return ambiguous("a zero byte");
    at_ += end + 2;
  }
}

}  // namespace karmad
