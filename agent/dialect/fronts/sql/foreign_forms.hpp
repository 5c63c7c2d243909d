#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/request/sql_statement.hpp"

namespace karmad::sql {

/// A statement as engines read it.
struct EngineStatement {
  std::string text;
  /// Where ` ASC` was added: offsets in the client's text, ascending. All other bytes keep theirs.
  std::vector<std::size_t> directions{};
};

/// The statement without its foreign forms, and with ` ASC` behind keys of an ORDER BY without a
/// direction, which engines want; nothing: it is so already. Blanks take the place of the table's
/// alias and of the table's name before a column
/// (`p.price`, `` `p`.`price` ``, `p.*`; with an alias only that, without one the table's own), in
/// any case of letters; COUNT(1) and COUNT(column) become COUNT(*), and COUNT(DISTINCT(x)) loses
/// its inner brackets. The names of character sets before texts are left out (`_binary'x'`).
/// Numbers in quotes lose these where they are compared with the id (`id = '7'`, `id IN ('7')`) and
/// in LIMIT. An INSERT loses the columns for which every row has DEFAULT. `read`: a SELECT or a
/// change; of other statements nothing.
std::optional<EngineStatement> without_foreign_forms(std::string_view statement,
                                                     const Statement& read);

/// Writes blanks over a part of the text, behind `first`.
void blank_out(std::string& text, const ByteRange& part, std::string_view first = {});

/// Whether `before` says of which character set the text is (`_utf8'x'`), of those that are UTF-8.
bool names_charset(const Token& before, const Token& text);

/// The statement without the name of a schema before its table (`shop.two`, `` `shop`.`two` ``) and
/// before columns of it, in which each remaining byte keeps its offset; nothing: it has none.
std::optional<std::string> without_schema(std::string_view statement);

/// The brackets of `SELECT * FROM (SELECT …) ORDER BY …`, themselves included. Nothing: it is
/// another statement, or the brackets do not end. Reads five tokens of other statements.
std::optional<ByteRange> find_nested_select(std::string_view statement);

/// Whether a SELECT, or what stands behind its tables, has a LIMIT: none in brackets, and none of a
/// facet.
bool has_limit(std::string_view select);

/// The SELECT with a LIMIT of `most` rows, if it has a table and none, and servers would give more.
std::string with_limit(std::string_view select, std::uint64_t most);

/// Reads such a statement: the SELECT within the brackets, whose `outer` is what follows them. All
/// offsets are those of the statement. Refuses (400) anything but ORDER BY and LIMIT there, as
/// engines do, and FACET and scrolls in the brackets.
OrError<Statement> read_nested_select(std::string_view statement, const ByteRange& brackets);

/// Longest statement about the schema; those of tools have at most 8 KiB.
inline constexpr std::size_t kLongestSchemaStatement = 64 << 10;

/// Whether a SHOW, DESCRIBE, DESC or EXPLAIN asks for the schema in a form of MySQL: SHOW COLUMNS,
/// SHOW FULL TABLES, DESCRIBE t …
bool shows_schema(std::string_view statement);

/// Whether a SELECT reads from tables of information_schema and other schemas of a server, or from
/// DUAL: by the name behind its first FROM.
bool selects_schema(std::string_view statement);

/// Whether it is SHOW VARIABLES, also of SESSION or GLOBAL.
bool shows_variables(std::string_view statement);

/// Whether the name is a schema of the server itself, as MySQL has them.
bool is_system_schema(std::string_view schema);

/// The statement without the marks of comments that MySQL executes (`/*!50002 FULL */`), which
/// become blanks. For statements that no engine reads.
std::string without_executable_comments(std::string_view statement);

}  // namespace karmad::sql
