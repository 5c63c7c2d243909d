#include "balancer/shard/hedged.hpp"

#include <boost/container/static_vector.hpp>
#include <memory>

#include "balancer/rules/hedge_load.hpp"
#include "balancer/shard/select_mirror.hpp"
#include "balancer/shard/shard_query.hpp"

namespace karmad {

void decide_hedging(ShardCall& call) {
  auto& [query, order, part] = call;
  part.hedging.reset();
  const auto& settings = query.topology->settings;
  const auto& table = order.table;
  if (!order.parsed.read || order.parsed.follow_up || settings.hedge_disabled.value) return;
  if (!part.retries) return;  // one of several that are asked already
  const auto& preference = query.preference ? query.preference : table.preference;
  // The usual case: what follows would say the same.
  const bool is_off = table.hedge.kind == HedgeSetting::Kind::off;
  if (is_off && !query.hedge && !(preference && preference->hedge)) return;
  const HedgeWords words{.request = query.hedge,
                         .preference = preference ? preference->hedge : std::nullopt,
                         .table = table.hedge,
                         .instance = query.topology->hedge,
                         .step = table.hedge_step};
  const auto hedging = hedging_in_force(words, settings.request_timeout.value);
  if (hedging.setting.kind == HedgeSetting::Kind::off) return;
  const auto& set = *part.shard->mirrors;
  const auto load = set.load();
  const auto recent = set.recent_latency();
  const auto [suitable, acceptable] =
      set.counts(question_of(query, order, part), query.worker.loop.index);
  part.hedging =
      hedge_rules({.hedging = hedging,
                   .max = table.hedge_max,
                   .mirrors = suitable,
                   .read = true,
                   .loaded = overloaded_for_hedging(load.typical, load.usual,
                                                    settings.hedge_max_load_percent.value),
                   .drained = !part.shard->protection->budget.may_take(),
                   .measured = {.samples = recent.samples, .p95 = recent.p95, .p99 = recent.p99}});
}

namespace {

/// One who runs in the race: the part itself, or a hedge of it.
struct Runner {
  ShardPart* part;
  std::unique_ptr<ShardPart> own;  ///< a hedge's
  bool ended = false;
  bool told = false;  ///< the plan knows that it has ended
};

class Race {
 public:
  Race(ShardCall& call, const HedgeRules& rules, ShardNext next)
      : query_(call.query), order_(call.order), part_(call.part), next_(next), plan_(rules) {}

  Task<void> run() {
    start({.part = &part_});
    while (!plan_.is_over() && !part_.over(query_)) {
      const auto next = plan_.next_at();
      if (next && *next <= Loop::now()) {
        hedge();
        continue;
      }
      co_await wait(next.value_or(query_.deadline + std::chrono::hours(1)));
      tell_plan();
    }
    end_others();
    while (running_ > 0) co_await wait(query_.deadline + std::chrono::hours(1));
    take_winner();
  }

 private:
  void start(Runner runner) {
    const auto place = runners_.size();
    runners_.push_back(std::move(runner));
    ++running_;
    plan_.sent(Loop::now());
    spawn(go(place));
  }

  Task<void> go(std::size_t place) {
    ShardCall call{query_, order_, *runners_[place].part};
    co_await next_(call);
    runners_[place].ended = true;
    --running_;
    ended_since_ = true;
    if (waiting_ != nullptr) waiting_->request(Why::cancelled);
  }

  Task<void> wait(TimePoint until) {
    if (!ended_since_) co_await wait_for_end(until);
    ended_since_ = false;
  }

  Task<void> wait_for_end(TimePoint until) {
    Stop stop(query_.worker.loop);
    waiting_ = &stop;
    co_await sleep(query_.worker.loop, until, stop);
    waiting_ = nullptr;
  }

  /// The next mirror is asked, if there is one not in use and the budget bears it.
  void hedge() {
    auto own = std::make_unique<ShardPart>();
    own->shard = part_.shard;
    own->number = part_.number;
    own->reason = AttemptReason::hedge;
    own->gone = part_.gone;
    own->waits = false;
    for (const auto& runner : runners_) own->tried = own->tried | runner.part->tried;
    own->excluded = own->tried | question_of(query_, order_, part_).avoided;
    if (!untried(query_, order_, *own).empty() && part_.retries->may_hedge())
      if (auto taken = part_.shard->protection->budget.take(RetryBudget::For::other))
        own->extra.emplace(*std::move(taken));
    if (!own->extra) return plan_.no_more();
    query_.worker.counters.add(Count::hedges);
    start({.part = own.get(), .own = std::move(own)});
  }

  /// What ended because the query is over says nothing about who else to ask.
  void tell_plan() {
    for (std::size_t i = 0; i < runners_.size(); ++i) {
      auto& runner = runners_[i];
      if (!runner.ended || runner.told) continue;
      runner.told = true;
      if (part_.over(query_)) continue;
      plan_.ended(i, race_end(runner.part->outcome, runner.part->status, runner.part->sub_status),
                  Loop::now());
    }
  }

  void end_others() {
    const auto winner = plan_.winner();
    for (std::size_t i = 0; i < runners_.size(); ++i) {
      auto& runner = runners_[i];
      if (runner.ended) continue;
      runner.part->outrun = winner && i < *winner;
      runner.part->cancel();
    }
  }

  void take_winner() {
    const auto winner = plan_.winner().value_or(0);
    ShardCall call{query_, order_, part_};
    part_.cancelled = part_.outrun = false;  // it may be asked again
    for (std::size_t i = 1; i < runners_.size(); ++i) {
      auto& hedge = *runners_[i].own;
      part_.tried = part_.tried | hedge.tried;
      part_.behind = part_.behind | hedge.behind;
      part_.gone.insert(part_.gone.end(), hedge.gone.begin(), hedge.gone.end());
      if (i == winner && hedge.mirror != nullptr) {
        take_over(call, hedge);
        if (part_.answered()) query_.worker.counters.add(Count::hedges_won);
      } else {
        settle(query_, hedge);
      }
      for (auto& failed : hedge.failed) part_.failed.push_back(std::move(failed));
    }
  }

  Query& query_;
  const ShardOrder& order_;
  ShardPart& part_;
  ShardNext next_;
  HedgePlan plan_;
  boost::container::static_vector<Runner, kMostHedges + 1> runners_;  // they do not move
  std::size_t running_ = 0;
  bool ended_since_ = false;
  Stop* waiting_ = nullptr;
};

}  // namespace

Task<void> race(ShardCall& call, HedgeRules rules, ShardNext next) {
  Race run(call, rules, next);
  co_await run.run();
}

}  // namespace karmad
