#include "agent/transport/loop/memory_limit.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace karmad {
namespace {

constexpr std::uint64_t kMega = 1 << 20;
constexpr std::uint64_t kLimit = 100 * kMega;

TEST(JudgeMemory, RefusesNewWorkNearTheLimitAndKeepsWithinIt) {
  using enum MemoryVerdict;
  const struct {
    const char* what;
    std::uint64_t limit;
    std::uint64_t used;
    std::uint64_t held;
    std::uint64_t wanted;
    MemoryVerdict verdict;
  } cases[] = {
      {"there is room", kLimit, 10 * kMega, 0, kMega, granted},
      {"no limit", 0, 500 * kMega, 0, 100 * kMega, granted},
      {"nothing more is wanted", kLimit, 100 * kMega, kMega, kMega, granted},
      {"new and large, above nine tenths", kLimit, 90 * kMega, 0, kMega, refused},
      {"small, above nine tenths", kLimit, 90 * kMega, 0, kSmallRequest, granted},
      {"small, and becomes large", kLimit, 90 * kMega, kSmallRequest, 2 * kSmallRequest, refused},
      {"large already", kLimit, 90 * kMega, 10 * kMega, 12 * kMega, granted},
      {"up to the limit", kLimit, 90 * kMega, 10 * kMega, 20 * kMega, granted},
      {"one byte beyond", kLimit, 90 * kMega, 10 * kMega, 20 * kMega + 1, over_limit},
      {"small, beyond the limit", kLimit, 100 * kMega, 0, kSmallRequest, over_limit},
      {"becomes large, beyond the limit", kLimit, 100 * kMega, kSmallRequest, kMega, refused},
      {"new and large, beyond the limit", kLimit, 100 * kMega, 0, kMega, refused},
  };
  for (const auto& c : cases)
    EXPECT_EQ(judge_memory(c.limit, c.used, c.held, c.wanted), c.verdict) << c.what;
}

struct Request final : MemoryHolder {
  explicit Request(MemoryLedger& ledger) : MemoryHolder(ledger) {}
  void on_denied(MemoryDenial why) override {
    told = why;
    ++times_told;
  }
  bool idle() const override { return is_idle; }
  MemoryGrant asks_for(std::uint64_t bytes) { return buffer.resize(this, bytes); }
  bool hold(std::uint64_t bytes) { return asks_for(bytes) == MemoryGrant::granted; }

