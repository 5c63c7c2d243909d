#include "balancer/simulate/engine/simulation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <queue>

#include "balancer/simulate/masters/masters.hpp"
#include "balancer/simulate/replay/replay.hpp"
#include "balancer/simulate/world/world.hpp"
#include "config/text/closest.hpp"
#include "strategies/kinds/registry.hpp"

namespace karmad::simulate {
namespace {

/// The balancer with full knowledge, to compare strategies with: one for all masters, it knows each
/// mirror's queue, speed, pauses and faults, and sends each request to the mirror with the shortest
/// expected time. It repeats failed attempts elsewhere at once, and takes attempts away from a
/// mirror in the moment that it stops to answer. It refuses requests that would wait in every queue
/// for half of the scenario's `slo` or longer. It knows no service time in advance, and it does not
/// hedge.
class Oracle final : public Balancer {
 public:
  explicit Oracle(World& world)
      : world_(world),
        random_(random_stream(world.seed, RandomStream::oracle, 0)),
        client_timeout_(std::llround(world.scenario.timeout * 1000)) {}

  void request_arrives(unsigned /*master*/, unsigned set) override {
    const auto index = requests_.take();
    auto& request = requests_[index];
    request.arrived = world_.now;
    request.set = set;
    request.attempts = 0;
    request.mirror = kNone;
    world_.events.add_after(world_.now, client_timeout_, EventKind::client_gives_up,
                            {index, request.version});
    send(index);
  }
  void handle(const Event& event) override {
    const auto [index, version] = event.subject;
    auto& request = requests_[index];
    if (event.kind == EventKind::client_gives_up) {
      if (request.version == version) end(index, false);
      return;
    }
    if (event.kind != EventKind::reply_arrives || request.attempt != version) return;
    if (MirrorReply::unpack(event.detail).kind == MirrorReply::Kind::answer)
      return end(index, true);
    end_attempt(request);
    send(index);
  }
  void mirror_changed(unsigned mirror, bool /*reset*/) override {
    if (world_.fleet.answers(mirror)) return;
    for (std::uint32_t index = 0; index < requests_.size(); ++index) {
      if (requests_[index].mirror != mirror) continue;
      end_attempt(requests_[index]);
      send(index);
    }
  }
  std::size_t in_progress() const override { return requests_.in_use(); }

 private:
  static constexpr unsigned kNone = UINT32_MAX;
  struct Request {
    std::uint32_t version = 0;  ///< also of its attempt: an attempt that was replaced has another
    TimePoint arrived{};
    unsigned set = 0;
    unsigned mirror = kNone;  ///< of the attempt in progress
    unsigned attempts = 0;
    std::uint32_t attempt = 0;  ///< version of the attempt in progress
  };

  void send(std::uint32_t index) {
    auto& request = requests_[index];
    const auto mirror = best(request.set);
    if (mirror == kNone || is_too_late(mirror) ||
        request.attempts > world_.layout.size(request.set))
      return end(index, false);
    const auto reason = request.attempts++ == 0 ? AttemptReason::initial : AttemptReason::retry;
    request.mirror = mirror;
    world_.recorder.attempt_sent(mirror, reason, world_.now);
    world_.fleet.send({index, ++request.attempt}, mirror, world_.now);
  }
  void end_attempt(Request& request) {
    if (request.mirror == kNone) return;
    world_.recorder.attempt_ended(request.mirror);
    request.mirror = kNone;
  }
  void end(std::uint32_t index, bool answered) {
    auto& request = requests_[index];
    end_attempt(request);
    ++request.attempt;
    world_.recorder.request_ended(request.arrived, answered, world_.now);
    requests_.give_back(index);
  }
  /// Among equals it draws: otherwise the first mirror of an idle set would get all requests.
  unsigned best(unsigned set) {
    auto shortest = std::numeric_limits<double>::infinity();
    unsigned best = kNone;
    unsigned equals = 0;
    for (auto i = world_.layout.first(set); i < world_.layout.first(set + 1); ++i) {
      const auto expected = world_.fleet.expected_micros(i, world_.fleet.load(i), world_.now);
      if (expected > shortest || expected == std::numeric_limits<double>::infinity()) continue;
      if (expected < shortest) equals = 0;
      shortest = expected;
      if (random_.below(++equals) == 0) best = i;
    }
    return best;
  }
  /// Even the shortest queue is so long that the answer would hardly count.
  bool is_too_late(unsigned mirror) const {
    const auto& fleet = world_.fleet;
    const auto queueing = fleet.expected_micros(mirror, fleet.load(mirror), world_.now) -
                          fleet.expected_micros(mirror, 0, world_.now);
    return queueing > world_.scenario.slo * 1000 / 2;
  }

