#pragma once

#include <optional>
#include <vector>

#include "strategies/role.hpp"
#include "strategies/tags.hpp"
#include "strategies/time.hpp"

namespace karmad {

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
