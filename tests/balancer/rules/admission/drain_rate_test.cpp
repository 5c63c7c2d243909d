#include "balancer/rules/admission/queue_discipline.hpp"

#include <gtest/gtest.h>

namespace karmad {
namespace {

using namespace std::chrono_literals;

/// A pool that is measured every 100 ms.
struct Draining {
  void looks(int count, std::uint64_t served_each, bool busy = true) {
    for (int i = 0; i < count; ++i) rate.sample(finished += served_each, busy, now += 100ms);
  }
  DrainRate rate;
  TimePoint now{1h};
  std::uint64_t finished = 1'000'000;
};

// BP-015: Retry-After is the queue's length by the number served per second, whole seconds, 1 to
// 30.
TEST(DrainRate, IsTheLengthOfTheQueueDividedByTheServiceRate) {
  const struct {
    std::uint64_t served;  // in 100 ms
    std::uint64_t waiting;
    std::chrono::seconds wait;
  } cases[] = {{10, 0, 1s},     {10, 98, 1s},      {10, 100, 2s},      {10, 1490, 15s},
               {10, 1500, 16s}, {10, 2950, 30s},   {10, 100'000, 30s}, {1, 72, 8s},
               {100, 72, 1s},   {1000, ~0ull, 30s}};
  for (const auto& c : cases) {
    Draining pool;
    pool.looks(50, c.served);
    EXPECT_EQ(pool.rate.wait(c.waiting), c.wait) << c.served << ' ' << c.waiting;
  }
}

TEST(DrainRate, SaysASecondWhileNothingIsKnown) {
  Draining pool;
  EXPECT_EQ(pool.rate.wait(1000), 1s);
  pool.looks(50, 3, false);
  EXPECT_EQ(pool.rate.wait(1000), 1s) << "who has little to do is not slow";
}

TEST(DrainRate, ForgetsNothingWhileThereIsLessToDo) {
  Draining pool;
  pool.looks(50, 10);
  pool.looks(50, 1, false);
  pool.looks(1, 1);
  EXPECT_EQ(pool.rate.wait(490), 5s);
}

TEST(DrainRate, GrowsWhileNothingComesBack) {
  Draining pool;
  pool.looks(2, 0);
  EXPECT_EQ(pool.rate.wait(9), 1s) << "it was a tenth of a second";
  pool.looks(10, 0);
  EXPECT_EQ(pool.rate.wait(9), 10s);
  pool.looks(100, 0);
  EXPECT_EQ(pool.rate.wait(9), 30s);
}

TEST(DrainRate, FollowsWhatChanges) {
  Draining pool;
  pool.looks(50, 10);
  pool.looks(150, 1);
  EXPECT_EQ(pool.rate.wait(99), 8s) << "a tenth of the speed; it was 1 s";
}

}  // namespace
}  // namespace karmad
