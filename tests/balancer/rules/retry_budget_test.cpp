#include "balancer/rules/retry_budget.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace karmad {
namespace {

// TokenBucket: BP-020 … BP-026

TEST(TokenBucket, StaysAtItsCapacity) {  // BP-021, BP-026
  TokenBucket bucket;
  bucket.first_attempt_succeeded();
  bucket.retry_succeeded();
  EXPECT_EQ(bucket.tenths(), 10'000);
}

TEST(TokenBucket, TenFirstSuccessesMakeAToken) {  // BP-022
  TokenBucket bucket(1);
  EXPECT_TRUE(bucket.take());
  for (int i = 0; i < 9; ++i) bucket.first_attempt_succeeded();
  EXPECT_FALSE(bucket.take());
  EXPECT_EQ(bucket.tenths(), 9) << "nothing is taken when there is too little";
  bucket.first_attempt_succeeded();
  EXPECT_TRUE(bucket.take());
  EXPECT_EQ(bucket.tenths(), 0);
}

TEST(TokenBucket, ARetryThatWasWorthItGainsATenth) {  // BP-023, BP-025
  TokenBucket bucket(2);
  ASSERT_TRUE(bucket.take());
  ASSERT_TRUE(bucket.take());
  bucket.retry_succeeded();
  EXPECT_EQ(bucket.tenths(), 11);
}

TEST(TokenBucket, ARetryThatFailedOtherwiseCostsNothing) {  // BP-024
  TokenBucket bucket(2);
  ASSERT_TRUE(bucket.take());
  bucket.retry_failed_without_overload();
  EXPECT_EQ(bucket.tenths(), 20);
}

void on_threads(int threads, const std::function<void()>& work) {
  std::vector<std::jthread> running;
  for (int i = 0; i < threads; ++i) running.emplace_back(work);
}

TEST(TokenBucket, LosesNothingBetweenThreads) {  // BP-021
  TokenBucket bucket(1000);
  std::atomic<int> taken{0};
  on_threads(4, [&] {
    for (int i = 0; i < 1000; ++i)
      if (bucket.take()) ++taken;
  });
  EXPECT_EQ(taken, 1000);
  on_threads(4, [&] {
    for (int i = 0; i < 100; ++i) bucket.retry_succeeded();
  });
  EXPECT_EQ(bucket.tenths(), 4 * 100 * 11);
}

// RetryBudget: X-11, issue "Overload and faults"

TEST(RetryBudget, HasAtLeastThreeInFlight) {
  RetryBudget budget;
  const RetryBudget::InFlightPermit live(budget);
  auto a = budget.take(RetryBudget::For::other);
  auto b = budget.take(RetryBudget::For::other);
  auto c = budget.take(RetryBudget::For::other);
  EXPECT_TRUE(a && b && c);
  EXPECT_FALSE(budget.take(RetryBudget::For::other));
  EXPECT_EQ(budget.extras(), 3U);
  c.reset();
  EXPECT_TRUE(budget.take(RetryBudget::For::other));
  EXPECT_EQ(budget.given(), 4U);
  EXPECT_EQ(budget.refused(), 1U);
}

TEST(RetryBudget, HasTheShareOfWhatIsLiveInFlight) {
  RetryBudget budget({.percent = 20, .at_least = 3, .saved = 1000});
  std::deque<RetryBudget::InFlightPermit> live;
  for (int i = 0; i < 50; ++i) live.emplace_back(budget);
  std::vector<RetryBudget::RetryPermit> extras;
  while (auto extra = budget.take(RetryBudget::For::other)) extras.push_back(std::move(*extra));
  EXPECT_EQ(extras.size(), 10U);
}

TEST(RetryBudget, IsAtRestWhenAllHasEnded) {
  RetryBudget budget;
  {
    const RetryBudget::InFlightPermit live(budget);
    auto extra = budget.take(RetryBudget::For::other);
    ASSERT_TRUE(extra);
    auto moved_extra = std::move(*extra);
    moved_extra.succeeded();
    EXPECT_EQ(budget.live(), 1U);
    EXPECT_EQ(budget.saved(), 9U);
  }
  EXPECT_EQ(budget.live(), 0U);
  EXPECT_EQ(budget.extras(), 0U);
  EXPECT_EQ(budget.saved(), 10U);
}

TEST(RetryBudget, CanBeShut) {
  RetryBudget budget({.percent = 0, .at_least = 0, .saved = 0});
  const RetryBudget::InFlightPermit live(budget);
  EXPECT_FALSE(budget.take(RetryBudget::For::other));
}

/// Requests at a set that answers an attempt as `succeeds` says, each willing to try six times.
/// `width` of them live at the same time, each making its next attempt when its turn comes.
struct BudgetStory {
  std::size_t requests = 1000;
  std::size_t width = 1;
  std::function<bool(std::size_t attempt_of_all)> succeeds;

  std::size_t attempts = 0;
  std::size_t answered = 0;

  void play(RetryBudget& budget) {
    struct Request {
      explicit Request(RetryBudget& at) : live(at) {}
      RetryBudget::InFlightPermit live;
      std::optional<RetryBudget::RetryPermit> retry_permit;
      unsigned made = 0;
    };
    std::vector<std::unique_ptr<Request>> slots(width);
    std::size_t started = 0;
    for (bool busy = true; busy;) {
      busy = false;
      for (auto& request : slots) {
        if (!request && started < requests) {
          ++started;
          request = std::make_unique<Request>(budget);
        }
        if (!request) continue;
        busy = true;
        ++request->made;
        if (succeeds(attempts++)) {
          ++answered;
          if (request->retry_permit) request->retry_permit->succeeded();
          request.reset();
          continue;
        }
        request->retry_permit.reset();
        if (request->made < 6) {
          if (auto extra = budget.take(RetryBudget::For::other)) {
            request->retry_permit.emplace(std::move(*extra));
            continue;
          }
        }
        request.reset();
      }
    }
  }
};

TEST(RetryBudget, CountsOnUnderNewRules) {
  RetryBudget before({.percent = 0, .at_least = 2});
  {
    const auto first = before.take(RetryBudget::For::other);
    const auto second = before.take(RetryBudget::For::other);
    EXPECT_FALSE(before.take(RetryBudget::For::other));
  }
  RetryBudget after({.percent = 0, .at_least = 1});
  after.take_over(before);
  after.continue_counts(before);
  EXPECT_EQ(after.given(), 2U);
  EXPECT_EQ(after.refused(), 1U);
  EXPECT_EQ(after.extras(), 0U);
  // A request that began before the reload.
  const auto third = before.take(RetryBudget::For::other);
  const auto fourth = before.take(RetryBudget::For::other);
  EXPECT_FALSE(before.take(RetryBudget::For::other));
  EXPECT_EQ(after.given(), 4U);
  EXPECT_EQ(after.refused(), 2U);
  EXPECT_EQ(after.extras(), 0U);
}

TEST(RetryBudget, ARetryOntoAWorkingMirrorIsFreeUnlessItFails) {
  RetryBudget budget;
  for (int i = 0; i < 100; ++i) budget.take(RetryBudget::For::proven)->succeeded();
  EXPECT_EQ(budget.saved(), 10U);
  std::vector<RetryBudget::RetryPermit> extras;
  for (int i = 0; i < 15; ++i) extras.push_back(*budget.take(RetryBudget::For::proven));
  EXPECT_EQ(budget.saved(), 10U);
  EXPECT_EQ(budget.extras(), 15U);
  extras.clear();
  EXPECT_EQ(budget.saved(), 0U) << "it is five in debt";
  EXPECT_FALSE(budget.take(RetryBudget::For::untried));
  EXPECT_TRUE(budget.take(RetryBudget::For::proven));
  for (int i = 0; i < 34; ++i) const RetryBudget::InFlightPermit ended(budget);
  EXPECT_FALSE(budget.take(RetryBudget::For::untried)) << "6 are paid back, and 0.8 saved";
  const RetryBudget::InFlightPermit one(budget);
  { const RetryBudget::InFlightPermit another(budget); }
  EXPECT_TRUE(budget.take(RetryBudget::For::untried));
}

TEST(RetryBudget, AnUntriedMirrorNeedsNoPlaceInFlight) {
  RetryBudget budget;
  std::vector<RetryBudget::RetryPermit> extras;
  for (int i = 0; i < 10; ++i) extras.push_back(*budget.take(RetryBudget::For::untried));
  EXPECT_FALSE(budget.take(RetryBudget::For::untried));
}

// What wins is load as well.
TEST(RetryBudget, HedgesAreAsManyAsTheirShareWhetherTheyWinOrNot) {
  using After = HedgeSetting::Kind;
  const struct {
    After after;
    std::uint32_t percent;
    std::size_t most;
  } cases[] = {{After::after, 20, 2000}, {After::p95, 20, 500}, {After::p99, 20, 100},
               {After::after, 3, 300},   {After::p95, 3, 300},  {After::p95, 0, 0}};
  for (const auto& c : cases) {
    RetryBudget budget({.percent = c.percent});
    std::size_t sent = 0;
    for (int i = 0; i < 10'000; ++i) {
      const RetryBudget::InFlightPermit live(budget);
      if (auto hedge = budget.take_hedge(c.after)) {
        hedge->succeeded();
        ++sent;
      }
    }
    EXPECT_LE(sent, c.most + 10) << static_cast<int>(c.after) << " " << c.percent;
    EXPECT_GE(sent + 10, c.most);
    EXPECT_EQ(budget.saved(), 10U) << "what they took of the other account is back";
  }
}

TEST(RetryBudget, AHedgeThatIsRefusedCostsNothing) {
  RetryBudget budget;
  std::vector<RetryBudget::RetryPermit> extras;
  while (auto extra = budget.take(RetryBudget::For::other)) extras.push_back(*std::move(extra));
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(budget.take_hedge(HedgeSetting::Kind::p95));
  extras.clear();
  EXPECT_EQ(budget.saved(), 7U);
  int sent = 0;
  for (; sent < 20; ++sent) {
    auto hedge = budget.take_hedge(HedgeSetting::Kind::p95);
    if (!hedge) break;
    hedge->succeeded();
  }
  EXPECT_EQ(sent, 10);
}

TEST(RetryBudget, ToldWhetherARetryInProgressMayReturnWhatItTook) {
  RetryBudget budget;
  EXPECT_FALSE(budget.may_be_repaid(budget.losses()));
  auto other = budget.take(RetryBudget::For::other);
  auto proven = budget.take(RetryBudget::For::proven);
  EXPECT_FALSE(budget.may_be_repaid(budget.losses()));
  auto first = budget.take(RetryBudget::For::untried);
  auto second = budget.take(RetryBudget::For::untried);
  const auto losses = budget.losses();
  EXPECT_TRUE(budget.may_be_repaid(losses));
  first->succeeded();
  first.reset();
  EXPECT_TRUE(budget.may_be_repaid(losses));
  auto third = budget.take(RetryBudget::For::untried);
  second.reset();
  EXPECT_FALSE(budget.may_be_repaid(losses)) << "it has failed since then";
  EXPECT_TRUE(budget.may_be_repaid(budget.losses()));
  third.reset();
  EXPECT_FALSE(budget.may_be_repaid(budget.losses()));
}

bool never(std::size_t) {
  return false;
}

TEST(RetryBudget, AFailedSetGetsAtMostAFifthMore) {
  for (const std::size_t width : {1, 2, 7, 64, 500}) {
    RetryBudget budget;
    BudgetStory story{.width = width, .succeeds = never};
    story.play(budget);
    EXPECT_LE(story.attempts, 1200U + 3 + 7) << width << " at a time";
    EXPECT_EQ(budget.given(), story.attempts - story.requests);
    EXPECT_EQ(budget.live() + budget.extras(), 0U);
  }
}

TEST(RetryBudget, TheShareIsASetting) {
  RetryBudget budget({.percent = 5, .at_least = 1, .saved = 2});
  BudgetStory story{.width = 64, .succeeds = never};
  story.play(budget);
  EXPECT_LE(story.attempts, 1050U + 2);
}

TEST(RetryBudget, RetriesThatHelpAreNotHeldBackWhenTheyAreFew) {
  RetryBudget budget;
  BudgetStory story{.succeeds = [](std::size_t attempt) { return attempt % 2 == 1; }};
  story.play(budget);
  EXPECT_EQ(story.answered, 1000U) << "one of two mirrors is dead: every retry is answered";
}

TEST(RetryBudget, RecoversWithItsSet) {
  RetryBudget budget;
  BudgetStory outage{.succeeds = never};
  outage.play(budget);
  EXPECT_LE(budget.saved(), 1U);
  BudgetStory afterwards{.requests = 50, .succeeds = [](std::size_t) { return true; }};
  afterwards.play(budget);
  EXPECT_EQ(budget.saved(), 10U);
}

TEST(RetryBudget, CountsRightBetweenThreads) {
  constexpr std::size_t threads = 4;
  RetryBudget budget({}, threads);
  std::atomic<unsigned> workers{0};
  std::atomic<std::size_t> attempts{0};
  std::atomic<std::uint32_t> most{0};
  constexpr std::size_t each = 5000;
  on_threads(threads, [&] {
    const auto worker = workers++;
    for (std::size_t i = 0; i < each; ++i) {
      const RetryBudget::InFlightPermit live(budget, worker);
      ++attempts;
      for (int retry = 0; retry < 5; ++retry) {
        const auto extra = budget.take(RetryBudget::For::other);
        if (!extra) break;
        ++attempts;
        if (const auto now = budget.extras(); now > most) most = now;
      }
    }
  });
  EXPECT_LE(attempts, threads * each * 12 / 10 + 10);
  EXPECT_LE(most, 3U);
  EXPECT_EQ(budget.given() + threads * each, attempts);
  EXPECT_EQ(budget.live() + budget.extras(), 0U);
}

}  // namespace
}  // namespace karmad
