#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "strategies/role.hpp"
#include "strategies/tags.hpp"

namespace karmad {

/// Versions of the native description that are understood (SS-121). They differ in how two
/// claimants to be primary are compared (SD-014): 1, the older: `set_version` first and both must
/// be given; 2: `election_id` first, a missing value smaller than any.
inline constexpr unsigned kOldestApi = 1;
inline constexpr unsigned kNewestApi = 2;

/// Which of two words of the same mirror is the newer one (SD-015).
struct VersionMark {
  std::string process_id;
  std::int64_t counter = 0;
  bool operator==(const VersionMark&) const = default;
};

/// What a mirror says of itself when it is pinged, whatever its engine calls it. What is empty was
/// not said.
struct Description {
  Role role = Role::router;  ///< as told; `other` already for what is hidden, draining, recovering
  std::string why;           ///< why it does not serve, when `role` is one that does not
  std::optional<std::string> set;  ///< name of the mirror set
  std::optional<std::string> me;   ///< own address
  Tags tags;
  std::optional<std::int64_t> last_write_ms;  ///< of the newest update it holds, its own clock
  std::optional<std::uint64_t> generation;    ///< a counter of updates, for freshness without times
  std::optional<std::string> election_id;     ///< a number, in digits of any base; more is newer
  std::optional<std::int64_t> set_version;
  std::optional<VersionMark> version;
  unsigned api = kNewestApi;
  std::optional<double> load;  ///< as it reports it; shown, not used
  bool operator==(const Description&) const = default;
};

/// Reads a native description: a JSON object with the members of docs/read-preference.md, unknown
/// ones ignored.
std::expected<Description, std::string> parse_description(std::string_view json);
/// The same as JSON, for `GET /hello`.
std::string text(const Description& description);

}  // namespace karmad
