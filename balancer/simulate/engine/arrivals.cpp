#include "balancer/simulate/engine/arrivals.hpp"

#include <cmath>
#include <limits>

#include "balancer/simulate/replay/replay.hpp"
#include "balancer/simulate/scenario/random_streams.hpp"

namespace karmad {
namespace {

/// A Poisson process, also where the rate changes.
class PoissonArrivals final : public Arrivals {
 public:
  explicit PoissonArrivals(const SimulatedWorld& world)
      : world_(world),
        random_(random_stream(world.seed, RandomStream::arrivals, 0)),
        micros_(static_cast<double>(world.now.time_since_epoch().count())),
        rate_(world.scenario.rate) {}

  std::optional<SimulatedArrival> next() override {
    const auto at = next_time();
    if (at >= world_.end) return std::nullopt;
    const auto master = draw_master();
    return SimulatedArrival{at, master, draw_set()};
  }

 private:
  TimePoint next_time() {
    auto needed = -std::log(1 - random_.uniform());
    for (;;) {
      const auto until = next_change();
      const auto possible = (until - micros_) * rate_ / 1e6;
      if (needed <= possible) break;
      needed -= possible;
      micros_ = until;
      rate_ = world_.scenario.rate_changes[changes_++].rate;
    }
    micros_ += needed * 1e6 / rate_;
    return TimePoint{Micros{static_cast<std::int64_t>(micros_)}};
  }
  unsigned draw_master() {
    const auto masters = world_.scenario.masters;
    return masters == 1 ? 0 : static_cast<unsigned>(random_.below(masters));
  }
  /// In proportion to the sizes of the sets.
  unsigned draw_set() {
    if (world_.layout.sets() == 1) return 0;
    return world_.layout.set_of(static_cast<unsigned>(random_.below(world_.layout.mirrors())));
  }
  double next_change() const {
    const auto& changes = world_.scenario.rate_changes;
    if (changes_ == changes.size()) return std::numeric_limits<double>::infinity();
    return static_cast<double>((world_.begin + changes[changes_].time).time_since_epoch().count());
  }

  const SimulatedWorld& world_;
  SeededRandom random_;
  double micros_;
  double rate_;
  std::size_t changes_ = 0;
};

/// One request for each shard of each recorded arrival.
class ReplayedArrivals final : public Arrivals {
 public:
  explicit ReplayedArrivals(const SimulatedWorld& world)
      : replay_(*world.scenario.replay),
        begin_(world.begin),
        random_(random_stream(world.seed, RandomStream::arrivals, 0)) {}

  std::optional<SimulatedArrival> next() override {
    while (shards_left_ == 0) {
      if (next_ == replay_.arrivals.size()) return std::nullopt;
      begin_arrival(replay_.arrivals[next_++]);
    }
    --shards_left_;
    const auto set = sets_.first + shard_++ % sets_.count;
    return SimulatedArrival{.at = at_, .set = set};
  }

 private:
  /// The log does not tell which shards a search of fewer shards needs: it gets random neighbours.
  void begin_arrival(const RecordedArrival& arrival) {
    at_ = begin_ + arrival.at;
    sets_ = replay_.tables[arrival.table];
    shards_left_ = arrival.shards;
    shard_ = arrival.shards < sets_.count ? static_cast<unsigned>(random_.below(sets_.count)) : 0;
  }

  const Replay& replay_;
  const TimePoint begin_;
  SeededRandom random_;
  std::size_t next_ = 0;
  TimePoint at_{};
  Replay::TableSets sets_;
  unsigned shard_ = 0;
  unsigned shards_left_ = 0;
};

}  // namespace

std::unique_ptr<Arrivals> arrivals_of(const SimulatedWorld& world) {
  if (world.scenario.replay) return std::make_unique<ReplayedArrivals>(world);
  return std::make_unique<PoissonArrivals>(world);
}

}  // namespace karmad
