#include "agent/dialect/fronts/sql/foreign_forms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "agent/dialect/fronts/sql/sql_builders.hpp"

namespace karmad::sql {

namespace {

/// The next of these words outside of brackets, or what no statement may contain, or the end.
Token find_outside(Tokens& tokens, auto... words) {
  int depth = 0;
  auto token = tokens.next();
  for (; token.kind != Token::Kind::end && !token.trouble(); token = tokens.next()) {
    depth += token.is_sign('(') ? 1 : token.is_sign(')') ? -1 : 0;
    if (depth == 0 && token.is_word(words...)) break;
  }
  return token;
}

}  // namespace

std::optional<ByteRange> find_nested_select(std::string_view statement) {
  Tokens tokens(statement);
  if (!tokens.next().is_word("select") || !tokens.next().is_sign('*') ||
      !tokens.next().is_word("from"))
    return std::nullopt;
  auto token = tokens.next();
  const auto begin = token.at;
  if (!token.is_sign('(')) return std::nullopt;
  token = tokens.next();
  if (!token.is_word("select")) return std::nullopt;
  for (int depth = 1; token.kind != Token::Kind::end && !token.trouble(); token = tokens.next()) {
    if (token.is_sign('(')) ++depth;
    if (token.is_sign(')') && --depth == 0) return ByteRange{begin, token.end()};
  }
  return std::nullopt;
}

bool has_limit(std::string_view select) {
  Tokens tokens(select);
  return find_outside(tokens, "facet", "limit").is_word("limit");
}

std::string with_limit(std::string_view select, std::uint64_t most) {
  std::string limited(select);
  if (most >= Select{}.window.limit || has_limit(select)) return limited;
  Tokens tokens(select);
  if (!find_outside(tokens, "from").is_word("from")) return limited;
  const auto clause = find_outside(tokens, "option", "facet");
  if (clause.trouble()) return limited;
  if (clause.kind == Token::Kind::end) return fmt::format("{} LIMIT {}", select, most);
  return limited.insert(clause.at, fmt::format("LIMIT {} ", most));
}

OrError<Statement> read_nested_select(std::string_view statement, const ByteRange& brackets) {
  auto texts = std::make_shared<std::pair<std::string, std::string>>(statement, statement);
  blank_out(texts->first, {0, brackets.begin + 1});
  blank_out(texts->first, {brackets.end - 1, statement.size()});
  blank_out(texts->second, brackets, " t");  // a table in place of the brackets
  if (const auto deeper = find_nested_select(texts->first))
    return std::unexpected(SelectBuilder::inner_select_at(deeper->begin));
  auto inner = read_as<Select>(texts->first, StatementKind::select);
  if (!inner) return std::unexpected(std::move(inner.error()));
  auto outer = read_as<Select>(texts->second, StatementKind::select);
  if (!outer) return std::unexpected(std::move(outer.error()));
  if (outer->unplannable) return std::unexpected(*std::move(outer->unplannable));
  const bool only_sorts = outer->where.empty() && outer->group.empty() && outer->having.empty() &&
                          outer->within.empty() && outer->option_list.empty() &&
                          outer->facets.empty() && !outer->order.empty();
  if (!only_sorts)
    return refused_at(brackets.end,
                      "behind a SELECT in brackets stands ORDER BY, then LIMIT or nothing");
  if (inner->table.empty()) return refused_at(brackets.begin, "the SELECT in brackets has no FROM");
  if (!inner->scroll.empty() || !inner->facets.empty())
    return refused_at(brackets.begin, "a SELECT in brackets has no FACET and does not scroll");
  // As engines do: the larger offset counts, and the outer LIMIT is the inner one if there is none.
  if (!has_limit(statement.substr(brackets.end))) outer->window = {0, inner->window.limit};
  outer->window.offset = std::max(outer->window.offset, inner->window.offset);
  inner->window.offset = 0;
  inner->outer = std::make_shared<const Select>(*std::move(outer));
  inner->own_texts = std::move(texts);
  return *std::move(inner);
}

}  // namespace karmad::sql
