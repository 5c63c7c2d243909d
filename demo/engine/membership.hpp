#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "demo/switches.hpp"

namespace karmad::demo {

/// Milliseconds since 1970 by the wall clock.
using WallMs = std::int64_t;

/// The agent's description of its role among the mirrors; a value. It answers searches in any role,
/// so that a search sent to the wrong mirror is visible.
struct Membership {
  std::string role = "standalone";
  std::string set;  ///< empty: not reported
  std::map<std::string, std::string> tags;
  std::string me;          ///< own address; empty: not reported
  double lag_seconds = 0;  ///< age of its newest update
  bool hidden = false;
  bool draining = false;
  std::string cluster_state = "none";  ///< in its replication cluster
  std::uint64_t generation = 0;        ///< of the newest update; grows with each
  std::uint64_t updates = 0;           ///< accepted since the start
  WallMs elected = 0;                  ///< when it last became primary; 0: never
  std::string process_id;
  std::uint64_t counter = 0;  ///< grows with each change of the above
};

/// The members that can be changed, for --help and docs/demo.md.
std::span<const SwitchHelp> membership_help();
bool is_membership(std::string_view name);

/// Changes one member; setting the role `primary` is a promotion, also of a primary. Returns what
/// is wrong with the value.
std::optional<std::string> change(Membership& membership, std::string_view name,
                                  std::string_view value, WallMs now);

/// Whether it accepts updates.
bool takes_updates(const Membership& membership);

/// The answer to GET /hello: the description of docs/read-preference.md. The newest
/// update is `now` minus the lag, as on a primary that also writes without updates.
std::string write_hello(const Membership& membership, WallMs now);

/// Its JSON in the answer of /control.
std::string write_membership(const Membership& membership);

/// A counter of SHOW STATUS.
struct StatusRow {
  std::string name;
  std::string value;
};
/// The rows of a member of a replication cluster; none without a cluster.
std::vector<StatusRow> cluster_rows(const Membership& membership);

}  // namespace karmad::demo
