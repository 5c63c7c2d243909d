// What does a plain shard request cost in the state machine? One mirror is chosen and answers: ns
// from the rules to the result, without the attempt. Fails if it allocates.
#include <benchmark/benchmark.h>

#include "balancer/shard/shard_request.hpp"
#include "strategies/kinds/registry.hpp"
#include "tests/support/counted_allocations.hpp"

namespace karmad {
namespace {

using test::allocations;

constexpr Micros kPeriod = std::chrono::seconds(60);
constexpr TimePoint kNow{1000 * kPeriod};

/// A mirror set like that of the server.
class OfASet final : public ShardMirrors {
 public:
  explicit OfASet(std::size_t count) {
    std::vector<std::unique_ptr<Mirror>> mirrors;
    for (std::size_t i = 0; i < count; ++i)
      mirrors.push_back(std::make_unique<Mirror>(
          std::make_shared<Agent>(
              Address{.host = "127.0.0.1", .port = static_cast<std::uint16_t>(i + 1)}, i, 1,
              kPeriod),
          std::vector<std::string>{"t"}, 1, kPeriod));
    set_ = std::make_shared<MirrorSet>(std::move(mirrors),
                                       SetOptions{.strategy = make_strategy("nodeads", {}),
                                                  .strategy_name = "nodeads",
                                                  .period = kPeriod,
                                                  .state = {.kind = SetKind::flat}},
                                       loops_);
    set_->refresh(kNow);
  }
  const SetView& view() const override { return *set_->view(0); }
  std::string_view name(std::size_t mirror) const override { return (*set_)[mirror].agent->name; }
  std::string last_error(std::size_t) const override { return {}; }
  Candidates failing() const override { return {}; }
  std::optional<Pick> pick(const SelectionCriteria& criteria, RandomSource& random) const override {
    return set_->pick(criteria, 0, random);
  }
  Candidates acceptable(const SelectionCriteria& criteria) const override {
    return set_->acceptable(criteria, 0);
  }
  bool pinged() const override { return true; }
  bool closed() const override { return false; }
  Candidates full() const override { return set_->full(); }
  bool limited() const override { return false; }
  bool try_take_slot(std::size_t mirror) override {
    return (*set_)[mirror].agent->slots.try_take().has_value();
  }
  WaitQueue& wait_queue() override { return set_->wait_queue(); }
  std::uint64_t longest_queue() const override { return 0; }
  RecentLatency recent_latency() const override { return {}; }
  bool loaded_for_hedging() const override { return false; }

 private:
  Loops loops_;
  std::shared_ptr<MirrorSet> set_;
};

void plain_request(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  OfASet mirrors(count);
  Protection protection(count, {});
  Counters counters;
  SeededRandom random(1);
  const Need need{.preference = {.mode = Mode::nearest}};
  const RetryRules retry;
  std::atomic<std::uint32_t> waiting{0};
  const ShardInputs moment{kNow, random, protection, mirrors, counters};
  const auto before = allocations();
  for (auto _ : state) {
    ShardRules rules;
    rules.need = &need;
    rules.any_mirror = true;
    rules.retry = &retry;
    rules.subject.mirrors = count;
    rules.deadline = kNow + std::chrono::seconds(5);
    rules.connect_timeout = rules.selection_timeout = std::chrono::seconds(1);
    rules.waiting_selections = &waiting;
    ShardRequest request(rules);
    benchmark::DoNotOptimize(request.next(event::Started{}, moment));
    AttemptReport report;
    report.outcome = Outcome::answered;
    report.status = 200;
    benchmark::DoNotOptimize(request.next(event::AttemptEnded{0, report}, moment));
    if (!request.result().answered()) state.SkipWithError("it was not answered");
  }
  if (allocations() != before) state.SkipWithError("a plain request allocated memory");
}
BENCHMARK(plain_request)->ArgName("mirrors")->Arg(1)->Arg(3)->Arg(16);

}  // namespace
}  // namespace karmad
