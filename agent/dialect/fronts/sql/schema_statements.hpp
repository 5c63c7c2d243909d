#pragma once

#include <string>
#include <string_view>

namespace karmad {

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

}  // namespace karmad
