#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace karmad {

/// A statement about the client's connection: about the query before it, or about settings that
/// have no meaning for karmad.
struct SessionStatement {
  enum class Is : std::uint8_t {
    nothing,    ///< is answered as done, and changes nothing
    meta,       ///< SHOW META
    warnings,   ///< SHOW WARNINGS
    scroll,     ///< SHOW SCROLL: the token of the last SELECT
    inspected,  ///< SHOW PLAN, SHOW PROFILE: `text` names it
    use,        ///< USE: `text` is the name, or empty
    // Asked by clients of MySQL only.
    databases,   ///< SHOW DATABASES
    collations,  ///< SHOW COLLATION
    charsets,    ///< SHOW CHARACTER SET
  };
  Is is = Is::nothing;
  std::string text{};
  std::optional<std::string> like{};  ///< pattern for the first column

  bool operator==(const SessionStatement&) const = default;
};

}  // namespace karmad
