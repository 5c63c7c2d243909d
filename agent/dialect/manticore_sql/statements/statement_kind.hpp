#pragma once

#include <cstdint>
#include <string_view>

#include "agent/dialect/dialect.hpp"

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

/// Which mirrors the statement may use. What lists or describes tables and servers should use the
/// primary and takes no read preference, also where karmad answers it itself.
SelectionClass selection_class_of(std::string_view statement);

}  // namespace karmad
