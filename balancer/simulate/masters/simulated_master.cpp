#include "balancer/simulate/masters/masters.hpp"

#include <algorithm>
#include <cassert>

#include "balancer/selection/shard_query.hpp"

namespace karmad::simulate {
namespace {

constexpr std::uint32_t kMostTickets = 1u << 30;

std::shared_ptr<const Topology> topology_of(const Settings& settings, AgentRegistry& registry,
                                            const Loops& loops) {
  Problems problems;
  auto topology =
      Topology::build(settings, {.registry = registry, .loops = loops}, nullptr, problems);
  assert(topology != nullptr);
  topology->apply_limits(TimePoint{});
  return topology;
}

}  // namespace

Set::Set(const Topology& topology, const Table& of, unsigned first,
         std::atomic<std::uint32_t>& waiting_selections)
    : SetMirrors(*of.shards.front()->mirrors, topology.settings, 0),
      table(of),
      shard(*of.shards.front()),
      first_mirror(first),
      selection(std::nullopt, of, topology.settings, SelectionClass::may_use_secondary),
      tracks_state(selection.at(shard) != nullptr),
      connections(set_.size()) {
  fill_search_rules(topology, table, shard, selection, rules);
  rules.waiting_selections = &waiting_selections;
}

Master::Master(const Settings& settings, const SetLayout& layout, SeededRandom random,
               TimePoint now)
    : admission(1, loops_, kMostTickets, settings.searchd, now),
      random_(random),
      registry_(1, settings.searchd.ha_period_karma.value),
      topology_(topology_of(settings, registry_, loops_)),
      limits_searches_(admission.mode() == AdmissionMode::enforce &&
                       admission.searches.settings().limits()) {
  for (unsigned i = 0; i < layout.sets(); ++i)
    sets.push_back(std::make_unique<Set>(*topology_, *topology_->tables[i], layout.first(i),
                                         waiting_selections_));
}

void Master::upkeep(TimePoint now, MirrorWatch* watch) {
  for (const auto& agent : topology_->agents) agent->slots.refresh(now);
  for (const auto& set : sets) {
    set->mirrors().refresh(now);
    watch_outliers(set->shard, now, random_);
  }
  if (watch != nullptr) watch->sample(*topology_, now, WallTime{now.time_since_epoch()});
  if (limits_searches_) admission.sample(now);
}

/// Pings one mirror of one master.
class Pings::Pinger final : public karmad::Pings {
 public:
  Pinger(World& world, std::uint32_t number, const InstanceSettings& settings, Set& of,
         std::size_t mirror)
      : set(of),
        world_(world),
        number_(number),
        mirror_(mirror),
        timeout_(settings.ping_timeout ? settings.ping_timeout->value
                                       : std::max(settings.ha_ping_interval.value, Micros(500ms))),
        schedule_(settings.ha_ping_interval.value) {
    if (of.shard.pings.always) schedule_.always();
  }

  /// Plans the next ping.
  void plan() {
    const auto last_reply = agent().counters.last_reply.load(std::memory_order_relaxed);
    const auto due = schedule_.due(TimePoint{Micros{last_reply}});
    ++planned_;
    world_.events.add_at(std::max(due, world_.now), EventKind::ping_due, name());
  }
  void check_now(Micros spacing) override {
    if (pinging_) return;
    schedule_.check_now(spacing);
    plan();
  }
  void break_off() override {
    if (pinging_) end({.outcome = Outcome::cancelled, .why = "cancelled"}, {});
  }

  /// True: the event ended a ping.
  bool handle(const Event& event) {
    if (event.kind == EventKind::ping_due) {
      if (event.subject.version == planned_ && !pinging_) ping_if_due();
      return false;
    }
    if (event.subject.version != planned_ || !pinging_) return false;
    if (event.kind == EventKind::ping_arrives) {
      arrive();
      return false;
    }
    if (event.kind == EventKind::ping_times_out) {
      end({.outcome = Outcome::query_timeout, .why = "query timed out"}, {});
    } else {
      take(MirrorReply::unpack(event.detail));
    }
    return true;
  }

  Set& set;

 private:
  Agent& agent() const { return *set.mirror(mirror_).agent; }
  unsigned number_in_fleet() const { return set.number_in_fleet(mirror_); }
  ObjectName name() const { return {number_, planned_}; }

  void ping_if_due() {
    const auto last_reply = agent().counters.last_reply.load(std::memory_order_relaxed);
    if (schedule_.due(TimePoint{Micros{last_reply}}) > world_.now) return plan();
    schedule_.ping_starts();
    pinging_ = true;
    began_ = world_.now;
    world_.events.add_after(world_.now, world_.fleet.network(number_in_fleet()),
                            EventKind::ping_arrives, name());
    world_.events.add_after(world_.now, timeout_, EventKind::ping_times_out, name());
  }
  void arrive() {
    if (const auto reply = world_.fleet.ping(number_in_fleet(), world_.now))
      world_.events.add_after(world_.now, world_.fleet.network(number_in_fleet()),
                              EventKind::ping_reply_arrives, name(), reply->packed());
  }
  void take(MirrorReply reply) {
    using Kind = MirrorReply::Kind;
    if (reply.kind == Kind::refused)
      return end({.outcome = Outcome::connect_failed, .why = "Connection refused"}, {});
    const auto status =
        reply.kind == Kind::answer ? 200 : static_cast<int>(world_.fleet.error(reply).status);
    end({.outcome = Outcome::answered}, PingAnswer{.status = status, .body = {}});
  }

  void end(AttemptResult result, std::optional<PingAnswer> answer) {
    const auto now = world_.now;
    pinging_ = false;
    result.took = std::chrono::duration_cast<Micros>(now - began_);
    std::expected<Description, std::string> told = std::unexpected(result.why);
    if (answer) {
      told = set.shard.pings.kind->describe({&*answer, 1}, agent().name, "t");
      if (!told) {
        result.outcome = Outcome::agent_error;
        result.why = told.error();
      }
    }
    schedule_.ping_ended(now);
    const bool silent = !answer && !agent().counters.replied_since(began_);
    record_ping(agent(), 0, now, result.took, result);
    if (told) {
      set.mirrors().ping_answered(mirror_, *std::move(told), result.took, now);
    } else if (const auto failure = ping_failure(result.outcome, silent)) {
      if (set.mirrors().ping_failed(mirror_, *failure, told.error(), now)) schedule_.repeat();
    }
    plan();
  }

  World& world_;
  const std::uint32_t number_;
  const std::size_t mirror_;
  const Micros timeout_;
  PingSchedule schedule_;
  TimePoint began_{};
  std::uint32_t planned_ = 0;  ///< version of its events
  bool pinging_ = false;
};

void Pings::add(Master& master, Set& set) {
  if (set.shard.pings.kind == nullptr || master.settings().ha_ping_interval.value == Micros{0})
    return;
  for (std::size_t i = 0; i < set.mirrors().size(); ++i) {
    const auto number = static_cast<std::uint32_t>(pingers_.size());
    pingers_.push_back(std::make_shared<Pinger>(world_, number, master.settings(), set, i));
    set.mirrors().pinger(i, pingers_.back());
  }
}

void Pings::start() {
  for (const auto& pinger : pingers_) pinger->plan();
}

Set* Pings::handle(const Event& event) {
  auto& pinger = *pingers_[event.subject.index];
  return pinger.handle(event) ? &pinger.set : nullptr;
}

}  // namespace karmad::simulate
