#pragma once

#include <cstddef>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/request/client_request.hpp"
#include "agent/dialect/request/sql_tokens.hpp"

namespace karmad::sql {

/// Successive tokens of one statement, with balanced brackets.
using Span = std::span<const Token>;

/// The statement's text from the first to the last token.
std::string_view text_of(Span tokens);

/// The text in a form in which equal expressions are equal: without spaces, backquotes and case,
/// and with today's name for `@count`, `@groupby`, `@weight`, `@id`.
std::string canonical(Span tokens);

/// A name or alias in that form.
std::string canonical(const Token& token);

/// The parts between the commas outside of brackets; an empty list has one empty part.
std::vector<Span> split_list(Span tokens);

/// The offset of a part of the list, and of an empty part that of what follows it.
std::size_t offset_of(Span part, Span list);

/// The position after the bracket that closes the one at `open`.
std::size_t after_bracket(Span tokens, std::size_t open);

/// Whether the first token is that word and its brackets end with the last token.
bool is_call(Span tokens);

/// Whether the whole is a value inside a JSON attribute: `a.b`, `a['b'][0]`.
bool is_path(Span tokens);

/// Whether the server takes the text in ORDER BY and GROUP BY: a name, a path, a call without
/// arguments, COUNT(*). Other expressions need an alias.
bool is_plain_key(Span tokens);

/// Whether the word may stand before the last operand of an expression.
bool is_operator_word(const Token& token);

/// The operand directly behind another one, outside of brackets: the second word of `price dsc`.
/// Null: there is none.
const Token* misplaced_operand(Span expression);
/// The first token that no key of ORDER BY has there; the direction may follow its operand.
const Token* misplaced_in_sort_key(Span key);

/// 400: the statement is wrong there.
ClientError wrong_at(std::size_t offset, std::string_view what);
template <class... Args>
ClientError wrong_at(std::size_t offset, fmt::format_string<Args...> what, Args&&... args) {
  return wrong_at(offset, fmt::format(what, std::forward<Args>(args)...));
}
template <class... Args>
std::unexpected<ClientError> refused_at(std::size_t offset, fmt::format_string<Args...> what,
                                        Args&&... args) {
  return std::unexpected(wrong_at(offset, fmt::format(what, std::forward<Args>(args)...)));
}
/// 501: cannot be answered from several shards; `instead` says what can.
ClientError unmergeable_at(std::size_t offset, std::string_view what, std::string_view instead);

}  // namespace karmad::sql