  World& world_;
  SeededRandom random_;
  ObjectPool<Request> requests_;
  Micros client_timeout_;
};

/// A request that reaches a master.
struct Arrival {
  TimePoint at{};
  unsigned master = 0;
  unsigned set = 0;
};

/// The requests of a simulation in order of time. They do not depend on the strategy.
class Arrivals {
 public:
  virtual ~Arrivals() = default;
  /// Empty: there are no more, or none before the end of the scenario.
  virtual std::optional<Arrival> next() = 0;
};

/// A Poisson process, also where the rate changes.
class PoissonArrivals final : public Arrivals {
 public:
  explicit PoissonArrivals(const World& world)
      : world_(world),
        random_(random_stream(world.seed, RandomStream::arrivals, 0)),
        micros_(static_cast<double>(world.now.time_since_epoch().count())),
        rate_(world.scenario.rate) {}

  std::optional<Arrival> next() override {
    const auto at = next_time();
    if (at >= world_.end) return std::nullopt;
    const auto master = draw_master();
    return Arrival{at, master, draw_set()};
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

  const World& world_;
  SeededRandom random_;
  double micros_;
  double rate_;
  std::size_t changes_ = 0;
};

/// One request for each shard of each recorded arrival.
class ReplayedArrivals final : public Arrivals {
 public:
  explicit ReplayedArrivals(const World& world)
      : replay_(*world.scenario.replay),
        begin_(world.begin),
        random_(random_stream(world.seed, RandomStream::arrivals, 0)) {}

