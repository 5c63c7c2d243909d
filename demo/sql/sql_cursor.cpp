#include "demo/sql/sql_cursor.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "demo/data/text.hpp"

namespace karmad {

const SqlToken& SqlCursor::peek(std::size_t ahead) const {
  return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
}

SqlToken SqlCursor::take() {
  const auto& token = tokens_[at_];
  if (token.kind != SqlToken::Kind::end) ++at_;
  return token;
}

bool SqlCursor::at_word(std::string_view word, std::size_t ahead) const {
  const auto& token = peek(ahead);
  return token.kind == SqlToken::Kind::name && collate(token.text, word) == 0;
}

bool SqlCursor::at_sign(std::string_view sign, std::size_t ahead) const {
  const auto& token = peek(ahead);
  return token.kind == SqlToken::Kind::sign && token.text == sign;
}

bool SqlCursor::take_word(std::string_view word) {
  if (!at_word(word)) return false;
  ++at_;
  return true;
}

bool SqlCursor::take_sign(std::string_view sign) {
  if (!at_sign(sign)) return false;
  ++at_;
  return true;
}

bool SqlCursor::take_words(std::string_view first, std::string_view second) {
  if (!at_word(first) || !at_word(second, 1)) return false;
  at_ += 2;
  return true;
}

std::string SqlCursor::take_name() {
  if (peek().kind == SqlToken::Kind::name) return take().text;
  wrong();
  return {};
}

std::string SqlCursor::take_text() {
  if (peek().kind == SqlToken::Kind::text) return take().text;
  wrong();
  return {};
}

Literal SqlCursor::take_literal() {
  const auto token = peek();
  if (token.kind == SqlToken::Kind::text) return take().text;
  if (token.kind == SqlToken::Kind::number) {
    take();
    if (const auto whole = number_of<std::int64_t>(token.text)) return *whole;
    if (const auto real = number_of<double>(token.text)) return *real;
  }
  wrong();
  return std::int64_t{0};
}

std::size_t SqlCursor::take_count() {
  const auto value = take_literal();
  const auto* whole = std::get_if<std::int64_t>(&value);
  if (whole != nullptr && *whole >= 0) return static_cast<std::size_t>(*whole);
  wrong();
  return 0;
}

void SqlCursor::expect_word(std::string_view word) {
  if (!take_word(word)) wrong();
}

void SqlCursor::expect_sign(std::string_view sign) {
  if (!take_sign(sign)) wrong();
}

void SqlCursor::wrong() {
  const auto& token = peek();
  const bool end = token.kind == SqlToken::Kind::end;
  complaint_.say(
      400, fmt::format("P01: syntax error, unexpected {} near '{}'",
                       end ? "$end" : fmt::format("'{}'", token.text), text_.substr(token.begin)));
  at_ = tokens_.size() - 1;
}

std::string_view SqlCursor::text_from(std::size_t begin) const {
  const auto end = at_ == 0 ? begin : tokens_[at_ - 1].end;
  return text_.substr(begin, std::max(begin, end) - begin);
}

}  // namespace karmad
