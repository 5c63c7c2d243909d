#include "balancer/trace/trace.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/support/counted_allocations.hpp"

namespace karmad {
namespace {

using test::allocations;

using namespace std::chrono_literals;

constexpr TimePoint kTraceBegan{1s};

struct ATrace : testing::Test {
  ATrace() { trace.began = kTraceBegan; }

  OpenAttempt begin(std::string_view mirror, Micros at,
                    AttemptReason reason = AttemptReason::initial) {
    return trace.begin({.mirror = mirror, .reason = reason, .at = kTraceBegan + at});
  }

  /// Attempts that were answered, also with a warning.
  std::size_t answered() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        trace.attempts(), [](const auto& attempt) { return is_answered(attempt.outcome); }));
  }

  Trace trace;
};

TEST_F(ATrace, KeepsEveryAttemptWithItsTimesFromTheBeginningOfTheRequest) {
  auto first = begin("a:1", 10us);
  first.connected(kTraceBegan + 20us);
  first.first_byte(kTraceBegan + 30us);
  first.end(kTraceBegan + 40us, Outcome::agent_error, "HTTP 500");
  auto second = trace.begin({.shard = 2,
                             .mirror = "b:2",
                             .reason = AttemptReason::overload,
                             .choice = {"nodeads", 3, 2},
                             .pause = 7us,
                             .at = kTraceBegan + 50us});
  second.end(kTraceBegan + 60us, Outcome::answered);

  ASSERT_EQ(trace.attempts().size(), 2U);
  const auto& failed = trace.attempts()[0];
  EXPECT_EQ(failed.started, 10us);
  EXPECT_EQ(failed.connected, 20us);
  EXPECT_EQ(failed.first_byte, 30us);
  EXPECT_EQ(failed.ended, 40us);
  EXPECT_EQ(failed.outcome, Outcome::agent_error);
  EXPECT_EQ(failed.error, "HTTP 500");
  const auto& answered = trace.attempts()[1];
  EXPECT_EQ(answered.start.mirror, "b:2");
  EXPECT_EQ(answered.start.choice.acceptable, 2);
  EXPECT_EQ(answered.start.pause, 7us);
  EXPECT_FALSE(answered.connected);
  EXPECT_EQ(answered.outcome, Outcome::answered);
}

TEST_F(ATrace, HasOneEndForEveryBeginning) {  // BP-030
  for (const auto outcome : {Outcome::answered, Outcome::answered_with_warning, Outcome::broken,
                             Outcome::client_mistake, Outcome::cancelled})
    begin("a:1", 0us).end(kTraceBegan + 1us, outcome);
  EXPECT_EQ(trace.started(), 5U);
  EXPECT_EQ(answered(), 2U);
  for (const auto& attempt : trace.attempts()) EXPECT_EQ(attempt.ended, 1us);
}

TEST_F(ATrace, HasAWrongReplyWhereTheMergeRejectedTheAnswer) {  // BP-030
  for (const auto* const mirror : {"a:1", "b:2", "a:1", "b:2"})
    begin(mirror, 0us).end(kTraceBegan + 1us, Outcome::answered);
  trace.rejected(1, "a:1", "a hit is malformed");
  EXPECT_EQ(answered(), 3U);
  EXPECT_EQ(trace.attempts()[2].outcome, Outcome::wrong_reply);
  EXPECT_EQ(trace.attempts()[2].error, "a hit is malformed");
  for (const std::size_t other : {0U, 1U, 3U})
    EXPECT_EQ(trace.attempts()[other].outcome, Outcome::answered);
}

TEST_F(ATrace, TakesADroppedAttemptForCancelled) {  // BP-030
  begin("a:1", 0us);
  EXPECT_EQ(trace.started(), 1U);
  EXPECT_EQ(trace.attempts()[0].outcome, Outcome::cancelled);
  EXPECT_FALSE(trace.attempts()[0].ended);
}

TEST_F(ATrace, EndsAttemptsInAnyOrder) {
  auto slow = begin("a:1", 0us);
  std::vector<OpenAttempt> hedges;
  for (int i = 0; i < 9; ++i) hedges.push_back(begin("b:2", 5us, AttemptReason::hedge));
  slow.end(kTraceBegan + 9us, Outcome::answered);
  for (auto& hedge : hedges) hedge.end(kTraceBegan + 10us, Outcome::cancelled);
  EXPECT_EQ(trace.attempts()[0].outcome, Outcome::answered);
  EXPECT_EQ(answered(), 1U);
}

TEST_F(ATrace, KeepsTheFirst64AndCountsTheOthers) {
  for (int i = 0; i < 100; ++i) begin("a:1", 0us).end(kTraceBegan, Outcome::broken, "reset");
  EXPECT_EQ(trace.attempts().size(), Trace::kKept);
  EXPECT_EQ(trace.started(), 100U);
}

TEST_F(ATrace, DistinguishesRetriesFromHedges) {
  begin("a:1", 0us).end(kTraceBegan, Outcome::broken);
  EXPECT_FALSE(trace.retried() || trace.hedged());
  begin("a:1", 0us, AttemptReason::hedge).end(kTraceBegan, Outcome::broken);
  EXPECT_TRUE(trace.hedged() && !trace.retried());
  begin("a:1", 0us, AttemptReason::throttled).end(kTraceBegan, Outcome::answered);
  EXPECT_TRUE(trace.retried());
}

TEST_F(ATrace, AllocatesNothingForFourAttempts) {
  std::string error = "a text too long to be kept in the string itself";
  const auto before = allocations();
  for (int i = 0; i < 3; ++i) begin("a:1", 0us).end(kTraceBegan, Outcome::answered);
  begin("a:1", 0us).end(kTraceBegan, Outcome::broken, std::move(error));
  EXPECT_EQ(allocations(), before);
  begin("a:1", 0us).end(kTraceBegan, Outcome::answered);
  EXPECT_GT(allocations(), before);
}

}  // namespace
}  // namespace karmad
