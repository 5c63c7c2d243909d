#pragma once

#include <optional>
#include <vector>

#include "strategies/role.hpp"
#include "strategies/tags.hpp"
#include "strategies/time.hpp"

namespace karmad {

/// What is known of one mirror, from its pings and the errors met there, as far as choosing needs
/// it.
struct MirrorFacts {
  Role role = Role::unknown;
  Tags tags;
  std::optional<Micros> rtt;  ///< smoothed round trip of pings; empty until the first (SS-150)
  std::optional<Micros> last_write;  ///< when the newest update it holds was made, since any epoch
  TimePoint updated{};               ///< the master's clock when it said so (SD-012)
  bool operator==(const MirrorFacts&) const = default;
};

/// The master's picture of one mirror set, the mirrors in the order of the configuration line. A
/// value: workers hold it as an immutable snapshot.
struct SetPicture {
  SetKind kind = SetKind::unknown;
  Micros ping_interval{};
  bool tags_in_flat = false;  ///< tags filter reads in flat sets, too (SS-145)
  bool incompatible = false;  ///< no mirror speaks a version of the ping answer we know (SS-121)
  std::vector<MirrorFacts> mirrors;
  bool operator==(const SetPicture&) const = default;
};

}  // namespace karmad
