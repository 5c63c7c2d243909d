#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "balancer/topology/topology.hpp"
#include "strategies/candidates.hpp"
#include "strategies/time.hpp"

namespace karmad {

/// Decides which changes of one set's mirrors are logged: one line per change, at most one per
/// mirror and second; further changes are counted. Pure.
class SetWatch {
 public:
  static constexpr Micros kLineEvery = std::chrono::seconds(1);

  /// One line: a mirror is down, or up again.
  struct Line {
    std::size_t mirror = 0;
    bool down = false;
    std::size_t left = 0;        ///< mirrors still up, according to the log
    std::uint32_t left_out = 0;  ///< changes of this mirror without a line since its last one
    bool ends_outage = false;    ///< it is up, and no mirror was before
    bool operator==(const Line&) const = default;
  };

  /// All mirrors start as up.
  explicit SetWatch(std::size_t mirrors) : mirrors_(mirrors) {}

  /// The lines to log if these mirrors are down at `now`.
  std::vector<Line> look(Candidates down, TimePoint now);

 private:
  struct Seen {
    bool down = false;
    bool logged_down = false;
    std::uint32_t changes = 0;  ///< since the last line
    std::optional<TimePoint> logged;
  };
  std::size_t logged_up() const;

  std::vector<Seen> mirrors_;
};

/// Whether the log reports an agent as down: it has more than `dead_after` errors in a row, or at
/// least two and the last evidence is that it is unreachable (a connection was refused, or a
/// connect or ping timed out). A single lost connection is not reported.
bool is_down(const Agent& agent, std::uint32_t dead_after);

/// Logs mirrors that go down and come back, for all sets. Worker 0 calls it a few times a second;
/// requests and pings do not.
class SetWatches {
 public:
  void look(const Topology& topology, TimePoint now);

 private:
  struct Watched {
    std::weak_ptr<MirrorSet> set;
    SetWatch watch;
    std::uint64_t round = 0;
  };
  Watched& watched(const std::shared_ptr<MirrorSet>& set);

  std::unordered_map<const MirrorSet*, Watched> sets_;
  std::uint64_t round_ = 0;
};

}  // namespace karmad
