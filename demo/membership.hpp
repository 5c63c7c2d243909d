#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "demo/switches.hpp"

namespace karmad {

/// Milliseconds since 1970 by the wall clock.
using WallMs = std::int64_t;

/// What the agent says of its place among the mirrors; a value. It answers searches whatever it
/// says of itself: who asks it all the same should see that it did.
struct Membership {
  std::string role = "standalone";
  std::string set;  ///< empty: not said
  std::map<std::string, std::string> tags;
  std::string me;          ///< own address; empty: not said
  double lag_seconds = 0;  ///< how old its newest update is
  bool hidden = false;
  bool draining = false;
  std::string cluster_state = "none";  ///< in its replication cluster
  std::uint64_t generation = 0;        ///< of the newest update; grows with each
  std::uint64_t updates = 0;           ///< taken since the start
  WallMs elected = 0;                  ///< when it last became primary; 0: never
  std::string process_id;
  std::uint64_t counter = 0;  ///< grows with each change of the above
};

/// Those of its members that can be changed, as --help and docs/demo.md show them.
std::span<const SwitchHelp> membership_help();
bool is_membership(std::string_view name);

/// Changes one of them; to name the role `primary` is a promotion, also of a primary. Returns what
/// is wrong with the value.
std::optional<std::string> change(Membership& membership, std::string_view name,
                                  std::string_view value, WallMs now);

/// Whether updates may be sent to it.
bool takes_updates(const Membership& membership);

/// The answer to GET /hello: the description of docs/read-preference.md. As on a primary that
/// writes something even when it has nothing to write, the newest update is `now`, less the lag.
std::string write_hello(const Membership& membership, WallMs now);

/// What /control shows of it.
std::string write_membership(const Membership& membership);

/// A counter of SHOW STATUS.
struct StatusRow {
  std::string name;
  std::string value;
};
/// The rows a member of a replication cluster has; none without a cluster.
std::vector<StatusRow> cluster_rows(const Membership& membership);

}  // namespace karmad
