#include "demo/language/sql_tokens.hpp"

#include <cctype>

namespace karmad {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool in_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '@';
}

/// Reads a quoted string from its first quote; sets `at` after the last one.
std::string quoted_text(std::string_view all, std::size_t& at) {
  const char quote = all[at++];
  std::string out;
  for (; at < all.size() && all[at] != quote; ++at) {
    if (all[at] == '\\' && at + 1 < all.size()) ++at;
    out += all[at];
  }
  if (at < all.size()) ++at;
  return out;
}

std::size_t end_of_number(std::string_view all, std::size_t at) {
  if (all[at] == '-') ++at;
  while (at < all.size() && (is_digit(all[at]) || all[at] == '.')) ++at;
  return at;
}

std::size_t end_of_name(std::string_view all, std::size_t at) {
  while (at < all.size() && (in_name(all[at]) || all[at] == '.')) ++at;
  return at;
}

std::size_t end_of_sign(std::string_view all, std::size_t at) {
  const auto two = all.substr(at, 2);
  return at + (two == "<=" || two == ">=" || two == "!=" || two == "<>" ? 2 : 1);
}

}  // namespace

std::vector<SqlToken> sql_tokens(std::string_view all) {
  using Kind = SqlToken::Kind;
  std::vector<SqlToken> out;
  for (std::size_t at = 0; at < all.size();) {
    const char c = all[at];
    if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      ++at;
      continue;
    }
    const auto begin = at;
    auto kind = Kind::sign;
    if (c == '\'' || c == '"') {
      out.push_back({Kind::text, quoted_text(all, at), begin});
      continue;
    }
    if (c == '`') {
      out.push_back({Kind::name, quoted_text(all, at), begin});
      continue;
    }
    if (is_digit(c) || (c == '-' && at + 1 < all.size() && is_digit(all[at + 1]))) {
      kind = Kind::number;
      at = end_of_number(all, at);
    } else if (in_name(c)) {
      kind = Kind::name;
      at = end_of_name(all, at);
    } else {
      at = end_of_sign(all, at);
    }
    out.push_back({kind, std::string(all.substr(begin, at - begin)), begin});
  }
  out.push_back({Kind::end, {}, all.size()});
  return out;
}

}  // namespace karmad
