#include "agent/dialect/manticore_sql/statements/statement_list.hpp"

#include <fmt/format.h>

#include "agent/dialect/manticore_sql/sql_tokens.hpp"
#include "agent/json/json_text.hpp"

namespace karmad {
namespace {

/// Whether no statement can follow: there is no `;`, or only blanks follow the first.
bool is_surely_one(std::string_view text) {
  const auto end = text.find(';');
  return end == text.npos || text.find_first_not_of(" \t\r\n;", end) == text.npos;
}

std::unexpected<ClientError> no_list(std::string reason) {
  return std::unexpected(ClientError{400, std::move(reason)});
}

/// Where the first bytes are that are not UTF-8; npos: nowhere.
std::size_t first_wrong_bytes(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto length = static_cast<unsigned char>(text[at]) < 0x80 ? 1 : utf8_length(text, at);
    if (length == 0) return at;
    at += length;
  }
  return text.npos;
}

}  // namespace

std::string_view without_empty_statements(std::string_view text) {
  text = text.substr(0, text.find_last_not_of(" \t\r\n;") + 1);
  SqlTokens tokens(text);
  auto first = tokens.next();
  if (!first.is_sign(';')) return text;
  while (first.is_sign(';')) first = tokens.next();
  return text.substr(first.at);
}

std::expected<std::vector<std::string_view>, ClientError> split_statements(std::string_view text) {
  // A mirror quotes the statement in its error, which would be no JSON then and look like a fault.
  if (const auto wrong = first_wrong_bytes(text); wrong != text.npos)
    return no_list(fmt::format("at offset {}: the statement is not valid UTF-8", wrong));
  if (is_surely_one(text)) return std::vector{text.substr(0, text.find(';'))};
  std::vector<std::string_view> statements;
  SqlTokens tokens(text);
  std::size_t begin = 0;
  bool blank = true;
  for (;;) {
    const auto token = tokens.next();
    if (auto trouble = token.trouble()) return no_list(*std::move(trouble));
    const bool ends = token.kind == SqlToken::Kind::end;
    if (!ends && !token.is_sign(';')) {
      blank = false;
      continue;
    }
    if (!blank && statements.size() == kMostStatements)
      return no_list(fmt::format("more than {} statements in one request", kMostStatements));
    if (!blank) statements.push_back(text.substr(begin, token.at - begin));
    if (ends) return statements;
    begin = token.at + 1;
    blank = true;
  }
}

}  // namespace karmad
