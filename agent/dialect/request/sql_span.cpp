#include "agent/dialect/request/sql_tokens.hpp"

#include <fmt/format.h>
#include <array>
#include <utility>

#include "config/text/source_text.hpp"

namespace karmad::sql {

namespace {

/// What the token adds to the depth of brackets: 1, -1 or 0.
int nesting(const Token& token) {
  if (token.is_sign('(', '[', '{')) return 1;
  return token.is_sign(')', ']', '}') ? -1 : 0;
}

/// Names with which old versions of the server began.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kOldNames{
    {{"@count", "count(*)"}, {"@groupby", "groupby()"}, {"@weight", "weight()"}, {"@id", "id"}}};

}  // namespace

std::string_view text_of(Span tokens) {
  if (tokens.empty()) return {};
  const auto* const begin = tokens.front().text.data();
  const auto& last = tokens.back().text;
  return {begin, static_cast<std::size_t>(last.data() + last.size() - begin)};
}

std::string canonical(const Token& token) {
  if (token.kind == Token::Kind::quoted) return std::string(token.text);
  auto lower_case = lower(token.inner());
  for (const auto& [old_name, name] : kOldNames)
    if (lower_case == old_name) return std::string(name);
  return lower_case;
}

std::string canonical(Span tokens) {
  std::string text;
  bool after_word = false;
  for (const auto& token : tokens) {
    const bool word = token.kind != Token::Kind::sign;
    if (word && after_word) text += ' ';
    text += canonical(token);
    after_word = word;
  }
  return text;
}

std::vector<Span> split_list(Span tokens) {
  std::vector<Span> parts;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    depth += nesting(tokens[i]);
    if (depth != 0 || !tokens[i].is_sign(',')) continue;
    parts.push_back(tokens.subspan(begin, i - begin));
    begin = i + 1;
  }
  parts.push_back(tokens.subspan(begin));
  return parts;
}

std::size_t offset_of(Span part, Span list) {
  const auto at = static_cast<std::size_t>(part.data() - list.data());
  return at < list.size() ? list[at].at : list.back().end();
}

std::size_t after_bracket(Span tokens, std::size_t open) {
  int depth = 0;
  for (auto i = open; i < tokens.size(); ++i) {
    const int change = nesting(tokens[i]);
    depth += change;
    if (change < 0 && depth == 0) return i + 1;
  }
  return tokens.size();
}

bool is_call(Span tokens) {
  return tokens.size() >= 3 && tokens[0].kind == Token::Kind::word && tokens[1].is_sign('(') &&
         after_bracket(tokens, 1) == tokens.size();
}

bool is_path(Span tokens) {
  if (tokens.empty() || !tokens[0].names_table() || is_digit(tokens[0].text.front())) return false;
  if (tokens.size() == 1)
    return tokens[0].kind == Token::Kind::word &&
           tokens[0].text.find('.') != std::string_view::npos;
  if (tokens[0].text.ends_with('.'))  // meta.`color`
    return tokens.size() == 2 && tokens[1].kind == Token::Kind::name;
  for (std::size_t i = 1; i < tokens.size();) {
    if (tokens[i].is_sign('[')) {
      i = after_bracket(tokens, i);
    } else if (tokens[i].kind == Token::Kind::word && tokens[i].text.starts_with('.')) {
      ++i;
    } else {
      return false;
    }
  }
  return true;
}

bool is_plain_key(Span tokens) {
  if (tokens.size() == 1) return tokens[0].names_table() && !is_digit(tokens[0].text.front());
  if (is_path(tokens)) return true;
  const auto text = canonical(tokens);
  return text == "count(*)" || text == "weight()" || text == "groupby()" || text == "knn_dist()";
}

bool is_operator_word(const Token& token) {
  return token.is_word("and", "or", "not", "div", "mod", "in", "like", "is", "between", "distinct");
}

const Token* misplaced_operand(Span expression) {
  int depth = 0;
  bool behind_operand = false;
  for (const auto& token : expression) {
    const int change = nesting(token);
    depth += change;
    if (depth != 0) continue;
    const bool is_part = token.kind == Token::Kind::word && token.text.starts_with('.');
    const bool is_operand = token.kind != Token::Kind::sign && !is_part && !is_operator_word(token);
    if (is_operand && behind_operand) return &token;
    behind_operand = change < 0 || ((is_operand || is_part) && !token.text.ends_with('.'));
  }
  return nullptr;
}

const Token* misplaced_in_sort_key(Span key) {
  const auto* const found = misplaced_operand(key);
  if (found == nullptr || !found->is_word("asc", "desc")) return found;
  return found == &key.back() ? nullptr : found + 1;
}

ClientError wrong_at(std::size_t offset, std::string_view what) {
  return {400, fmt::format("at offset {}: {}", offset, what)};
}

ClientError unmergeable_at(std::size_t offset, std::string_view what, std::string_view instead) {
  return {501, fmt::format("at offset {}: {} cannot be merged: the table has several shards; {}",
                           offset, what, instead)};
}

}  // namespace karmad::sql
