#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "strategies/candidates.hpp"
#include "strategies/set_picture.hpp"

namespace karmad {

/// Which mirrors may answer a read (SS-031 … SS-036).
enum class Mode : std::uint8_t {
  primary,
  primary_preferred,
  secondary,
  secondary_preferred,
  nearest,
};

/// A read preference; defaults as in SS-030.
struct ReadPreference {
  Mode mode = Mode::primary;
  std::vector<Tags> tag_sets;                         ///< tried in order; empty: all match (SS-062)
  std::optional<std::chrono::seconds> max_staleness;  ///< empty: no limit (SS-040)
  std::optional<bool> hedge;                          ///< empty: not specified (SS-072)
  bool operator==(const ReadPreference&) const = default;
};

enum class Operation : std::uint8_t { read, write };

/// The requirements of a query for a mirror.
struct Need {
  Operation operation = Operation::read;
  ReadPreference preference;
};

/// Why a preference is invalid, for the client or the operator.
struct InvalidPreference {
  int code = 0;  ///< number of the error if a rule defines one (160: SS-042, SS-045), else 0
  std::string why;
};

/// Idle write period and lowest limit (SS-019).
inline constexpr auto kIdleWritePeriod = std::chrono::seconds(10);
inline constexpr auto kSmallestStaleness = std::chrono::seconds(90);
/// Highest 32-bit value, as in the drivers that the test data comes from.
inline constexpr auto kLargestStaleness = std::chrono::seconds(2'147'483'647);

/// Why the preference is invalid for any set, if it is: tags or a staleness limit with mode primary
/// (SS-041, SS-043, SS-060), a limit that is not positive (SS-044) or too large.
std::optional<InvalidPreference> invalid(const ReadPreference& preference);

/// The same for a set: with roles, the limit may also be too low (SS-042, SS-045).
std::optional<InvalidPreference> invalid_for(const ReadPreference& preference, SetKind kind,
                                             Micros ping_interval);

/// How far a replica lags behind the primary (SS-048) or, if no primary reports its freshness,
/// behind the newest replica (SS-049). Nothing if it does not report; 0 for other roles (SS-050).
/// May be negative.
std::optional<Micros> staleness(const SetPicture& picture, std::size_t mirror);

/// The mirrors of `from` that suit the need: by kind and mode, then staleness, then tags (SS-047,
/// SS-140 … SS-145). The preference must be valid. May be empty. Allocates nothing.
Candidates suitable_for(const Need& need, const SetPicture& picture, Candidates from);

/// Why a mirror does not suit the need now, for errors and the status: `its role is unknown`, `role
/// is other`, `lags 130 s, the limit is 90 s`; empty if it does.
std::string why_unsuitable(const Need& need, const SetPicture& picture, std::size_t mirror);

/// The preference sent with an attempt at a mirror of this role (SS-090 … SS-097), if any. `asked`:
/// the query's own preference, if any. Reads only.
std::optional<ReadPreference> passed_on(const std::optional<ReadPreference>& asked, SetKind kind,
                                        Role role);

}  // namespace karmad
