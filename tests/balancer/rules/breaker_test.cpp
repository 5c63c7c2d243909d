#include "balancer/rules/breaker.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

namespace karmad {
namespace {

using namespace std::chrono_literals;

constexpr auto kRead = Operation::read;
constexpr auto kWrite = Operation::write;

TimePoint at(Micros time) {
  return TimePoint{100h + time};
}

void fail(Breaker& breaker, std::size_t mirror, unsigned times, Operation operation = kRead,
          TimePoint now = at(0s)) {
  for (unsigned i = 0; i < times; ++i) breaker.failed(mirror, operation, now);
}

Candidates only(std::size_t mirror) {
  Candidates one;
  one.insert(mirror);
  return one;
}

TEST(Breaker, TripsOnTheEleventhFailedReadAndTheSixthFailedWrite) {  // CO-090
  Breaker breaker{3, {}};
  fail(breaker, 0, 10);
  fail(breaker, 1, 5, kWrite);
  EXPECT_TRUE(breaker.tripped(at(0s)).empty());
  fail(breaker, 0, 1);
  EXPECT_EQ(breaker.tripped(at(0s)), only(0));
  fail(breaker, 1, 1, kWrite);
  EXPECT_EQ(breaker.tripped(at(0s)), Candidates::first(2));
}

TEST(Breaker, CountsReadsAndWritesApart) {  // CO-090
  Breaker breaker{2, {}};
  fail(breaker, 0, 10);
  fail(breaker, 0, 5, kWrite);
  EXPECT_FALSE(breaker.is_tripped(0, at(0s)));
  breaker.succeeded(0, kRead, at(0s));
  fail(breaker, 0, 1, kWrite);
  EXPECT_TRUE(breaker.is_tripped(0, at(0s))) << "a read that succeeds says nothing of writes";
}

TEST(Breaker, RestartsWhenTheLastFailureIsOlderThanTheWindow) {  // CO-090
  Breaker breaker{2, {}};
  fail(breaker, 0, 10);
  breaker.failed(0, kRead, at(5min));  // not more than the window: the eleventh
  EXPECT_TRUE(breaker.is_tripped(0, at(5min)));
  EXPECT_TRUE(breaker.is_tripped(0, at(10min)));
  EXPECT_FALSE(breaker.is_tripped(0, at(10min) + 1us));
  breaker.failed(0, kRead, at(11min));  // the first again
  fail(breaker, 0, 9, kRead, at(11min));
  EXPECT_FALSE(breaker.is_tripped(0, at(11min)));
  fail(breaker, 0, 1, kRead, at(11min));
  EXPECT_TRUE(breaker.is_tripped(0, at(11min)));
}

TEST(Breaker, RestartsWithASuccess) {
  Breaker breaker{2, {}};
  fail(breaker, 0, 10);
  breaker.succeeded(0, kRead, at(0s));
  fail(breaker, 0, 10);
  EXPECT_FALSE(breaker.is_tripped(0, at(0s)));
}

TEST(Breaker, IsClosedByTheFirstSuccess) {  // CO-092
  for (const auto tripped_by : {kRead, kWrite}) {
    Breaker breaker{2, {}};
    fail(breaker, 0, 11, tripped_by);
    breaker.succeeded(0, kRead, at(1s));
    EXPECT_FALSE(breaker.is_tripped(0, at(1s)));
    breaker.failed(0, tripped_by, at(2s));
    EXPECT_FALSE(breaker.is_tripped(0, at(2s))) << "the counts began anew";
  }
}

TEST(Breaker, LetsOneProbeThroughPerInterval) {  // CO-092
  Breaker breaker{2, {.probe_every = 1s}};
  fail(breaker, 1, 11);
  EXPECT_EQ(breaker.try_probe(at(999ms)), std::nullopt);
  EXPECT_EQ(breaker.try_probe(at(1s)), 1U);
  EXPECT_EQ(breaker.try_probe(at(1s)), std::nullopt) << "another request has it";
  breaker.failed(1, kRead, at(1s));
  EXPECT_TRUE(breaker.is_tripped(1, at(1500ms)));
  EXPECT_EQ(breaker.try_probe(at(1999ms)), std::nullopt);
  EXPECT_EQ(breaker.try_probe(at(2s)), 1U);
  breaker.succeeded(1, kRead, at(2s));
  EXPECT_TRUE(breaker.tripped(at(2s)).empty());
  EXPECT_EQ(breaker.try_probe(at(4s)), std::nullopt) << "it is closed";
}

TEST(Breaker, ProbesEachMirrorThatIsDue) {
  Breaker breaker{3, {.probe_every = 1s}};
  fail(breaker, 0, 11);
  fail(breaker, 2, 11);
  EXPECT_EQ(breaker.try_probe(at(1s)), 0U);
  EXPECT_EQ(breaker.try_probe(at(1s)), 2U);
  EXPECT_EQ(breaker.try_probe(at(1s)), std::nullopt);
}

TEST(Breaker, NeverTripsTheLastMirror) {  // CO-091
  Breaker breaker{2, {}};
  fail(breaker, 0, 11);
  EXPECT_EQ(breaker.tripped(at(0s)), only(0));
  fail(breaker, 1, 11);
  EXPECT_TRUE(breaker.tripped(at(0s)).empty()) << "all failed: no mirror is avoided";
  breaker.succeeded(0, kRead, at(0s));
  EXPECT_EQ(breaker.tripped(at(0s)), only(1));
  Breaker alone{1, {}};
  fail(alone, 0, 100);
  EXPECT_TRUE(alone.tripped(at(0s)).empty());
  EXPECT_TRUE(but_never_all({}, {}).empty());
}

TEST(Breaker, MayTolerateNothing) {
  Breaker breaker{2, {.reads = 0}};
  EXPECT_TRUE(breaker.tripped(at(0s)).empty());
  breaker.failed(0, kRead, at(0s));
  EXPECT_EQ(breaker.tripped(at(0s)), only(0));
}

TEST(Breaker, TakesTimesThatAreALittleOutOfOrder) {
  Breaker breaker{2, {}};
  for (int i = 0; i < 11; ++i) breaker.failed(0, kRead, at(i % 2 == 0 ? 1ms : 0ms));
  EXPECT_TRUE(breaker.is_tripped(0, at(0ms)));
  EXPECT_TRUE(breaker.is_tripped(0, at(1ms)));
}

TEST(Breaker, IsSharedByAllWorkers) {
  constexpr int kRounds = 2000;
  Breaker breaker{4, {.probe_every = 1s}};
  std::array<std::atomic<int>, 4> probes{};
  std::array<std::thread, 4> workers;
  for (std::size_t w = 0; w < workers.size(); ++w)
    workers[w] = std::thread([&, w] {
      for (int i = 0; i < kRounds; ++i) {
        const auto now = at(i * 1ms);
        breaker.failed(0, kRead, now);
        breaker.failed(1 + w % 3, w % 2 == 0 ? kRead : kWrite, now);
        if (i % 7 == 0) breaker.succeeded(1 + (w + 1) % 3, kRead, now);
        if (const auto mirror = breaker.try_probe(now)) ++probes[*mirror];
        EXPECT_LT(breaker.tripped(now).size(), 4U);
      }
    });
  for (auto& worker : workers) worker.join();
  EXPECT_TRUE(breaker.is_tripped(0, at(kRounds * 1ms)));
  EXPECT_GE(probes[0], 1) << "two seconds with a probe each";
  EXPECT_LE(probes[0], 8) << "a worker far behind may have one of its own";
}

}  // namespace
}  // namespace karmad
