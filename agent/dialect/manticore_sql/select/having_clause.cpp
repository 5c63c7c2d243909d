#include "agent/dialect/manticore_sql/select/having_clause.hpp"

#include <fmt/format.h>

#include "agent/dialect/manticore_sql/rows/having.hpp"

namespace karmad {

namespace {

using HavingIs = RowCondition::Is;

/// Every merged group is compared with each.
constexpr std::size_t kMostHavingValues = 256;

/// The text of a quoted token; escapes are those of the server.
std::string unquoted_text(const SqlToken& token) {
  const auto text = token.text.substr(1, token.text.size() - 2);
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const char c = text[++i];
    out += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
  }
  return out;
}

/// A number with its sign, or a quoted text.
std::expected<std::string, ClientError> having_constant(SqlSpan tokens, std::size_t at) {
  if (tokens.size() == 1 && tokens[0].kind == SqlToken::Kind::quoted)
    return unquoted_text(tokens[0]);
  const bool negative = tokens.size() == 2 && tokens[0].is_sign('-');
  if ((tokens.size() == 1 || negative) && number_of_having(tokens.back().text))
    return std::string(negative ? "-" : "").append(tokens.back().text);
  return std::unexpected(
      wrong_at(tokens.empty() ? at : tokens.front().at,
               "HAVING compares one expression with numbers or quoted texts, without AND and OR"));
}

struct HavingOperator {
  HavingIs is = HavingIs::equal;
  bool negated = false;
  std::size_t begin = 0;  // of the operator
  std::size_t end = 0;
};

/// The first operator outside of brackets.
std::optional<HavingOperator> find_having_operator(SqlSpan tokens) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].is_sign('(') || tokens[i].is_sign('[')) {
      i = after_bracket(tokens, i) - 1;
      continue;
    }
    const auto next_is = [&](char c) {  // without a space between: `>=` is one token of the server
      return i + 1 < tokens.size() && tokens[i + 1].is_sign(c) &&
             tokens[i + 1].at == tokens[i].at + 1;
    };
    if (tokens[i].is_sign('=')) return HavingOperator{HavingIs::equal, false, i, i + 1};
    if (tokens[i].is_sign('!')) {
      if (!next_is('=')) return std::nullopt;
      return HavingOperator{HavingIs::unequal, false, i, i + 2};
    }
    if (tokens[i].is_sign('<')) {
      if (next_is('>')) return HavingOperator{HavingIs::unequal, false, i, i + 2};
      return next_is('=') ? HavingOperator{HavingIs::at_most, false, i, i + 2}
                          : HavingOperator{HavingIs::less, false, i, i + 1};
    }
    if (tokens[i].is_sign('>'))
      return next_is('=') ? HavingOperator{HavingIs::at_least, false, i, i + 2}
                          : HavingOperator{HavingIs::greater, false, i, i + 1};
    const bool negated = tokens[i].is_word("not");
    const auto word = negated ? i + 1 : i;
    if (word == tokens.size()) return std::nullopt;
    if (tokens[word].is_word("between"))
      return HavingOperator{HavingIs::between, negated, i, word + 1};
    if (tokens[word].is_word("in")) return HavingOperator{HavingIs::in, negated, i, word + 1};
  }
  return std::nullopt;
}

/// The constants to the right of the operator, each as its tokens; none: IN without brackets.
std::vector<SqlSpan> having_operands(SqlSpan tokens, HavingIs is) {
  if (is == HavingIs::in) {
    if (tokens.size() < 2 || !tokens.front().is_sign('(') ||
        after_bracket(tokens, 0) != tokens.size())
      return {};
    return split_list(tokens.subspan(1, tokens.size() - 2));
  }
  if (is == HavingIs::between)
    for (std::size_t i = 0; i < tokens.size(); ++i)
      if (tokens[i].is_word("and")) return {tokens.first(i), tokens.subspan(i + 1)};
  return {tokens};
}

}  // namespace

std::expected<HavingClause, ClientError> read_having(SqlSpan tokens) {
  const auto at = tokens.front().at;
  const auto op = find_having_operator(tokens);
  if (!op || op->begin == 0)
    return std::unexpected(wrong_at(at, "expected HAVING expression, comparison, constant"));
  auto of = read_expression(tokens.first(op->begin));
  if (!of) return std::unexpected(std::move(of.error()));
  HavingClause having{std::move(*of), {{}, op->is, op->negated, {}}};
  for (const auto operand : having_operands(tokens.subspan(op->end), op->is)) {
    auto value = having_constant(operand, at);
    if (!value) return std::unexpected(std::move(value.error()));
    if (having.condition.values.size() == kMostHavingValues)
      return std::unexpected(
          wrong_at(operand.front().at,
                   fmt::format("HAVING compares with more than {} values", kMostHavingValues)));
    having.condition.values.push_back(std::move(*value));
  }
  if (having.condition.values.empty())
    return std::unexpected(wrong_at(at, "expected IN and constants in brackets"));
  if (op->is == HavingIs::between && having.condition.values.size() != 2)
    return std::unexpected(wrong_at(at, "expected BETWEEN one AND another constant"));
  return having;
}

}  // namespace karmad
