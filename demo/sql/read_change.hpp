#pragma once

#include <span>
#include <string>

#include "demo/sql/sql_cursor.hpp"
#include "demo/sql/statement.hpp"

namespace karmad {

/// Whether INSERT, REPLACE, UPDATE or DELETE begins here.
bool is_change(const SqlCursor& cursor);

/// Reads INSERT|REPLACE INTO table (columns) VALUES (…), …; UPDATE table SET column = value, …
/// WHERE …; DELETE FROM table WHERE ….
Statement read_change(SqlCursor& cursor, std::span<const std::string> tables);

}  // namespace karmad
