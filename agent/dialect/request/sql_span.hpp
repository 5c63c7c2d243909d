#pragma once

#include <cstddef>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/request/client_request.hpp"
#include "agent/dialect/request/sql_tokens.hpp"

namespace karmad {

/// Successive tokens of one statement, with balanced brackets.
using SqlSpan = std::span<const SqlToken>;

/// The statement's text from the first to the last token.
std::string_view text_of(SqlSpan tokens);

/// The text in a form in which equal expressions are equal: without spaces, backquotes and case,
/// and with today's name for `@count`, `@groupby`, `@weight`, `@id`.
std::string canonical(SqlSpan tokens);

/// A name or alias in that form.
std::string canonical(const SqlToken& token);

/// The parts between the commas outside of brackets; an empty list has one empty part.
std::vector<SqlSpan> split_list(SqlSpan tokens);

/// The offset of a part of the list, and of an empty part that of what follows it.
std::size_t offset_of(SqlSpan part, SqlSpan list);

/// The position after the bracket that closes the one at `open`.
std::size_t after_bracket(SqlSpan tokens, std::size_t open);

/// Whether the first token is that word and its brackets end with the last token.
bool is_call(SqlSpan tokens);

/// Whether the whole is a value inside a JSON attribute: `a.b`, `a['b'][0]`.
bool is_path(SqlSpan tokens);

/// Whether the server takes the text in ORDER BY and GROUP BY: a name, a path, a call without
/// arguments, COUNT(*). Other expressions need an alias.
bool is_plain_key(SqlSpan tokens);

/// Whether the word may stand before the last operand of an expression.
bool is_operator_word(const SqlToken& token);

/// The operand directly behind another one, outside of brackets: the second word of `price dsc`.
/// Null: there is none.
const SqlToken* misplaced_operand(SqlSpan expression);
/// The first token that no key of ORDER BY has there; the direction may follow its operand.
const SqlToken* misplaced_in_sort_key(SqlSpan key);

/// 400: the statement is wrong there.
ClientError wrong_at(std::size_t offset, std::string_view what);
inline std::unexpected<ClientError> refused_at(std::size_t offset, std::string_view what) {
  return std::unexpected(wrong_at(offset, what));
}
/// 501: cannot be answered from several shards; `instead` says what can.
ClientError unmergeable_at(std::size_t offset, std::string_view what, std::string_view instead);

}  // namespace karmad
