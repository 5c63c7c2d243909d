#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace karmad {

enum class Show : std::uint8_t { agents, agent, tables, table, status, version };

/// A statement about karmad itself.
struct StatusStatement {
  Show show = Show::agents;
  std::string name;                 ///< Show::agent: table or address; Show::table: the table
  std::optional<std::string> like;  ///< pattern for the first column

  bool operator==(const StatusStatement&) const = default;
};

/// A SELECT: not about karmad, but about the tables.
struct SelectStatement {
  bool operator==(const SelectStatement&) const = default;
};

/// Not a statement we know.
struct UnknownStatement {
  std::string reason;  ///< names what was wrong and the statements there are

  bool operator==(const UnknownStatement&) const = default;
};

using AnyStatement = std::variant<StatusStatement, SelectStatement, UnknownStatement>;

/// Understands one statement. Words are case-insensitive; names and patterns may stand in ', " or
/// `; comments and a closing `;` are skipped. Reads at most a dozen words, however long the text.
AnyStatement parse_statement(std::string_view sql);

}  // namespace karmad
