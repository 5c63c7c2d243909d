#include "balancer/rules/admission/rate_limiter.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <thread>
#include <vector>

namespace karmad {
namespace {

using namespace std::chrono_literals;
constexpr TimePoint kLimiterStart{
    Micros(1'000'000'000'000)};  // a machine that is up for eleven days
constexpr auto kDeep = std::numeric_limits<std::uint32_t>::max();

/// `rate` tokens a second and room for `burst` of them.
BucketRule tokens(double rate, double burst) {
  return BucketRule::of(rate, burst / rate);
}

/// Many requests at the same moment; some of them must sleep.
struct Crowd {
  unsigned at_once = 0;
  unsigned refused = 0;
  std::vector<Micros> waits;

  Crowd(RateLimiter& limiter, unsigned size) {
    std::vector<RateLimiter::Reservation> turns;
    for (unsigned i = 0; i < size; ++i) {
      auto turn = limiter.borrow(1, kLimiterStart);
      if (!turn) {
        ++refused;
      } else if (turn->wait() == 0us) {
        ++at_once;
      } else {
        waits.push_back(turn->wait());
        turns.push_back(std::move(*turn));
      }
    }
    for (auto& turn : turns) turn.over();
  }
};

// AC-030 … AC-037: unlimited, queued, refused and interrupted acquisitions.
TEST(RateLimiter, WithoutALimitAdmitsAtOnce) {
  RateLimiter limiter;
  const auto turn = limiter.borrow(1, kLimiterStart);
  ASSERT_TRUE(turn);
  EXPECT_EQ(turn->wait(), 0us);
  const auto counts = limiter.counts(kLimiterStart);
  EXPECT_EQ(counts.attempted, 1u);
  EXPECT_EQ(counts.successful, 1u);
  EXPECT_EQ(counts.queued, 0u);
  EXPECT_EQ(counts.average_wait, 0);
  EXPECT_EQ(counts.available, std::numeric_limits<std::int64_t>::max());
}

TEST(RateLimiter, LetsTheBurstPassAndThenOnePerQuarterOfASecond) {
  RateLimiter limiter(tokens(4, 2), kDeep);
  const Crowd crowd(limiter, 10);
  EXPECT_EQ(crowd.at_once, 2u);
  EXPECT_EQ(crowd.waits,
            (std::vector<Micros>{250ms, 500ms, 750ms, 1s, 1250ms, 1500ms, 1750ms, 2s}));
  EXPECT_EQ(limiter.counts(kLimiterStart).queued, 8u);
}

TEST(RateLimiter, RefusesRequestsWhenTheQueueIsFull) {
  RateLimiter limiter(tokens(2, 1), 4);
  const Crowd crowd(limiter, 10);
  EXPECT_EQ(crowd.at_once, 1u);
  EXPECT_EQ(crowd.waits, (std::vector<Micros>{500ms, 1s, 1500ms, 2s}));
  EXPECT_EQ(crowd.refused, 5u);
  EXPECT_NEAR(limiter.balance(kLimiterStart + 2s), 0, 0.01);
  const auto next = limiter.borrow(1, kLimiterStart + 2s);
  ASSERT_TRUE(next);
  EXPECT_LE(next->wait(), 500ms);
}

TEST(RateLimiter, RefusesExactlyOneOfTwoWhenOnePlaceIsLeft) {
  RateLimiter limiter(tokens(0.1, 1), 1);
  EXPECT_EQ(limiter.borrow(1, kLimiterStart)->wait(), 0us);
  const auto waiting = limiter.borrow(1, kLimiterStart);
  const auto refused = limiter.borrow(1, kLimiterStart);
  ASSERT_TRUE(waiting);
  EXPECT_EQ(waiting->wait(), 10s);
  EXPECT_FALSE(refused);
  EXPECT_GE(limiter.balance(kLimiterStart + 1s), -1);
  EXPECT_LE(limiter.balance(kLimiterStart + 1s), 0);
}

TEST(RateLimiter, WithoutAQueueRefusesTheSecond) {
  RateLimiter limiter(tokens(0.01, 1), 0);
  EXPECT_TRUE(limiter.borrow(1, kLimiterStart));
  EXPECT_FALSE(limiter.borrow(1, kLimiterStart + 1s));
  const auto counts = limiter.counts(kLimiterStart + 1s);
  EXPECT_EQ(counts.attempted, 2u);
  EXPECT_EQ(counts.successful, 1u);
  EXPECT_EQ(counts.rejected, 1u);
  EXPECT_NEAR(limiter.balance(kLimiterStart + 1s), 0, 0.02);
}

TEST(RateLimiter, GetsTheTokenBackAfterAnInterruption) {
  RateLimiter limiter(tokens(0.01, 1), kDeep);
  EXPECT_TRUE(limiter.borrow(1, kLimiterStart));
  {
    const auto turn = limiter.borrow(1, kLimiterStart);
    ASSERT_TRUE(turn);
    EXPECT_EQ(turn->wait(), 100s);
    EXPECT_NEAR(limiter.balance(kLimiterStart), -1, 1e-6);
    EXPECT_EQ(limiter.counts(kLimiterStart).attempted, 2u);
    EXPECT_EQ(limiter.counts(kLimiterStart).waiting(), 1u);
  }
  const auto counts = limiter.counts(kLimiterStart);
  EXPECT_EQ(counts.queued, 1u);
  EXPECT_EQ(counts.dequeued, 1u);
  EXPECT_EQ(counts.interrupted, 1u);
  EXPECT_EQ(counts.attempted, 2u);
  EXPECT_NEAR(limiter.balance(kLimiterStart), 0, 1e-6);
}

TEST(RateLimiter, RejectsInvalidRules) {
  EXPECT_TRUE(BucketRule::wrong(1, 0));
  EXPECT_TRUE(BucketRule::wrong(1, -1));
  EXPECT_TRUE(BucketRule::wrong(0, 1));
  EXPECT_TRUE(BucketRule::wrong(std::numeric_limits<double>::quiet_NaN(), 1));
  EXPECT_TRUE(BucketRule::wrong(1, std::numeric_limits<double>::quiet_NaN()));
  EXPECT_FALSE(BucketRule::wrong(0.01, 1e9));
}

// AC-031: the product of the defaults of AC-041 and AC-052 overflows.
TEST(RateLimiter, NeverLimitsWithAnUncountableCapacity) {
  const auto huge = std::numeric_limits<double>::max();
  for (const auto& rule :
       {BucketRule::of(2147483647, huge), BucketRule::of(huge, huge),
        BucketRule::of(std::numeric_limits<double>::infinity(), 1), BucketRule::of(1, huge / 2)}) {
    RateLimiter limiter(rule);
    for (int i = 0; i < 1000; ++i) ASSERT_TRUE(limiter.try_acquire(1, kLimiterStart));
    EXPECT_GT(limiter.balance(kLimiterStart), 1e200);
    EXPECT_EQ(limiter.counts(kLimiterStart).available, std::numeric_limits<std::int64_t>::max());
    EXPECT_EQ(limiter.time_until(1, kLimiterStart), 0us);
    limiter.change(tokens(1, 2), 0, kLimiterStart);
    EXPECT_DOUBLE_EQ(limiter.balance(kLimiterStart), 2) << "cut to the new capacity";
    limiter.change(rule, 0, kLimiterStart);
    EXPECT_TRUE(limiter.try_acquire(1000, kLimiterStart));
    EXPECT_FALSE(std::isnan(limiter.balance(kLimiterStart)));
  }
}

TEST(RateLimiter, GivesEveryTokenOfTheBurstAtAnyRate) {
  for (const double rate : {0.01, 0.3, 1.0, 3.0, 7.0, 999.0, 1e5, 1e6}) {
    RateLimiter limiter(tokens(rate, 7));
    int taken = 0;
    while (taken < 20 && limiter.try_acquire(1, kLimiterStart)) ++taken;
    EXPECT_EQ(taken, 7) << rate;
    EXPECT_GT(limiter.time_until(1, kLimiterStart), 0us) << rate;
    EXPECT_TRUE(limiter.try_acquire(1, kLimiterStart + limiter.time_until(1, kLimiterStart)))
        << rate;
  }
}

TEST(RateLimiter, TakesSeveralOrNone) {  // AC-032
  RateLimiter limiter(tokens(1, 5));
  EXPECT_TRUE(limiter.try_acquire(3, kLimiterStart));
  EXPECT_FALSE(limiter.try_acquire(3, kLimiterStart));
  EXPECT_TRUE(limiter.try_acquire(2, kLimiterStart));
  EXPECT_EQ(limiter.time_until(3, kLimiterStart), 3s);
}

TEST(RateLimiter, FillsUpToItsCapacity) {
  RateLimiter limiter(tokens(10, 5));
  EXPECT_TRUE(limiter.try_acquire(5, kLimiterStart));
  EXPECT_NEAR(limiter.balance(kLimiterStart + 300ms), 3, 1e-6);
  EXPECT_NEAR(limiter.balance(kLimiterStart + 1h), 5, 1e-6);
  EXPECT_EQ(limiter.counts(kLimiterStart + 350ms).available, 3);
}

TEST(RateLimiter, SleepsWholeMillisecondsAndLessThanOneIsNothing) {  // AC-034
  RateLimiter limiter(tokens(1500, 1), kDeep);
  EXPECT_EQ(limiter.borrow(1, kLimiterStart)->wait(), 0us);
  EXPECT_EQ(limiter.borrow(1, kLimiterStart)->wait(), 0us) << "two thirds of a millisecond";
  auto turn = limiter.borrow(1, kLimiterStart);
  EXPECT_EQ(turn->wait(), 1ms) << "one and a third";
  turn->over();
  EXPECT_EQ(limiter.counts(kLimiterStart).successful, 3u);
  EXPECT_EQ(limiter.counts(kLimiterStart).queued, 1u);
}

TEST(RateLimiter, AveragesTheWaitsOfAdmittedRequests) {  // AC-037
  RateLimiter limiter(tokens(1, 1), kDeep);
  EXPECT_TRUE(limiter.borrow(1, kLimiterStart));
  EXPECT_EQ(limiter.counts(kLimiterStart).average_wait, 0);
  limiter.borrow(1, kLimiterStart)->over();
  EXPECT_DOUBLE_EQ(limiter.counts(kLimiterStart).average_wait, 200'000);
  limiter.borrow(1, kLimiterStart)->over();
  EXPECT_DOUBLE_EQ(limiter.counts(kLimiterStart).average_wait, 0.8 * 200'000 + 0.2 * 2'000'000);
  { const auto interrupted = limiter.borrow(1, kLimiterStart); }
  EXPECT_DOUBLE_EQ(limiter.counts(kLimiterStart).average_wait, 0.8 * 200'000 + 0.2 * 2'000'000);
}

TEST(RateLimiter, CountsTheExemptedApart) {  // AC-037
  RateLimiter limiter(tokens(1, 1));
  limiter.exempt();
  EXPECT_EQ(limiter.counts(kLimiterStart).attempted, 0u);
  EXPECT_EQ(limiter.counts(kLimiterStart).exempted, 1u);
  EXPECT_EQ(limiter.counts(kLimiterStart).available, 1);
}

// AC-031: tokens present stay, cut to the new capacity; so does a debt.
TEST(RateLimiter, KeepsItsTokensWhenTheRulesChange) {
  RateLimiter limiter(tokens(1, 10), 1);
  EXPECT_TRUE(limiter.try_acquire(4, kLimiterStart));
  limiter.change(tokens(100, 20), 1, kLimiterStart);
  EXPECT_NEAR(limiter.balance(kLimiterStart), 6, 1e-6);
  limiter.change(tokens(0.5, 3), 1, kLimiterStart);
  EXPECT_NEAR(limiter.balance(kLimiterStart), 3, 1e-6);
  EXPECT_TRUE(limiter.try_acquire(3, kLimiterStart));
  auto turn = limiter.borrow(1, kLimiterStart);
  EXPECT_EQ(turn->wait(), 2s);
  limiter.change(tokens(10, 1), 0, kLimiterStart);
  EXPECT_NEAR(limiter.balance(kLimiterStart), -1, 1e-6);
  EXPECT_FALSE(limiter.borrow(1, kLimiterStart)) << "the queue is as deep as it is now";
  turn->over();
  EXPECT_EQ(limiter.counts(kLimiterStart).waiting(), 0u);
}

TEST(RateLimiter, CountsWhatItWouldHaveDoneWithoutAWait) {
  RateLimiter limiter(tokens(2, 1), 4);
  int refused = 0;
  for (int i = 0; i < 10; ++i) refused += limiter.would_borrow(kLimiterStart) ? 0 : 1;
  EXPECT_EQ(refused, 5);
  const auto counts = limiter.counts(kLimiterStart);
  EXPECT_EQ(counts.queued, 4u);
  EXPECT_EQ(counts.waiting(), 0u);
  EXPECT_EQ(counts.rejected, 5u);
  EXPECT_EQ(counts.attempted, 10u);
}

TEST(RateLimiter, GivesManyThreadsNoTokenTwice) {
  constexpr int kThreads = 4;
  constexpr int kEach = 20'000;
  constexpr int kBurst = 30'000;
  RateLimiter limiter(tokens(1, kBurst), 8);
  std::atomic<int> taken{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i)
        if (limiter.try_acquire(1, kLimiterStart)) ++taken;
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(taken.load(), kBurst);
  const auto counts = limiter.counts(kLimiterStart);
  EXPECT_EQ(counts.attempted, std::uint64_t{kThreads * kEach});
  EXPECT_EQ(counts.rejected, std::uint64_t{kThreads * kEach - kBurst});
}

TEST(RateLimiter, LosesNoTokenToInterruptionsWhileTheRulesChange) {
  constexpr std::uint32_t kDepth = 3;
  RateLimiter limiter(tokens(10, 100), kDepth);
  std::atomic<std::uint32_t> asleep{0};
  std::atomic<bool> too_many{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 20'000; ++i) {
        auto turn = limiter.borrow(1, kLimiterStart);
        if (!turn || turn->wait() == 0us) continue;
        if (asleep.fetch_add(1) >= kDepth) too_many = true;
        asleep.fetch_sub(1);
      }
    });
  for (int i = 0; i < 1000; ++i) limiter.change(tokens(10, 100), kDepth, kLimiterStart);
  for (auto& thread : threads) thread.join();
  EXPECT_FALSE(too_many);
  const auto counts = limiter.counts(kLimiterStart);
  EXPECT_EQ(counts.attempted, 80'000u);
  EXPECT_EQ(counts.waiting(), 0u);
  EXPECT_EQ(counts.interrupted, counts.queued);
  EXPECT_NEAR(limiter.balance(kLimiterStart), 0, 0.1);
}

}  // namespace
}  // namespace karmad
