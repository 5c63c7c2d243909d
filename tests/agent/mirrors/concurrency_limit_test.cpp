// Per-mirror concurrency (`max_in_flight = auto`): the gradient by itself, with given values.
#include "agent/health/concurrency_limit.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace karmad {
namespace {

using namespace std::chrono_literals;

constexpr Micros kStep = 100ms;

/// A limit that gets a window every 100 ms.
struct Fed {
  ConcurrencyLimit limit;
  TimePoint now{1h};

  explicit Fed(const ConcurrencyRules& rules = {}) : limit(rules) {}

  unsigned window(Micros mean, std::uint32_t peak, std::uint32_t dropped = 0,
                  std::uint32_t answers = 20) {
    now += kStep;
    return limit.on_window({.mean = mean, .answers = answers, .dropped = dropped, .peak = peak},
                           now);
  }
  /// Runs this number of windows in which the whole limit is in use.
  unsigned full(unsigned windows, Micros mean, std::uint32_t dropped = 0) {
    for (; windows > 0; --windows) window(mean, limit.limit(), dropped);
    return limit.limit();
  }
  /// The baseline is known: 10 ms.
  Fed& begun() {
    for (int i = 0; i < 4; ++i) window(10ms, limit.limit());
    return *this;
  }
};

TEST(ConcurrencyLimit, BeginsWithTheLeastUntilABaselineIsKnown) {
  Fed fed;
  EXPECT_EQ(fed.limit.limit(), 4u);
  EXPECT_FALSE(fed.limit.baseline());
  EXPECT_EQ(fed.window(30ms, 9), 4u) << "more were in flight: that is no quiet agent";
  EXPECT_EQ(fed.window(5ms, 4), 4u) << "of these some came before";
  EXPECT_EQ(fed.window(30ms, 4), 4u);
  EXPECT_EQ(fed.window(12ms, 4), 4u);
  EXPECT_EQ(fed.window(14ms, 4), 20u);
  EXPECT_EQ(fed.limit.baseline(), 12ms) << "a stall does not count";
}

TEST(ConcurrencyLimit, WithoutAnyQuietTheLatestLatencyIsTheBaseline) {
  Fed fed;
  for (int i = 0; i < 21; ++i) fed.window(10ms, 50);
  EXPECT_EQ(fed.limit.baseline(), 10ms);
}

// gradient2: new = old · gradient + slack, smoothed by 0.2.
TEST(ConcurrencyLimit, GoesWhereTheGradientPoints) {
  const struct {
    Micros latency;
    std::uint32_t peak;
    std::uint32_t dropped;
    unsigned limit;  // from 100, within 1 to 1000
  } cases[] = {
      {10ms, 100, 0, 100},                       // as fast as a quiet agent: 100 + 4 · 0.2
      {15ms, 100, 0, 100},                       // within the tolerance
      {20ms, 100, 0, 95},                        // gradient 0.75: 79 wanted, 0.2 of the way
      {30ms, 100, 0, 90},                        // gradient 0.5: 54 wanted
      {90ms, 100, 0, 90},                        // never less than half at a time
      {10ms, 49, 0, 100},                        // not in use: proves nothing
      {90ms, 49, 0, 100},  {10ms, 100, 20, 90},  // half of all dropped: 50 wanted, without slack
      {10ms, 10, 20, 90},                        // which also few in flight can show
      {10ms, 100, 2, 98},                        // 1 of 11
  };
  for (const auto& c : cases) {
    Fed fed({.least = 1, .most = 1000, .initial = 100});
    fed.begun();
    EXPECT_EQ(fed.window(c.latency, c.peak, c.dropped), c.limit)
        << c.latency.count() << " us, peak " << c.peak << ", dropped " << c.dropped;
  }
}

TEST(ConcurrencyLimit, OnlyDropsCountWhenNothingWasAnswered) {
  Fed fed({.least = 1, .most = 1000, .initial = 100});
  fed.begun();
  EXPECT_EQ(fed.window(0ms, 100, 10, 0), 90u);
  EXPECT_EQ(fed.window(0ms, 100, 0, 0), 90u);
}

TEST(ConcurrencyLimit, FallsWhenLatencyDoublesAndRecovers) {
  Fed fed;
  fed.begun();
  const auto before = fed.full(50, 10ms);
  EXPECT_GT(before, 50u);
  // 20 ms for any limit. Then limit · 0.75 + 4 = limit at 16.
  const auto slow = fed.full(100, 20ms);
  EXPECT_NEAR(slow, 16, 2);
  EXPECT_GT(fed.full(50, 10ms), 50u);
}

TEST(ConcurrencyLimit, StaysWithinItsBounds) {
  Fed fed({.least = 7, .most = 31});
  fed.begun();
  for (int i = 0; i < 200; ++i) ASSERT_LE(fed.full(1, 1ms), 31u);
  EXPECT_EQ(fed.limit.settled(), 31u);
  for (int i = 0; i < 200; ++i) ASSERT_GE(fed.full(1, 900ms, 20), 7u);
  EXPECT_EQ(fed.limit.settled(), 7u);
  fed.limit.rules({.least = 9, .most = 12});
  EXPECT_EQ(fed.limit.limit(), 9u);
  EXPECT_TRUE(fed.limit.baseline());
}

TEST(ConcurrencyLimit, ALimitThatIsNotInUseDoesNotGrow) {
  Fed fed;
  fed.begun();
  for (int i = 0; i < 1000; ++i) fed.window(10ms, 9);
  EXPECT_EQ(fed.limit.limit(), 20u);
}

TEST(ConcurrencyLimit, LearnsWhatAQuietAgentTakesOverAMinute) {
  Fed fed;
  fed.begun();
  for (int i = 0; i < 600; ++i) fed.window(20ms, 3);
  EXPECT_GT(*fed.limit.baseline(), 18ms);
  for (int i = 0; i < 30; ++i) fed.window(9ms, 3);
  EXPECT_LT(*fed.limit.baseline(), 18ms) << "and faster, when it is less than half of that";
}

/// A server that works on `places` at a time, each for `service`, and always has more to do than
/// the limit lets in.
struct Server {
  unsigned places;
  Micros service;
  Micros latency(unsigned in_flight) const {
    return Micros{service.count() * std::max(in_flight, places) / places};
  }
};

// The reason for measuring anew: an average of everything would drift, and the limit with it.
TEST(ConcurrencyLimit, UnderLastingOverloadStaysNearTheCapacity) {
  for (const unsigned places : {4u, 8u, 32u, 100u}) {
    Fed fed;
    const Server server{places, 10ms};
    unsigned highest = 0;
    for (int i = 0; i < 36'000; ++i) {  // an hour
      const auto in_flight = fed.limit.limit();
      fed.window(server.latency(in_flight), in_flight);
      highest = std::max(highest, fed.limit.settled());
    }
    EXPECT_GE(fed.limit.settled(), places);
    EXPECT_LE(highest, std::max(20u, places * 3 / 2 + 5)) << places;
  }
}

TEST(ConcurrencyLimit, FollowsAServerThatBecameSlowerForGood) {
  Fed fed;
  Server server{32, 10ms};
  const auto minutes = [&](int many) {
    for (int i = 0; i < 600 * many; ++i)
      fed.window(server.latency(fed.limit.limit()), fed.limit.limit());
  };
  minutes(2);
  server.service = 30ms;
  minutes(2);
  EXPECT_NEAR(fed.limit.settled(), 52, 6);
  server.places = 16;
  minutes(2);
  EXPECT_NEAR(fed.limit.settled(), 28, 6);
}

TEST(ConcurrencyLimit, MeasuringAnewLowersTheLimitForFourWindows) {
  Fed fed;
  fed.begun();
  unsigned lowered = 0;
  for (int i = 0; i < 3000; ++i) {  // five minutes
    fed.window(10ms, fed.limit.limit());
    lowered += fed.limit.limit() < fed.limit.settled() ? 1 : 0;
  }
  EXPECT_EQ(lowered, 4u * 9);
}

TEST(ConcurrencyLimit, AnAgentThatNeverGetsQuietIsMeasuredForAMomentOnly) {
  Fed fed;
  fed.begun();
  fed.full(301, 10ms);
  ASSERT_LT(fed.limit.limit(), fed.limit.settled());
  for (int i = 0; i < 20; ++i) fed.window(50ms, 150);
  EXPECT_EQ(fed.limit.limit(), fed.limit.settled());
  EXPECT_EQ(fed.limit.baseline(), 10ms);
}

}  // namespace
}  // namespace karmad
