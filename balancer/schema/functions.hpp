#pragma once

#include <sqlite3.h>

#include <cstddef>
#include <string_view>

namespace karmad {

/// Steps of SQLite, and bytes of functions.
inline constexpr std::size_t kMostSchemaSteps = 10'000'000;

/// Gives the database the functions of MySQL that SQLite lacks. They add to `steps` what they cost.
void add_schema_functions(sqlite3* database, std::size_t& steps);

/// Whether a SELECT of the schema may call the function: none that reads files, or whose result
/// is longer than its arguments.
bool is_schema_function(std::string_view name);

}  // namespace karmad
