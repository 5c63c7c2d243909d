#include "agent/dialect/manticore_sql/sql_tokens.hpp"

#include <algorithm>

namespace karmad {

namespace {

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

/// Bytes beyond ASCII count as letters, a dot belongs to numbers and JSON paths, `@` to variables.
bool is_word_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '@' || c == '$' || static_cast<unsigned char>(c) >= 0x80;
}

}  // namespace

bool SqlToken::is_word(std::string_view lower_case) const {
  return kind == Kind::word && std::ranges::equal(text, lower_case, [](char a, char b) {
           return (a >= 'A' && a <= 'Z' ? static_cast<char>(a + ('a' - 'A')) : a) == b;
         });
}

SqlToken SqlTokens::next() {
  using Kind = SqlToken::Kind;
  if (!skip_space_and_comments()) return token(Kind::unfinished, statement_.size());
  if (at_ == statement_.size()) return token(Kind::end, at_);
  const char c = statement_[at_];
  if (c == '\'' || c == '"' || c == '`') return quoted(c);
  if (!is_word_byte(c)) return token(Kind::sign, at_ + 1);
  auto end = at_;
  while (end < statement_.size() && is_word_byte(statement_[end])) ++end;
  return token(Kind::word, end);
}

SqlToken SqlTokens::token(SqlToken::Kind kind, std::size_t end) {
  const SqlToken found{kind, statement_.substr(at_, end - at_), at_};
  at_ = end;
  return found;
}

SqlToken SqlTokens::quoted(char quote) {
  const bool escapes = quote != '`';
  for (auto at = at_ + 1; at < statement_.size(); ++at) {
    if (escapes && statement_[at] == '\\')
      ++at;
    else if (statement_[at] == quote)
      return token(escapes ? SqlToken::Kind::quoted : SqlToken::Kind::name, at + 1);
  }
  return token(SqlToken::Kind::unfinished, statement_.size());
}

bool SqlTokens::skip_space_and_comments() {
  for (;;) {
    while (at_ < statement_.size() && is_space(statement_[at_])) ++at_;
    const auto rest = statement_.substr(at_);
    if (rest.starts_with("/*")) {
      const auto end = rest.find("*/", 2);
      if (end == rest.npos) return false;
      at_ += end + 2;
    } else if (rest.starts_with('#') ||
               (rest.starts_with("--") && (rest.size() == 2 || is_space(rest[2])))) {
      const auto end = rest.find('\n');
      at_ = end == rest.npos ? statement_.size() : at_ + end + 1;
    } else {
      return true;
    }
  }
}

}  // namespace karmad
