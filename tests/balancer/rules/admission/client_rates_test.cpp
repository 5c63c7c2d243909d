#include "balancer/rules/admission/rate_gates.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace karmad {
namespace {

using namespace std::chrono_literals;
constexpr TimePoint kStart{Micros(1'000'000'000)};

/// A token a second, two of them at once.
BucketRule two_at_once() {
  return BucketRule::of(1, 2);
}

int let_in(ClientRates& rates, const IpAddress& client, TimePoint now = kStart) {
  int taken = 0;
  while (taken < 10 && !rates.take(client, now)) ++taken;
  return taken;
}

TEST(ClientRates, GiveEveryClientABucketOfItsOwn) {
  ClientRates rates;
  rates.change(two_at_once(), 100, kStart);
  EXPECT_EQ(let_in(rates, IpAddress::v4(1)), 2);
  EXPECT_EQ(let_in(rates, IpAddress::v4(2)), 2);
  EXPECT_EQ(rates.take(IpAddress::v4(1), kStart).value(), 1s);
  EXPECT_EQ(let_in(rates, IpAddress::v4(1), kStart + 1s), 1);
  const auto counts = rates.counts();
  EXPECT_EQ(counts.successful, 5u);
  EXPECT_EQ(counts.rejected, 4u);
  EXPECT_EQ(counts.remembered, 2u);
  EXPECT_EQ(counts.forgotten, 0u);
}

TEST(ClientRates, TakeA64OfIPv6ForOneClient) {
  ClientRates rates;
  rates.change(two_at_once(), 100, kStart);
  const IpAddress one{0x20010db800000001, 1};
  EXPECT_EQ(let_in(rates, one), 2);
  EXPECT_EQ(let_in(rates, {one.high, 99}), 0);
  EXPECT_EQ(let_in(rates, {one.high + 1, 1}), 2);
}

TEST(ClientRates, ForgetWhoAskedLeastRecently) {
  ClientRates rates;
  rates.change(two_at_once(), 2, kStart);
  EXPECT_EQ(let_in(rates, IpAddress::v4(1)), 2);
  EXPECT_EQ(let_in(rates, IpAddress::v4(2)), 2);
  EXPECT_EQ(let_in(rates, IpAddress::v4(1)), 0);  // refused ones have asked, too
  EXPECT_EQ(let_in(rates, IpAddress::v4(3)), 2);
  EXPECT_EQ(let_in(rates, IpAddress::v4(1)), 0) << "remembered";
  EXPECT_EQ(let_in(rates, IpAddress::v4(2)), 2) << "forgotten";
  EXPECT_EQ(rates.counts().forgotten, 2u);
  EXPECT_EQ(rates.counts().remembered, 2u);
}

TEST(ClientRates, RememberSoManyAndNoMore) {
  for (const std::size_t room : {1u, 63u, 64u, 127u, 128u, 1000u, 5000u}) {
    ClientRates rates(7);
    rates.change(two_at_once(), room, kStart);
    for (std::uint32_t i = 0; i < 20'000; ++i) rates.take(IpAddress::v4(i % 10'007), kStart);
    EXPECT_EQ(rates.counts().remembered, room);
    EXPECT_EQ(rates.counts().successful + rates.counts().rejected, 20'000u);
  }
}

TEST(ClientRates, KeepTheirTokensWhenTheRuleOrTheRoomChanges) {
  ClientRates rates;
  rates.change(two_at_once(), 3, kStart);
  for (std::uint32_t i = 1; i <= 3; ++i) EXPECT_EQ(let_in(rates, IpAddress::v4(i)), 2);
  rates.change(BucketRule::of(10, 1), 2, kStart);
  EXPECT_EQ(rates.counts().remembered, 2u);
  EXPECT_EQ(let_in(rates, IpAddress::v4(3)), 0);
  EXPECT_EQ(let_in(rates, IpAddress::v4(2)), 0);
  EXPECT_EQ(let_in(rates, IpAddress::v4(2), kStart + 200ms), 2);
  EXPECT_EQ(let_in(rates, IpAddress::v4(1)), 10) << "there was no room for it any more";
  rates.change({}, 2, kStart);
  EXPECT_EQ(rates.counts().remembered, 0u);
  EXPECT_EQ(let_in(rates, IpAddress::v4(2)), 10) << "without a limit";
}

TEST(ClientRates, GiveManyThreadsNoTokenTwice) {
  constexpr std::uint32_t kClients = 50;
  ClientRates rates(42);
  rates.change(BucketRule::of(1, 100), 10'000, kStart);
  std::atomic<int> taken{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (std::uint32_t i = 0; i < 10'000; ++i)
        if (!rates.take(IpAddress::v4(i % kClients), kStart)) ++taken;
    });
  for (int i = 0; i < 100; ++i) rates.change(BucketRule::of(1, 100), 10'000, kStart);
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(taken.load(), 100 * static_cast<int>(kClients));
}

}  // namespace
}  // namespace karmad
