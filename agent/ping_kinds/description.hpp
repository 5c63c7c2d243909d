#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "strategies/set_picture.hpp"
#include "strategies/tags.hpp"

namespace karmad {

/// Supported versions of the native description (SS-121). They compare two candidates for the role
/// of primary (SD-014) differently: 1, the older, `set_version` first, and both members are
/// required; 2, `election_id` first, and a missing value is lower than any other.
inline constexpr unsigned kOldestApi = 1;
inline constexpr unsigned kNewestApi = 2;

/// Orders two descriptions of the same mirror: which one is newer (SD-015).
struct VersionMark {
  std::string process_id;
  std::int64_t counter = 0;
  bool operator==(const VersionMark&) const = default;
};

/// What a mirror reports in answer to a ping, the same for all engines. Empty: not reported.
struct Description {
  Role role = Role::router;        ///< `other` for hidden, draining and recovering mirrors
  std::string why;                 ///< why the mirror does not serve, if its role says so
  std::optional<std::string> set;  ///< name of the mirror set
  std::optional<std::string> me;   ///< own address
  Tags tags;
  std::optional<std::int64_t> last_write_ms;  ///< time of its newest update, by its own clock
  std::optional<std::uint64_t> generation;    ///< counts updates; for freshness without times
  std::optional<std::string> election_id;     ///< a number in any base; higher is newer
  std::optional<std::int64_t> set_version;
  std::optional<VersionMark> version;
  unsigned api = kNewestApi;
  std::optional<double> load;  ///< part of its capacity in use, as reported: 0 to 1
  bool denied = false;         ///< it is alive, and told nothing else without other credentials
  bool operator==(const Description&) const = default;
};

/// Reads a native description: a JSON object with the members of docs/read-preference.md; unknown
/// members are ignored.
std::expected<Description, std::string> parse_description(std::string_view json);
/// Writes it as JSON, for `GET /hello`.
std::string text(const Description& description);

}  // namespace karmad
