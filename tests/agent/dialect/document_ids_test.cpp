// The numbers that documents without an id get.
#include "agent/dialect/request/document_ids.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>
#include <vector>

namespace karmad {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::sys_days k2020{std::chrono::year{2020} / 1 / 1};

TEST(DocumentIds, AreTheMillisecondsSince2020AndTheNumberOfTheProcess) {
  DocumentIds ids;
  ids.set_process(5);
  EXPECT_EQ(ids.next(k2020 + 1ms), (std::uint64_t{1} << 22) + 5);
  EXPECT_EQ(ids.next(k2020 + 7ms + 999us), (std::uint64_t{7} << 22) + 5);
}

TEST(DocumentIds, OfOneMillisecondOrOfAnEarlierOneFollowTheLast) {
  DocumentIds ids;
  ids.set_process(5);
  const auto first = ids.next(k2020 + 9ms);
  EXPECT_EQ(ids.next(k2020 + 9ms), first + 1);
  EXPECT_EQ(ids.next(k2020 + 1ms), first + 2);  // the clock was set back
  EXPECT_EQ(ids.next(k2020 + 10ms), (std::uint64_t{10} << 22) + 5);
}

TEST(DocumentIds, ArePositiveAndDifferentAtAnyTime) {
  DocumentIds ids;
  std::set<std::uint64_t> all;
  for (const int year : {1990, 2020, 2220, 2221, 2020}) {
    const std::chrono::sys_days now{std::chrono::year{year} / 1 / 1};
    all.insert(ids.next(now));
  }
  EXPECT_EQ(all.size(), 5u);
  EXPECT_GT(*all.begin(), 0u);
  EXPECT_LT(*all.rbegin(), std::uint64_t{1} << 63);
}

TEST(DocumentIds, OfAllThreadsDiffer) {
  constexpr std::size_t kEach = 20'000;
  DocumentIds ids;
  std::vector<std::vector<std::uint64_t>> made(4);
  std::vector<std::jthread> threads;
  for (auto& own : made)
    threads.emplace_back([&ids, &own] {
      for (std::size_t i = 0; i < kEach; ++i)
        own.push_back(ids.next(k2020 + std::chrono::microseconds(i)));
    });
  threads.clear();
  std::vector<std::uint64_t> all;
  for (const auto& own : made) {
    EXPECT_TRUE(std::ranges::is_sorted(own));
    all.insert(all.end(), own.begin(), own.end());
  }
  std::ranges::sort(all);
  EXPECT_EQ(all.size(), made.size() * kEach);
  EXPECT_EQ(std::ranges::adjacent_find(all), all.end());
}

TEST(DocumentIds, OfTwoProcessesDifferWhileNeitherMakesMoreInAMillisecondThanTheirNumbersDiffer) {
  DocumentIds one;
  DocumentIds other;
  one.set_process(1000);
  other.set_process(1100);
  std::set<std::uint64_t> all;
  for (int ms = 1; ms <= 20; ++ms)
    for (int i = 0; i < 100; ++i) {
      all.insert(one.next(k2020 + ms * 1ms));
      all.insert(other.next(k2020 + ms * 1ms));
    }
  EXPECT_EQ(all.size(), 4000u);
}

}  // namespace
}  // namespace karmad
