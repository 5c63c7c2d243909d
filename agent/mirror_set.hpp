#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/agent.hpp"
#include "agent/latency_blocks.hpp"
#include "strategies/karma_weights.hpp"
#include "strategies/select.hpp"

namespace karmad {

/// An agent as one of several holders of a shard. Numbers of a host belong to the agent; how fast
/// this shard's queries are there, and how much of them it gets, belongs to the mirror.
class Mirror {
 public:
  Mirror(std::shared_ptr<Agent> where, std::vector<std::string> names, unsigned workers,
         Micros period)
      : agent(std::move(where)),
        tables(std::move(names)),
        tally(workers),
        latency(workers, period) {}

  const std::shared_ptr<Agent> agent;
  const std::vector<std::string> tables;   ///< its own names of the table
  Tally tally;                             ///< since the start
  LatencyBlocks latency;                   ///< what karma is made of
  std::atomic<std::uint64_t> attempts{0};  ///< begun since the start
  double karma() const { return karma_.load(std::memory_order_relaxed); }

 private:
  friend class MirrorSet;
  std::atomic<double> karma_{1.0};
  std::atomic<float> critical_{ErrorRates{}.critical};
  std::atomic<float> errors_{ErrorRates{}.errors};
};

/// All mirrors of a shard, and the strategy that chooses among them. Picks come from any worker;
/// `refresh` from one.
class MirrorSet {
 public:
  MirrorSet(std::vector<std::unique_ptr<Mirror>> mirrors, std::unique_ptr<Strategy> strategy,
            std::string strategy_name, KarmaRules rules, Micros period);

  std::size_t size() const { return mirrors_.size(); }
  Mirror& operator[](std::size_t i) const { return *mirrors_[i]; }
  const std::string& strategy_name() const { return strategy_name_; }

  /// The mirror to try, one of `tried` only if there is no other. No allocation, no lock.
  std::size_t pick(Candidates tried, RandomSource& random) const;

  /// The probability of each mirror to be the next query's first choice.
  std::vector<double> shares() const;

  /// Weights once a block, what `noerrors` looks at and the failure floor each time: call about ten
  /// times a second.
  void refresh(TimePoint now);

  /// What a failed attempt counts for in the latency mean, at least (so that a failure never makes
  /// a mirror look fast).
  Micros failure_floor() const { return Micros{floor_.load(std::memory_order_relaxed)}; }

 private:
  using Views = std::array<MirrorView, 64>;
  MirrorViews fill(Views& views) const;

  std::vector<std::unique_ptr<Mirror>> mirrors_;
  std::unique_ptr<Strategy> strategy_;
  std::string strategy_name_;
  KarmaRules rules_;
  Micros period_;
  std::int64_t block_ = -1;  ///< the block that was current at the last refresh
  std::atomic<std::int64_t> floor_{0};
};

}  // namespace karmad
