#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "config/text/enum_names.hpp"
#include "strategies/tags.hpp"
#include "strategies/time.hpp"

namespace karmad {

/// The role a mirror reports, modelled on the server types of MongoDB's driver tests.
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

/// Only mirrors of these roles serve; the others are pinged but never chosen (SS-037).
constexpr bool serves(Role role) {
  return role == Role::primary || role == Role::replica || role == Role::standalone ||
         role == Role::router;
}

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

/// The facts about one mirror that selection uses, from its pings and errors.
struct MirrorFacts {
  Role role = Role::unknown;
  Tags tags;
  std::optional<Micros> rtt;  ///< smoothed round trip of pings; empty until the first (SS-150)
  std::optional<Micros> last_write;  ///< when its newest update was made, since any epoch
  TimePoint updated{};               ///< when it reported that, by the process's clock (SD-012)
  bool operator==(const MirrorFacts&) const = default;
};

/// The picture of one mirror set, with the mirrors in the order of the configuration line. A value:
/// workers hold it as an immutable snapshot.
struct SetDescription {
  SetKind kind = SetKind::unknown;
  Micros ping_interval{};
  bool tags_in_flat = false;  ///< tags also filter reads in flat sets (SS-145)
  bool incompatible = false;  ///< no mirror has a supported version of the ping answer (SS-121)
  std::vector<MirrorFacts> mirrors;
  bool operator==(const SetDescription&) const = default;
};

}  // namespace karmad
