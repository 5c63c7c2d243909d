#include "agent/transport/loop/buffers.hpp"

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

TEST(Buffers, ASmallRequestDoesNotTakeALargeBuffer) {
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

TEST(Buffers, KeepLargeOnesUpToASum) {
  Buffers buffers(kKeepUpTo);
  buffers.keep_at_most(1 << 20);
  std::vector<std::string> taken;
  for (int i = 0; i < 6; ++i) taken.push_back(buffers.take(300'000));
  for (auto& buffer : taken) buffers.give(std::move(buffer));
  std::size_t kept = 0;
  for (int i = 0; i < 6; ++i) {
    taken[i] = buffers.take(200'000);
    if (taken[i].capacity() >= 300'000) kept += taken[i].capacity();
  }
  EXPECT_GE(kept, 900'000U);
  EXPECT_LE(kept, 1U << 20);
}

TEST(NextRoom, LeavesAQuarterOfALargeBufferUnusedAtMost) {
  std::size_t room = 8191;
  for (std::size_t needed = 10'000; needed < 500'000'000; needed += 8192) {
    const auto next = next_room(room, needed, 1 << 30);
    EXPECT_GE(next, needed);
    if (needed > 2 << 20) {
      EXPECT_LE(next, needed + needed / 4);
    }
    room = next;
  }
}

TEST(NextRoom, EndsAtWhatIsKnownToCome) {
  EXPECT_EQ(next_room_of(40'000'000, 8191, 262'144), 262'144U);
  EXPECT_EQ(next_room_of(40'000'000, 1 << 20, 1'100'000), 2U << 20);
  EXPECT_EQ(next_room_of(40'000'000, 30'000'000, 30'000'001), 40'000'000U);
  EXPECT_EQ(next_room_of(40'000'000, 40'000'000, 40'000'000), 40'000'000U);
  EXPECT_EQ(next_room(36'000'000, 36'000'001, 40'000'000), 40'000'000U);
  EXPECT_EQ(next_room(36'000'000, 40'000'001, 40'000'000), 40'000'001U);
}

TEST(DropSpareRoom, KeepsTheBytesAndWhatIsSmall) {
  std::string bytes(3 << 20, 'x');
  bytes.reserve(9 << 20);
  drop_spare_room(bytes);
  EXPECT_EQ(bytes, std::string(3 << 20, 'x'));
  EXPECT_EQ(bytes.capacity(), 3U << 20);
  std::string small = "abc";
  small.reserve(500'000);
  drop_spare_room(small);
  EXPECT_GE(small.capacity(), 500'000U);
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

}  // namespace
}  // namespace karmad