  MemoryDenial told = MemoryDenial::none;
  int times_told = 0;
  bool is_idle = false;
  MemoryReservation buffer;
};

struct MemoryLimitTest : testing::Test {
  MemoryLimitTest() {
    process.limit(kLimit);
    ledger.join(process);
  }
  MemoryLimit process;
  MemoryLedger ledger;
};

// What is kept for later must not make new requests fail.
TEST_F(MemoryLimitTest, EndsIdleHoldersBeforeARequestIsRefused) {
  Request large(ledger);
  Request small(ledger);
  Request busy(ledger);
  EXPECT_TRUE(busy.hold(50 * kMega));
  EXPECT_TRUE(small.hold(15 * kMega));
  EXPECT_TRUE(large.hold(25 * kMega));
  small.is_idle = large.is_idle = true;
  Request asker(ledger);
  EXPECT_TRUE(asker.admits(10 * kMega));
  EXPECT_EQ(large.times_told, 1);
  EXPECT_EQ(large.told, MemoryDenial::given_up);
  EXPECT_EQ(small.times_told, 0) << "the largest makes room enough";
  EXPECT_EQ(asker.asks_for(10 * kMega), MemoryGrant::granted);
  EXPECT_EQ(asker.asks_for(15 * kMega), MemoryGrant::later) << "until the memory is released";
  large.buffer.release();
  EXPECT_TRUE(asker.hold(15 * kMega));

  Request other(ledger);
  EXPECT_TRUE(other.hold(9 * kMega));
  EXPECT_EQ(small.times_told, 0);
  Request last(ledger);
  EXPECT_FALSE(last.admits(20 * kMega));
  EXPECT_EQ(small.times_told, 0) << "it would not be enough";
  EXPECT_EQ(asker.asks_for(30 * kMega), MemoryGrant::later);
  EXPECT_EQ(small.times_told, 1) << "beyond the limit: the idle one, not the largest";
  EXPECT_EQ(busy.times_told, 0);
}

TEST_F(MemoryLimitTest, CountsWhatIsHeldAndForgetsWhatIsReleased) {
  Request one(ledger);
  Request other(ledger);
  EXPECT_TRUE(one.hold(10 * kMega));
  EXPECT_TRUE(other.hold(5 * kMega));
  EXPECT_TRUE(one.hold(7 * kMega));
  EXPECT_EQ(process.used(), 12 * kMega);
  MemoryReservation moved(std::move(one.buffer));
  one.buffer = std::move(other.buffer);
  EXPECT_EQ(process.used(), 12 * kMega);
  moved.release();
  moved.release();
  EXPECT_EQ(process.used(), 5 * kMega);
  one.buffer = {};
  EXPECT_EQ(process.used(), 0U);
  EXPECT_EQ(process.peak(), 15 * kMega);
}

TEST_F(MemoryLimitTest, DoesNotReportSmallBuffersToTheProcess) {
  Request small(ledger);
  EXPECT_TRUE(small.hold(kUncountedBuffer));
  EXPECT_EQ(small.held(), 0U);
  EXPECT_TRUE(small.hold(60 << 10));
  EXPECT_EQ(small.held(), 60U << 10);
  EXPECT_EQ(process.used(), 0U) << "not worth a step";
  EXPECT_TRUE(small.hold(64 << 10));
  EXPECT_EQ(process.used(), 64U << 10);
}

TEST_F(MemoryLimitTest, CancelsTheLargestRequestAndCountsItsMemoryAsReleased) {
  Request large(ledger);
  Request medium(ledger);
  Request asks(ledger);
  ASSERT_TRUE(asks.hold(200 << 10));
  ASSERT_TRUE(large.hold(60 * kMega));
  ASSERT_TRUE(medium.hold(29 * kMega));
  EXPECT_TRUE(asks.hold(10 * kMega));
  EXPECT_EQ(asks.asks_for(12 * kMega), MemoryGrant::later);
  EXPECT_EQ(large.told, MemoryDenial::given_up);
  EXPECT_EQ(asks.asks_for(20 * kMega), MemoryGrant::later) << "it is enough for this, too";
  EXPECT_EQ(process.used(), 99 * kMega);
  EXPECT_EQ(medium.told, MemoryDenial::none);
  EXPECT_EQ(large.times_told, 1);
  EXPECT_FALSE(large.hold(61 * kMega)) << "it gets nothing more";
  large.buffer.release();
  EXPECT_TRUE(asks.hold(20 * kMega));
  EXPECT_EQ(process.used(), 49 * kMega);
  EXPECT_FALSE(large.hold(kMega));
  large.forgive();
  EXPECT_TRUE(large.hold(kMega)) << "the next request on the connection";
}

TEST_F(MemoryLimitTest, TheRequestThatAsksIsCancelledIfItIsTheLargest) {
  Request small(ledger);
  Request asks(ledger);
  ASSERT_TRUE(small.hold(20 * kMega));
  ASSERT_TRUE(asks.hold(70 * kMega));
  EXPECT_FALSE(asks.hold(81 * kMega));
  EXPECT_EQ(asks.told, MemoryDenial::given_up);
  EXPECT_EQ(asks.held(), 70 * kMega) << "until it releases it";
  EXPECT_EQ(small.told, MemoryDenial::none);
}

TEST_F(MemoryLimitTest, ExistingBuffersAreCountedAboveTheLimitToo) {
  Request large(ledger);
  ASSERT_TRUE(large.hold(60 * kMega));
  large.buffer.charge(&large, 120 * kMega);
  EXPECT_EQ(large.told, MemoryDenial::given_up);
  EXPECT_EQ(process.used(), 120 * kMega);
}

TEST_F(MemoryLimitTest, NewWorkIsRefusedBeforeItHoldsAnything) {
  Request large(ledger);
  Request next(ledger);
  ASSERT_TRUE(large.hold(kMega));
  ASSERT_TRUE(large.hold(91 * kMega));
  EXPECT_TRUE(next.admits(kSmallRequest));
  EXPECT_FALSE(next.admits(kMega));
  EXPECT_EQ(next.told, MemoryDenial::refused);
  EXPECT_EQ(large.told, MemoryDenial::none);
  large.buffer.release();
  next.forgive();
  EXPECT_TRUE(next.admits(kMega));
}

TEST_F(MemoryLimitTest, IsOneForAllWorkers) {
  constexpr int kRounds = 2000;
  std::vector<std::thread> workers;
  for (int i = 0; i < 3; ++i)
    workers.emplace_back([this] {
      MemoryLedger mine;
      mine.join(process);
      for (int round = 0; round < kRounds; ++round) {
        Request request(mine);
        request.hold((20U + static_cast<unsigned>(round) % 1000) << 10);
      }
    });
  for (auto& worker : workers) worker.join();
  EXPECT_EQ(process.used(), 0U);
  EXPECT_LE(process.peak(), kLimit);
  Request here(ledger);
  MemoryLedger other;
  other.join(process);
  Request there(other);
  ASSERT_TRUE(here.hold(kMega));
  ASSERT_TRUE(here.hold(91 * kMega));
  EXPECT_FALSE(there.hold(kMega));
  EXPECT_EQ(there.told, MemoryDenial::refused);
}

TEST(MemoryLedger, WithoutAProcessDeniesNothing) {
  MemoryLedger alone;
  Request request(alone);
  EXPECT_TRUE(request.hold(std::uint64_t{1} << 40));
  MemoryReservation of_nobody;
  EXPECT_EQ(of_nobody.resize(nullptr, kMega), MemoryGrant::granted);
  EXPECT_EQ(of_nobody.bytes(), 0U);
}

}  // namespace
}  // namespace karmad