  std::optional<Arrival> next() override {
    while (shards_left_ == 0) {
      if (next_ == replay_.arrivals.size()) return std::nullopt;
      begin_arrival(replay_.arrivals[next_++]);
    }
    --shards_left_;
    const auto set = sets_.first + shard_++ % sets_.count;
    return Arrival{.at = at_, .set = set};
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

/// The recorded ones if the scenario replays an access log, otherwise a Poisson process.
std::unique_ptr<Arrivals> arrivals_of(const World& world) {
  if (world.scenario.replay) return std::make_unique<ReplayedArrivals>(world);
  return std::make_unique<PoissonArrivals>(world);
}

struct MirrorTime {
  TimePoint at{};
  unsigned mirror = 0;
  auto operator<=>(const MirrorTime&) const = default;
};

/// Hands the attempts to the recorder in order of time.
void record_attempts(const Replay& replay, Recorder& recorder) {
  std::priority_queue<MirrorTime, std::vector<MirrorTime>, std::greater<>> starts;
  std::priority_queue<MirrorTime, std::vector<MirrorTime>, std::greater<>> ends;
  std::vector<std::size_t> next(replay.mirrors.size());
  const auto plan = [&](unsigned mirror) {
    const auto attempts = replay.mirrors[mirror].recorded->attempts();
    if (next[mirror] < attempts.size())
      starts.push({TimePoint(attempts[next[mirror]].start), mirror});
  };
  const auto end_until = [&](TimePoint at) {
    for (; !ends.empty() && ends.top().at <= at; ends.pop()) {
      recorder.advance(ends.top().at);
      recorder.attempt_ended(ends.top().mirror);
    }
  };
  for (unsigned mirror = 0; mirror < next.size(); ++mirror) plan(mirror);
  while (!starts.empty()) {
    const auto [at, mirror] = starts.top();
    starts.pop();
    end_until(at);
    recorder.advance(at);
    recorder.attempt_sent(mirror, AttemptReason::initial, at);
    const auto& attempt = replay.mirrors[mirror].recorded->attempts()[next[mirror]++];
    ends.push({at + Micros(attempt.took_us), mirror});
    plan(mirror);
  }
  end_until(TimePoint::max());
}

/// What the access log of a scenario tells about its own requests, each at one shard: from the
/// start of its first attempt to its answer. All attempts after the first count as retries, since
/// the log does not tell hedges apart. The strategy is kRecordedName.
Result recorded_result(const Scenario& scenario) {
  const auto& replay = *scenario.replay;
  Recorder recorder(scenario, layout_of(scenario), TimePoint{});
  record_attempts(replay, recorder);
  // A sampled request stands for several; fractions are carried to the next one.
  double copies = 0;
  for (const auto& request : replay.trace.requests) {
    const TimePoint start(request.start);
    for (copies += request.weight; copies >= 0.5; --copies)
      recorder.request_ended(start, request.answered, start + Micros(request.took_us));
  }
  auto result = recorder.result();
  result.scenario = scenario.name;
  result.strategy = kRecordedName;
  const auto recorded = replay.trace.requests.size();
  result.retries = result.attempts - std::min<std::uint64_t>(result.attempts, recorded);
  result.extra = static_cast<double>(result.retries) / static_cast<double>(recorded);
  return result;
}

class Run {
 public:
  Run(const Scenario& scenario, std::uint64_t seed)
      : world_(scenario, seed), arrivals_(arrivals_of(world_)) {}

  /// `settings`: of the masters; null: the oracle balances.
  Result play(const Settings* settings) {
    if (settings != nullptr) {
      balancer_ = std::make_unique<Masters>(world_, *settings);
    } else {
      balancer_ = std::make_unique<Oracle>(world_);
    }
    for (std::uint32_t i = 0; i < world_.scenario.changes.size(); ++i)
      world_.events.add_at(world_.begin + world_.scenario.changes[i].time,
                           EventKind::scenario_changes, {i});
    plan_arrival();
    while (arrival_ || balancer_->in_progress() != 0) {
      const auto event = world_.events.pop();
      world_.recorder.advance(event.at);
      world_.now = event.at;
      handle(event);
    }
    return world_.recorder.result();
  }

 private:
  void plan_arrival() {
    arrival_ = arrivals_->next();
    if (arrival_) world_.events.add_at(arrival_->at, EventKind::request_arrives);
  }

  void handle(const Event& event) {
    switch (event.kind) {
      case EventKind::request_arrives: {
        const auto arrival = *arrival_;
        plan_arrival();
        return balancer_->request_arrives(arrival.master, arrival.set);
      }
      case EventKind::attempt_arrives:
        return world_.fleet.attempt_arrives(event);
      case EventKind::work_done:
        return world_.fleet.work_done(event);
      case EventKind::mirror_replies:
        return world_.fleet.mirror_replies(event);
      case EventKind::scenario_changes:
        return change(world_.scenario.changes[event.subject.index]);
      default:
        return balancer_->handle(event);
    }
  }

  void change(const MirrorChange& change) {
    const auto& range = change.mirrors;
    const auto last = range.is_all() ? world_.scenario.mirrors : range.last;
    for (auto mirror = range.first - 1; mirror < last; ++mirror) {
      const bool reset = world_.fleet.change(mirror, change.profile, world_.now);
      balancer_->mirror_changed(mirror, reset);
    }
  }

  World world_;
  std::unique_ptr<Arrivals> arrivals_;
  std::unique_ptr<Balancer> balancer_;
  std::optional<Arrival> arrival_;  ///< the next one
};

std::optional<Problem> unknown_strategy(std::string_view strategy) {
  const auto names = strategy_names();
  if (strategy == kOracleName || std::ranges::find(names, strategy) != names.end())
    return std::nullopt;
  return Problem{{},
                 fmt::format("unknown strategy {}{}; known: {}", in_quotes(strategy),
                             suggestion(strategy, names), fmt::join(names, ", "))};
}

}  // namespace

std::expected<Result, Problems> run(const Scenario& scenario, std::string_view strategy,
                                    std::uint64_t seed) {
  if (auto unknown = unknown_strategy(strategy)) return std::unexpected(Problems{*unknown});
  std::optional<Settings> settings;
  if (strategy != kOracleName) {
    auto read = settings_for(scenario, strategy);
    if (!read) return std::unexpected(std::move(read.error()));
    settings = *std::move(read);
  }
  auto result = Run(scenario, seed).play(settings ? &*settings : nullptr);
  result.scenario = scenario.name;
  result.strategy = strategy;
  return result;
}

std::expected<std::vector<Result>, Problems> compare(const Scenario& scenario,
                                                     std::span<const std::string> strategies,
                                                     std::uint64_t seed) {
  std::vector<Result> results;
  for (const auto& strategy : strategies) {
    if (strategy == kOracleName) continue;
    if (std::ranges::count(strategies, strategy) > 1)
      return std::unexpected(
          Problems{{{}, fmt::format("strategy {} is given twice", in_quotes(strategy))}});
    auto result = run(scenario, strategy, seed);
    if (!result) return std::unexpected(std::move(result.error()));
    results.push_back(*std::move(result));
  }
  if (scenario.replay) {
    results.push_back(recorded_result(scenario));
    return results;
  }
  auto oracle = run(scenario, kOracleName, seed);
  if (!oracle) return std::unexpected(std::move(oracle.error()));
  results.push_back(*std::move(oracle));
  const auto best = static_cast<double>(results.back().latency.p99.count());
  for (auto& result : results)
    if (best > 0) result.regret = static_cast<double>(result.latency.p99.count()) / best;
  return results;
}

}  // namespace karmad::simulate
