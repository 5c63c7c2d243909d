#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace karmad {

enum class Show : std::uint8_t {
  agents,   ///< SHOW AGENT STATUS
  agent,    ///< SHOW AGENT name STATUS
  mirrors,  ///< SHOW AGENTS: one row per mirror
  tables,
  table,
  status,
  version
};

/// A statement about karmad itself.
struct StatusStatement {
  Show show = Show::agents;
  std::string name;                 ///< Show::agent: table or address; Show::table: the table
  std::optional<std::string> like;  ///< pattern for the first column

  bool operator==(const StatusStatement&) const = default;
};

/// A SELECT or a change: concerns the tables, not karmad.
struct SelectStatement {
  bool operator==(const SelectStatement&) const = default;
};

/// An unknown statement, or one that karmad does not pass on.
struct UnknownStatement {
  std::string reason;  ///< what is wrong, and the known statements or where to send it

  bool operator==(const UnknownStatement&) const = default;
};

using AnyStatement = std::variant<StatusStatement, SelectStatement, UnknownStatement>;

/// Parses one statement. Words are case-insensitive; names and patterns may be quoted with ', " or
/// `; comments and a final `;` are skipped. Reads at most a dozen words of a text of any length.
AnyStatement parse_statement(std::string_view sql);

}  // namespace karmad
