#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "strategies/candidates.hpp"
#include "strategies/set_picture.hpp"

namespace karmad {

/// Which copies a read may go to (SS-031 … SS-036).
enum class Mode : std::uint8_t {
  primary,
  primary_preferred,
  secondary,
  secondary_preferred,
  nearest,
};

/// A read preference; the defaults are those of SS-030.
struct ReadPreference {
  Mode mode = Mode::primary;
  std::vector<Tags> tag_sets;                         ///< tried in order; none: all match (SS-062)
  std::optional<std::chrono::seconds> max_staleness;  ///< none: no limit (SS-040)
  std::optional<bool> hedge;                          ///< none: nothing was said (SS-072)
  bool operator==(const ReadPreference&) const = default;
};

enum class Operation : std::uint8_t { read, write };

/// What a query needs of a mirror.
struct Need {
  Operation operation = Operation::read;
  ReadPreference preference;
};

/// What is wrong with a preference, in words for the client or the operator.
struct InvalidPreference {
  int code = 0;  ///< the number of the error where a rule names one (160: SS-042, SS-045), else 0
  std::string why;
};

/// Idle write period and smallest limit (SS-019).
inline constexpr auto kIdleWritePeriod = std::chrono::seconds(10);
inline constexpr auto kSmallestStaleness = std::chrono::seconds(90);
/// What fits in 32 bits, as in the drivers the data comes from.
inline constexpr auto kLargestStaleness = std::chrono::seconds(2'147'483'647);

/// What is wrong with the preference whatever the set: tags or a staleness limit with mode primary
/// (SS-041, SS-043, SS-060), a limit that is not positive (SS-044) or absurdly large.
std::optional<InvalidPreference> invalid(const ReadPreference& preference);

/// The same, and in a set with roles a limit that is too small (SS-042, SS-045).
std::optional<InvalidPreference> invalid_for(const ReadPreference& preference, SetKind kind,
                                             Micros ping_interval);

/// How much a replica lags behind the primary (SS-048) or, when no primary says how fresh it is,
/// behind the newest replica (SS-049); nothing when it does not say. Everything that is not a
/// replica has 0 (SS-050). May be negative.
std::optional<Micros> staleness(const SetPicture& picture, std::size_t mirror);

/// The mirrors of `from` that suit the need: by kind and mode, then staleness, then tags (SS-047,
/// SS-140 … SS-145). The preference is valid. May be nothing. Allocates nothing.
Candidates suitable_for(const Need& need, const SetPicture& picture, Candidates from);

/// Why a mirror does not suit the need now, for errors and the status: `not in use`, `role
/// is other`, `lags 130 s, the limit is 90 s`; empty when it does.
std::string why_unsuitable(const Need& need, const SetPicture& picture, std::size_t mirror);

/// The preference an attempt at a mirror of this role carries (SS-090 … SS-097); none: it carries
/// none. `asked` is what the query asked for, none if it did not ask. Reads only.
std::optional<ReadPreference> passed_on(const std::optional<ReadPreference>& asked, SetKind kind,
                                        Role role);

}  // namespace karmad
