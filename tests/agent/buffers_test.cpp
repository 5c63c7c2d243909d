#include "agent/buffers.hpp"

#include <gtest/gtest.h>

namespace karmad {
namespace {

constexpr std::size_t kKeepUpTo = 1 << 20;

TEST(Buffers, AreEmptyAndHaveTheRoomThatWasAskedFor) {
  Buffers buffers(kKeepUpTo);
  for (const std::size_t room : {0u, 1u, 1000u, 8191u, 8192u, 500'000u, 5'000'000u})
    for (int again = 0; again < 3; ++again) {
      auto buffer = buffers.take(room);
      EXPECT_TRUE(buffer.empty());
      EXPECT_GE(buffer.capacity(), room);
      buffer.assign("left from before");
      buffers.give(std::move(buffer));
    }
}

TEST(Buffers, GiveTheSameMemoryAgain) {
  Buffers buffers(kKeepUpTo);
  for (const std::size_t room : {std::size_t{0}, std::size_t{300'000}}) {
    auto first = buffers.take(room);
    const auto* where = first.data();
    buffers.give(std::move(first));
    EXPECT_EQ(buffers.take(room).data(), where);
  }
}

TEST(Buffers, ASmallWishLeavesTheLargeOnesToThoseWhoNeedThem) {
  Buffers buffers(kKeepUpTo);
  auto large = buffers.take(300'000);
  auto small = buffers.take();
  const auto* where = large.data();
  buffers.give(std::move(large));
  buffers.give(std::move(small));
  EXPECT_NE(buffers.take().data(), where);
  EXPECT_EQ(buffers.take(200'000).data(), where);
}

TEST(Buffers, WhatGrewBeyondTheLimitIsFreed) {
  Buffers buffers(kKeepUpTo);
  auto huge = buffers.take();
  huge.resize(kKeepUpTo + 1);
  buffers.give(std::move(huge));
  EXPECT_EQ(huge.capacity(), std::string().capacity());  // NOLINT: emptied is the promise
  EXPECT_LE(buffers.take().capacity(), kKeepUpTo);
}

TEST(Buffers, AnEmptyOrMovedStringIsNoBuffer) {
  Buffers buffers(kKeepUpTo);
  buffers.give(std::string());
  buffers.give("short");
  EXPECT_GE(buffers.take().capacity(), Buffers::kSmall);
}

TEST(Buffers, KeepSoManyAndNoMore) {
  Buffers buffers(kKeepUpTo);
  std::vector<std::string> taken;
  for (int i = 0; i < 400; ++i) taken.push_back(buffers.take());
  for (auto& buffer : taken) buffers.give(std::move(buffer));  // those beyond are freed: see ASan
  for (int i = 0; i < 400; ++i) EXPECT_GE(buffers.take().capacity(), Buffers::kSmall);
}

TEST(Buffer, GoesBackByItselfOnceHoweverItIsMoved) {
  Buffers buffers(kKeepUpTo);
  const char* where = nullptr;
  {
    Buffer first(buffers);
    where = first->data();
    first->assign("x");
    Buffer second(std::move(first));
    EXPECT_EQ(*second, "x");
    Buffer third(buffers);
    third = std::move(second);
    EXPECT_EQ(*third, "x");
    EXPECT_EQ(third->data(), where);
  }
  const auto one = buffers.take();
  const auto two = buffers.take();
  const auto three = buffers.take();
  EXPECT_TRUE(one.data() == where || two.data() == where);
  EXPECT_NE(one.data(), two.data());
  EXPECT_NE(two.data(), three.data());
  EXPECT_TRUE(one.empty() && two.empty());
}

TEST(ResizeForReading, KeepsWhatIsThere) {
  std::string bytes = "abc";
  resize_for_reading(bytes, 100'000);
  EXPECT_EQ(bytes.size(), 100'000u);
  EXPECT_TRUE(bytes.starts_with("abc"));
  resize_for_reading(bytes, 2);
  EXPECT_EQ(bytes, "ab");
}

// Copying what is there takes time, so a large body is moved at most once.
TEST(Buffers, OfABodyThatIsReadGrowWithItUntilTheyGetEverythingAtOnce) {
  constexpr std::size_t kWhole = 64 << 20;
  constexpr std::size_t kStep = 128 << 10;
  std::string body;
  std::size_t largest_copied = 0;
  while (body.size() < kWhole) {
    const auto* before = body.data();
    const auto have = body.size();
    reserve_for_reading(body, kStep, kWhole);
    if (body.data() != before) largest_copied = have;
    if (have < kGrowsUpTo / 2) {
      EXPECT_LE(body.capacity(), 2 * kGrowsUpTo);
    }
    resize_for_reading(body, have + kStep);
  }
  EXPECT_LE(largest_copied, kGrowsUpTo);
}

}  // namespace
}  // namespace karmad
