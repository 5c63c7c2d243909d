#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "config/text/enum_names.hpp"

namespace karmad {

/// The role a mirror reports, modelled on the server types of MongoDB's driver tests. Only
/// `primary`, `replica`, `router` and `standalone` serve; the others are pinged but never chosen
/// (SS-037).
enum class Role : std::uint8_t {
  unknown,     ///< not pinged yet, unreachable, or excluded as wrong
  primary,     ///< the copy that takes updates
  replica,     ///< a copy that follows the primary
  arbiter,     ///< holds no data
  other,       ///< starting, recovering, hidden, draining, out of its cluster
  ghost,       ///< not in a set yet
  standalone,  ///< reports no role
  router,      ///< one of several equal mirrors: a master, or a node that queries the others itself
};

/// The kind of set that the mirrors form (SS-140 … SS-145).
enum class SetKind : std::uint8_t {
  unknown,   ///< not known yet
  direct,    ///< exactly one mirror, used for all operations
  flat,      ///< all mirrors are equal
  roles,     ///< a primary and replicas; the primary may be unknown
  balanced,  ///< one address that is another load balancer; never pinged
};

inline constexpr auto kRoleNames = enumerators<Role>();
inline constexpr auto kSetKindNames = enumerators<SetKind>();

constexpr std::string_view name(Role role) {
  return kRoleNames[role];
}
constexpr std::string_view name(SetKind kind) {
  return kSetKindNames[kind];
}

/// The role of that name, in lower case.
constexpr std::optional<Role> role_named(std::string_view word) {
  return kRoleNames.find(word);
}

}  // namespace karmad
