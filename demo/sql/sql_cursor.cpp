#include "demo/sql/read_expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "demo/data/text.hpp"

namespace karmad::demo {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool in_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '@';
}

/// What a backslash and this character stand for in a quoted string; a zero byte is a space there.
char escaped_char(char c) {
  constexpr std::string_view kEscapes = "bnrt0", kMeanings = "\b\n\r\t ";
  const auto place = kEscapes.find(c);
  return place == kEscapes.npos ? c : kMeanings[place];
}

/// Reads a quoted string from its first quote; sets `at` after the last one, and `closed`.
std::string quoted_text(std::string_view all, std::size_t& at, bool& closed) {
  const char quote = all[at++];
  std::string out;
  for (; at < all.size() && all[at] != quote; ++at) {
    const bool escapes = all[at] == '\\' && at + 1 < all.size();
    out += escapes ? escaped_char(all[++at]) : all[at];
  }
  closed = at < all.size();
  if (closed) ++at;
  return out;
}

std::size_t end_of_number(std::string_view all, std::size_t at) {
  if (all[at] == '-') ++at;
  while (at < all.size() && (is_digit(all[at]) || all[at] == '.')) ++at;
  const bool exponent = at + 1 < all.size() && (all[at] == 'e' || all[at] == 'E');
  const auto digits = at + (exponent && (all[at + 1] == '-' || all[at + 1] == '+') ? 2 : 1);
  if (!exponent || digits >= all.size() || !is_digit(all[digits])) return at;
  for (at = digits; at < all.size() && is_digit(all[at]);) ++at;
  return at;
}

std::size_t end_of_name(std::string_view all, std::size_t at) {
  while (at < all.size() && (in_name(all[at]) || all[at] == '.')) ++at;
  return at;
}

/// A character beyond ASCII is one sign with all its bytes.
std::size_t end_of_sign(std::string_view all, std::size_t at) {
  const auto continues = [&](std::size_t i) {
    return i < all.size() && (static_cast<unsigned char>(all[i]) & 0xC0) == 0x80;
  };
  if (static_cast<unsigned char>(all[at]) >= 0x80) {
    for (++at; continues(at);) ++at;
    return at;
  }
  const auto two = all.substr(at, 2);
  return at + (two == "<=" || two == ">=" || two == "!=" || two == "<>" ? 2 : 1);
}

/// The end of a comment or a run of white space at `at`; `at` itself where there is none.
std::size_t end_of_gap(std::string_view all, std::size_t at) {
  if (std::isspace(static_cast<unsigned char>(all[at])) != 0) return at + 1;
  if (all.substr(at, 2) == "/*") {
    const auto end = all.find("*/", at + 2);
    return end == std::string_view::npos ? all.size() : end + 2;
  }
  if (all.substr(at, 3) == "-- ") {
    const auto end = all.find('\n', at);
    return end == std::string_view::npos ? all.size() : end;
  }
  return at;
}

bool ends_operand(const std::vector<SqlToken>& tokens) {
  using Kind = SqlToken::Kind;
  if (tokens.empty()) return false;
  const auto& last = tokens.back();
  if (last.kind == Kind::sign) return last.text == ")" || last.text == "]";
  return true;
}

/// Splits statements, without comments; the last token is `end`. An unclosed string is a sign.
/// A sign directly in front of a number belongs to it where no operand precedes.
std::vector<SqlToken> sql_tokens(std::string_view all) {
  using Kind = SqlToken::Kind;
  std::vector<SqlToken> out;
  for (std::size_t at = 0; at < all.size();) {
    if (const auto end = end_of_gap(all, at); end != at) {
      at = end;
      continue;
    }
    const char c = all[at];
    const auto begin = at;
    if (c == '\'' || c == '"' || c == '`') {
      bool closed = false;
      auto text = quoted_text(all, at, closed);
      const bool is_name = closed && std::ranges::all_of(text, in_name);
      const auto of_quote = c != '`' ? Kind::text : is_name ? Kind::name : Kind::sign;
      out.push_back({closed ? of_quote : Kind::sign, std::move(text), begin, at});
      continue;
    }
    auto kind = Kind::sign;
    const bool negative = c == '-' && at + 1 < all.size() && is_digit(all[at + 1]);
    if (is_digit(c) || (negative && !ends_operand(out))) {
      kind = Kind::number;
      at = end_of_number(all, at);
    } else if (in_name(c)) {
      kind = Kind::name;
      at = end_of_name(all, at);
    } else {
      at = end_of_sign(all, at);
    }
    out.push_back({kind, std::string(all.substr(begin, at - begin)), begin, at});
  }
  out.push_back({Kind::end, {}, all.size(), all.size()});
  return out;
}

}  // namespace

SqlCursor::SqlCursor(std::string_view text, Complaint& complaint)
    : text_(text), tokens_(sql_tokens(text)), complaint_(complaint) {}

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
  complaint_.say(400, "P01: syntax error, unexpected {} near '{}'",
                 end ? "$end" : fmt::format("'{}'", token.text), text_.substr(token.begin));
  at_ = tokens_.size() - 1;
}

std::string_view SqlCursor::text_from(std::size_t begin) const {
  const auto end = at_ == 0 ? begin : tokens_[at_ - 1].end;
  return text_.substr(begin, std::max(begin, end) - begin);
}

}  // namespace karmad::demo
