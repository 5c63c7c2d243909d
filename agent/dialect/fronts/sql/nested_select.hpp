#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "agent/dialect/request/sql_statement.hpp"

namespace karmad {

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
std::expected<SqlStatement, ClientError> read_nested_select(std::string_view statement,
                                                            const ByteRange& brackets);

}  // namespace karmad
