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

/// Which changes of the mirrors of one set are told in the log: one line per change, and at most
/// one per mirror and second; what changes more often is counted. Pure.
class SetWatch {
 public:
  static constexpr Micros kLineEvery = std::chrono::seconds(1);

  /// One line: a mirror is down or up again.
  struct Line {
    std::size_t mirror = 0;
    bool down = false;
    std::size_t left = 0;        ///< mirrors of the set that are up after it, as the log has it
    std::uint32_t left_out = 0;  ///< further changes of this mirror since its last line
    bool ends_outage = false;    ///< it is up, and before no mirror was
    bool operator==(const Line&) const = default;
  };

  /// All mirrors count as up at first.
  explicit SetWatch(std::size_t mirrors) : mirrors_(mirrors) {}

  /// These mirrors are down at `now`: what the log is to say.
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

/// Whether the log calls an agent down: it has more than `dead_after` errors in a row, or at least
/// two and the last evidence is that it cannot be reached (a connection was refused, or it or a
/// ping timed out). One lost connection is not a line.
bool is_down(const Agent& agent, std::uint32_t dead_after);

/// Tells the log of mirrors that go down and come back, in all sets. Worker 0 calls it a few times
/// a second; requests and pings have no part in it.
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
