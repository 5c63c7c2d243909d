#pragma once

#include <cstdint>
#include <string_view>

namespace karmad {

/// What a statement asks for, by its first words.
enum class StatementKind : std::uint8_t {
  select,   ///< SELECT
  change,   ///< INSERT, REPLACE, UPDATE, DELETE
  call,     ///< CALL
  show,     ///< a SHOW that a mirror answers (is_show_of_mirrors)
  profile,  ///< SET profiling = 1; SELECT …; SHOW PLAN or PROFILE: three statements, one request
  other,    ///< not for mirrors: about karmad, about the connection, or unknown
};

/// Reads a few words of a text of any length.
StatementKind kind_of(std::string_view statement);

}  // namespace karmad
