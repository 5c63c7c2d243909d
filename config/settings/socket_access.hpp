#pragma once

#include <expected>
#include <optional>
#include <string_view>

#include "config/settings/settings.hpp"
#include "config/settings/units.hpp"

namespace karmad {

/// Who may use a unix socket. Empty ids: those of the process.
struct SocketAccess {
  FileMode mode;
  std::optional<unsigned> user;
  std::optional<unsigned> group;
};

/// Reads `user`, `user:group` or `:group`, each a name that this system knows or a number, into the
/// ids of `access`. Asks the system's user database.
std::expected<void, Unfit> read_owner(std::string_view owner, SocketAccess& access);

/// The access to a unix socket of these settings, whose owner was checked. One for the operator is
/// for its owner alone if no mode is configured.
SocketAccess socket_access(const ListenerSettings& settings, bool admin);

}  // namespace karmad
