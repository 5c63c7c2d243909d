#include "agent/transport/loop/thread_pool.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace karmad {
namespace {

constexpr std::size_t kMegabyte = 1'000'000;

/// Jobs are letters; what is taken is a text.
struct Queue {
  void put(char job, std::size_t bytes, std::uint64_t client = 1) {
    queue.put(letters[static_cast<std::size_t>(job - 'a')] = job, bytes, client);
  }
  std::string take(std::size_t most = 26, bool large_too = true) {
    std::string taken;
    while (taken.size() < most) {
      const auto* job = queue.take(large_too);
      if (job == nullptr) break;
      taken += *job;
    }
    return taken;
  }
  std::array<char, 26> letters{};
  LongWorkQueue<char> queue;
};

TEST(LongWorkQueue, IsInOrderForOneClient) {
  Queue q;
  for (const char job : std::string("abcde")) q.put(job, 14 * kMegabyte);
  EXPECT_EQ(q.take(), "abcde");
  EXPECT_TRUE(q.queue.empty());
}

TEST(LongWorkQueue, HasSmallWorkFirst) {
  Queue q;
  q.put('a', 14 * kMegabyte);
  q.put('b', 5 * kMegabyte, 2);
  q.put('c', 300'000);
  q.put('d', 400'000, 2);
  EXPECT_TRUE(q.queue.has(false));
  EXPECT_EQ(q.take(26, false), "dc") << "client 2 had less until then";
  EXPECT_FALSE(q.queue.has(false));
  EXPECT_TRUE(q.queue.has(true));
  EXPECT_EQ(q.take(), "ab");
}

TEST(LongWorkQueue, GivesEachClientItsShare) {
  Queue q;
  for (const char job : std::string("abcdef")) q.put(job, 14 * kMegabyte);
  EXPECT_EQ(q.take(2), "ab");
  for (const char job : std::string("uvw")) q.put(job, 14 * kMegabyte, 2);
  EXPECT_EQ(q.take(), "ucvdwef");
}

TEST(LongWorkQueue, CountsBytesAndNotPieces) {
  Queue q;
  for (const char job : std::string("ab")) q.put(job, 20 * kMegabyte);
  for (const char job : std::string("uvwxyz")) q.put(job, 5 * kMegabyte, 2);
  EXPECT_EQ(q.take(), "auvwxbyz");
}

TEST(LongWorkQueue, SavesNothingForAClientThatHadNoWork) {
  Queue q;
  for (const char job : std::string("abcd")) q.put(job, 14 * kMegabyte);
  EXPECT_EQ(q.take(3), "abc");
  q.put('u', 14 * kMegabyte, 2);
  q.put('v', 14 * kMegabyte, 2);
  EXPECT_EQ(q.take(), "udv") << "its share begins now";
}

TEST(LongWorkQueue, ForgetsWhatIsTakenBack) {
  Queue q;
  q.put('a', 50 * kMegabyte);
  q.put('b', 50 * kMegabyte);
  EXPECT_TRUE(q.queue.remove(q.letters[0]));
  EXPECT_FALSE(q.queue.remove(q.letters[0]));
  EXPECT_TRUE(q.queue.remove(q.letters[1]));
  q.put('c', 5 * kMegabyte);
  q.put('d', 5 * kMegabyte);
  q.put('u', 5 * kMegabyte, 2);
  EXPECT_EQ(q.take(), "cud");
}

// Many clients come and go while large work waits, and that work is taken back then.
TEST(LongWorkQueue, ForgetsNoMoreThanAClientHad) {
  Queue q;
  q.put('a', 14 * kMegabyte, 1);
  for (int i = 0; i < 5; ++i) q.put('z', 4 * kMegabyte, 2);
  EXPECT_EQ(q.take(26, false), "zzzzz");
  for (std::uint64_t client = 10; client < 1100; ++client) {
    q.put('y', 1, client);
    EXPECT_EQ(q.take(1, false), "y");
  }
  EXPECT_TRUE(q.queue.remove(q.letters[0]));
  q.put('b', 5 * kMegabyte, 1);
  q.put('c', 5 * kMegabyte, 3);
  EXPECT_EQ(q.take(), "bc");
}

}  // namespace
}  // namespace karmad
