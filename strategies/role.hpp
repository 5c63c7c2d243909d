#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

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

inline constexpr std::array<std::string_view, 8> kRoleNames{
    "unknown", "primary", "replica", "arbiter", "other", "ghost", "standalone", "router"};
inline constexpr std::array<std::string_view, 5> kSetKindNames{"unknown", "direct", "flat", "roles",
                                                               "balanced"};

constexpr std::string_view name(Role role) {
  return kRoleNames[static_cast<std::size_t>(role)];
}
constexpr std::string_view name(SetKind kind) {
  return kSetKindNames[static_cast<std::size_t>(kind)];
}

/// The role of that name, in lower case.
constexpr std::optional<Role> role_named(std::string_view word) {
  for (std::size_t i = 0; i < kRoleNames.size(); ++i)
    if (kRoleNames[i] == word) return static_cast<Role>(i);
  return std::nullopt;
}

}  // namespace karmad
