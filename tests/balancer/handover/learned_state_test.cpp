#include "balancer/handover/learned.hpp"

#include <gtest/gtest.h>

#include "strategies/random_source.hpp"
#include "tests/balancer/topology/built.hpp"

namespace karmad {
namespace {

using namespace std::chrono_literals;

constexpr auto kLearningSettings =
    "searchd {\n ping_type = native\n ha_strategy = nodeads\n max_in_flight = auto\n "
    "search_tickets = auto\n"
    " breaker = 1\n outlier = on\n}\n";

/// A process, as far as it learns.
struct Learner {
  explicit Learner(const std::string& tables)
      : topology(built.build(kLearningSettings + tables)),
        admission(1, nowhere, 1000, topology->settings, TimePoint{1s}) {
    topology->apply_limits(TimePoint{1s});
  }

  const Shard& shard(const char* table) const { return *topology->find(table)->shards.at(0); }

  Built built;
  const Loops nowhere;
  std::shared_ptr<const Topology> topology;
  Admission admission;
};

std::string learning_table(const std::string& name, const std::string& agents) {
  return "table " + name + " {\n type = distributed\n agent = " + agents + "\n}\n";
}

constexpr TimePoint kFormer{100s};
constexpr TimePoint kNow{5s};  // the clock of another machine, even

/// Mirror 0 is a fast primary, mirror 1 fails in every way.
void teach(Learner& learner) {
  const auto& shard = learner.shard("t");
  auto& set = *shard.mirrors;
  set.ping_answered(0, parse_description(R"({"role":"primary","set":"s"})").value(), 400us,
                    kFormer);
  for (int i = 0; i < 50; ++i) {
    set[0].signals.answered(kFormer, 2ms);
    set[0].record->quantiles.add(0, kFormer, 2ms);
  }
  set[1].signals.failed(3ms, /*overload=*/false);
  set[1].agent->counters.errors_in_a_row = 4;
  set[1].agent->counters.answered = true;
  set[1].agent->last_error("broke");
  auto& protection = *shard.protection;
  protection.unavailable.mark(1, kFormer, 20s);
  protection.unavailable.mark_paused(1, kFormer, 90s);
  for (int i = 0; i < 12; ++i) protection.breaker->failed(1, Operation::read, kFormer);
  protection.standings.ended(1, Outcome::connect_failed);
  const std::vector<OutlierSigns> signs{{}, {.failures_in_a_row = 9}};
  SeededRandom random(1);
  protection.outliers->evaluate(kFormer, signs, random);
}

TEST(LearnedState, IsTheSameInTheSuccessor) {
  const auto tables = learning_table("t", "a:1|b:2:x") + learning_table("u", "a:1");
  Learner former(tables);
  teach(former);
  const auto learned = collect_learned(*former.topology, former.admission, kFormer);
  EXPECT_TRUE(learned.tables.at(0).shards.at(0).at(1).ejection.ejected);

  Learner next(tables);
  const auto read = parse_learned(to_json(learned));
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(restore_learned(*read, *next.topology, next.admission, kNow), 3u);
  const auto again = collect_learned(*next.topology, next.admission, kNow);
  EXPECT_EQ(to_json(again), to_json(learned));

  const auto& shard = next.shard("t");
  EXPECT_EQ(shard.mirrors->view(0)->picture.mirrors[0].role, Role::primary);
  EXPECT_TRUE(shard.protection->breaker->is_tripped(1, kNow));
  EXPECT_TRUE(shard.protection->outliers->ejected().contains(1));
  EXPECT_TRUE(
      shard.protection->unavailable.marked(shard.mirrors->view(0)->picture, true, kNow + 89s)
          .contains(1));
  EXPECT_TRUE(shard.protection->standings.any_unreachable());
  EXPECT_EQ((*shard.mirrors)[1].agent->last_error_at(),
            std::chrono::floor<std::chrono::microseconds>(
                (*former.shard("t").mirrors)[1].agent->last_error_at()));
}

TEST(LearnedState, IsRestoredForMirrorsThatStay) {
  Learner former(learning_table("t", "a:1|b:2:x"));
  teach(former);
  const auto learned = collect_learned(*former.topology, former.admission, kFormer);
  // Other places, a new mirror, another name of the table at a mirror, and a table that is new.
  Learner next(learning_table("t", "c:3|b:2:x|a:1:other") + learning_table("u", "a:1"));
  EXPECT_EQ(restore_learned(learned, *next.topology, next.admission, kNow), 1u);
  const auto& shard = next.shard("t");
  EXPECT_TRUE(shard.protection->outliers->ejected().contains(1));
  EXPECT_FALSE(shard.protection->outliers->ejected().contains(0));
  EXPECT_EQ((*shard.mirrors)[1].agent->counters.errors_in_a_row, 4u);
  EXPECT_EQ((*shard.mirrors)[2].signals.latency(), 0);
}

TEST(LearnedState, KeepsLimitsWithinTheirNewBounds) {
  Learner next(learning_table("t", "a:1|b:2:x"));
  Learned learned;
  learned.agents = {{.address = "a:1", .limit = ConcurrencyLimit::Learned{50.5, 700us}},
                    {.address = "b:2", .limit = ConcurrencyLimit::Learned{1e9, 700us}}};
  learned.tickets = LearnedTickets{60, 1000};
  EXPECT_EQ(restore_learned(learned, *next.topology, next.admission, kNow), 0u);
  const auto& set = *next.shard("t").mirrors;
  EXPECT_EQ(set[0].agent->slots.limit(), 50u);
  EXPECT_EQ(set[1].agent->slots.limit(), 200u) << "max_in_flight_max";
  EXPECT_EQ(next.admission.searches.size(), 60u);
  EXPECT_EQ(next.admission.probing().stable_concurrency, 60);
  learned.tickets = LearnedTickets{1e6, 1000};
  restore_learned(learned, *next.topology, next.admission, kNow);
  EXPECT_EQ(next.admission.searches.size(), 128u) << "throughput_probing_max_concurrency";
}

}  // namespace
}  // namespace karmad
