#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace karmad {

/// Why an attempt is made.
enum class AttemptReason : std::uint8_t {
  initial,
  retry,           ///< the one before failed in an ordinary way (BP-060)
  overload,        ///< it was refused as overload (BP-004)
  throttled,       ///< it was told how long to wait (CO-020)
  moved,           ///< its mirror no longer serves the shard (CO-051)
  migrating,       ///< the shard is split or moves (CO-052)
  recreated,       ///< the index is another one of the same name (CO-053)
  lost_copy,       ///< its mirror has lost its copy (CO-057)
  conflict,        ///< 449: the same again (CO-055)
  generation_low,  ///< its mirror had not seen yet what the client has (CO-034)
  draining,        ///< its mirror is being taken away (CO-033)
  zone,            ///< the mirrors of a zone are not available (CO-030)
  hedge,           ///< the one before is late
  new_primary,     ///< an update whose mirror is not the primary any more (CO-032)
  quorum,          ///< several have to agree (CO-070)
};

inline constexpr std::size_t kAttemptReasons = static_cast<std::size_t>(AttemptReason::quorum) + 1;

/// The reason as the log says it.
std::string_view name(AttemptReason reason);
/// As traces say it: several reasons have one word there.
std::string_view trace_name(AttemptReason reason);

}  // namespace karmad
