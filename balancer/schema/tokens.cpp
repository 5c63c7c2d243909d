#include "balancer/schema/tokens.hpp"

#include "config/text/source_text.hpp"

namespace karmad {

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
