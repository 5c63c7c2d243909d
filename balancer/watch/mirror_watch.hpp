#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "balancer/topology/topology.hpp"
#include "balancer/trace/line_writer.hpp"
#include "balancer/watch/event_log.hpp"
#include "balancer/watch/mirror_condition.hpp"
#include "strategies/time.hpp"

namespace karmad {

/// Whether the queries of a table succeed, from its counts of status codes that are sampled twice a
/// second. The texts of errors do not matter. Pure.
class TableSuccess {
 public:
  /// It is in trouble if at least kFew queries failed since the last one that succeeded, or kMany
  /// did not succeed, as a change of the engine's tables looks like a mistake of every client …
  static constexpr std::uint64_t kFew = 5;
  /// … or if at least this part of at least kMany queries of the last ten seconds were refused as
  /// their clients' mistakes: 4xx without 404 and 429.
  static constexpr double kMistakes = 0.9;
  static constexpr std::uint64_t kMany = 20;
  /// It is no longer in trouble after a minute without queries.
  static constexpr Micros kPast = std::chrono::minutes(1);

  void observe(const TableTotals& totals, TimePoint now);

  /// `none of the last 60 queries succeeded: 58 got 400, 2 got 502`; empty: it is well.
  std::string trouble() const;

 private:
  using Responses = decltype(TableTotals::responses);
  static constexpr std::size_t kSamples = 21;

  std::array<Responses, kSamples> samples_{};
  std::size_t sampled_ = 0;
  Responses unsuccessful_{};  ///< since the last success
  Responses lately_{};        ///< in the last ten seconds
  std::optional<TimePoint> last_;
  bool past_ = false;
};

/// The condition of a mirror, for the status pages.
struct MirrorReport {
  MirrorCondition condition = MirrorCondition::unknown;
  WallTime since{};    ///< the epoch if it is not watched yet
  std::string reason;  ///< empty if it is ready; printable, in one line
};

/// `10.0.0.1:9308 dead since 2026-11-23T12:03:11.000Z: Connection refused`.
std::string diagnosis(std::string_view address, const MirrorReport& report);

/// Whether an agent counts as dead: it has more than `dead_after` errors in a row, or at least two
/// and the last evidence is that it is unreachable (a connection was refused, or a connect or ping
/// timed out). A single lost connection is not enough.
bool is_down(const Agent& agent, std::uint32_t dead_after);

/// Where changes are told.
class OperatorNews {
 public:
  virtual ~OperatorNews() = default;
  virtual void tell(const OperatorEvent& event, TimePoint now, WallTime wall) = 0;
};

/// Finds the condition of every mirror and table twice a second, tells each change, and keeps the
/// conditions for the status pages. Requests and pings do not call it. It reads no clock: the
/// simulator plays it too.
///
/// Changes from `unknown` to `ready` and between `ready` and `full` are not told.
class MirrorWatch {
 public:
  static constexpr unsigned kParts = 5;

  explicit MirrorWatch(OperatorNews& news) : news_(news) {}

  /// Samples a fifth of the mirror sets. Worker 0 calls it ten times a second.
  void sample(const Topology& topology, TimePoint now, WallTime wall);

  /// One report per mirror: `unknown` if it is not watched yet. Any thread; takes a lock.
  std::vector<MirrorReport> reports(const MirrorSet& set) const;

  /// TableSuccess::trouble() of a table; empty: its queries succeed. Any thread; takes a lock.
  std::string trouble(const Table& table) const;

 private:
  struct WatchedMirror {
    std::shared_ptr<const MirrorRecord> record;  ///< survives reloads, so the condition does too
    ConditionTrack track;
    WorkWindow window;
    FailureSpell failures;
    WallTime since{};
    bool unserved = false;    ///< no mirror of its set can be asked
    std::uint64_t round = 0;  ///< when it was last in the topology
  };
  struct WatchedTable {
    std::shared_ptr<const TableTally> tally;  ///< survives reloads
    TableSuccess success;
    ConditionTrack track;
    std::uint64_t round = 0;
  };
  using WatchedMirrors = std::vector<WatchedMirror*>;
  struct SetSample;
  struct Place {
    const Topology& topology;
    const Table& table;
    std::size_t shard;  ///< from 1
    const MirrorSet& set;
  };

  void sample(const Table& table, TimePoint now, WallTime wall);
  WatchedMirrors watched(const MirrorSet& set, WallTime wall);
  void sample(const WatchedMirrors& mirrors, const Place& place, const Shard& shard, TimePoint now,
              WallTime wall);
  static MirrorSigns signs_of(WatchedMirror& watched, std::size_t mirror, const SetSample& sample,
                              TimePoint now);
  void report(const WatchedMirrors& mirrors, std::size_t mirror, const SetSample& sample,
              TimePoint now, WallTime wall);
  std::string state_of_process() const;
  void forget_removed();

  OperatorNews& news_;
  mutable std::mutex mutex_;  ///< for the next two; held for one set at a time
  std::unordered_map<const MirrorRecord*, WatchedMirror> mirrors_;
  std::unordered_map<const TableTally*, WatchedTable> tables_;
  std::uint64_t calls_ = 0;
  std::uint64_t round_ = 0;   ///< in a round every set is sampled once
  std::size_t troubles_ = 0;  ///< mirrors in trouble, of all tables
};

/// Writes a log line and an event for each change that is told; at most kLinesPerSecond lines.
/// For one thread.
class OperatorLog final : public OperatorNews {
 public:
  static constexpr std::uint32_t kLinesPerSecond = 50;

  explicit OperatorLog(EventLog& events) : events_(events) {}
  void tell(const OperatorEvent& event, TimePoint now, WallTime wall) override;

 private:
  EventLog& events_;
  LineRate lines_{kLinesPerSecond};
};

}  // namespace karmad
