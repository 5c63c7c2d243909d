#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "strategies/candidates.hpp"
#include "strategies/set_picture.hpp"
#include "strategies/tags.hpp"

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
std::optional<Micros> staleness(const SetDescription& picture, std::size_t mirror);

/// The mirrors that may serve a need, in the order of its preference: disjoint levels, none empty.
/// A level is used when the ones before it have no mirror left, or none that works. `secondary` has
/// the replicas with the first tag set, then those with the second one, and no primary;
/// `secondaryPreferred` has the primary as its last level.
class PreferenceLevels {
 public:
  void add(Candidates level) {
    level = level - all_;
    if (level.empty()) return;
    levels_[size_++] = level;
    all_ = all_ | level;
  }
  Candidates all() const { return all_; }
  std::size_t size() const { return size_; }
  auto begin() const { return levels_.begin(); }
  auto end() const { return levels_.begin() + static_cast<std::ptrdiff_t>(size_); }
  /// The mirrors of `wanted` in the first level that has any.
  Candidates first_of(Candidates wanted) const {
    for (const auto level : *this)
      if (const auto found = level & wanted; !found.empty()) return found;
    return {};
  }

 private:
  std::array<Candidates, Candidates::kMost> levels_;  // `size_` of them
  std::size_t size_ = 0;
  Candidates all_;
};

/// The levels of the mirrors of `from`: by kind and mode, then staleness, then tags (SS-047, SS-140
/// … SS-145). The preference must be valid. May be empty. Allocates nothing.
PreferenceLevels levels_for(const Need& need, const SetDescription& picture, Candidates from);

/// The first of these levels: the mirrors that suit the need now. May be empty.
Candidates suitable_for(const Need& need, const SetDescription& picture, Candidates from);

/// Why a mirror does not suit the need now, for errors and the status: `its role is unknown`, `role
/// is other`, `lags 130 s, the limit is 90 s`; empty if it does.
std::string why_unsuitable(const Need& need, const SetDescription& picture, std::size_t mirror);

/// The preference sent with an attempt at a mirror of this role (SS-090 … SS-097), if any. `asked`:
/// the query's own preference, if any. Reads only.
std::optional<ReadPreference> passed_on(const std::optional<ReadPreference>& asked, SetKind kind,
                                        Role role);

/// Longer texts are refused.
inline constexpr std::size_t kLongestPreference = 4096;  ///< bytes

/// Reads a preference from a header, a URL parameter or the configuration. JSON form (SS-093):
/// `mode` in camel case; `tags`, an array of at least one object; an integer `maxStalenessSeconds`,
/// -1 for none; `hedge`, `{"enabled": bool}`; unknown members are ignored (SS-094). Short form:
/// `mode=secondary;tags=dc:ny,rack:2|dc:sf|;maxStalenessSeconds=120;hedge=true`, or the mode alone.
/// A result is valid (`invalid`). The error says what is wrong and what would be right.
std::expected<ReadPreference, InvalidPreference> parse_read_preference(std::string_view text);

/// The JSON form on one line; parsing it gives the same value.
std::string text(const ReadPreference& preference);

std::string_view name(Mode mode);

}  // namespace karmad
