#include "agent/transport/loop/thread_pool.hpp"

#include <gtest/gtest.h>

#include <future>
#include <optional>
#include <thread>

#include "tests/agent/transport/on_loop.hpp"

namespace karmad::test {
namespace {

using End = ThreadPool::End;

class Helpers : public testing::Test {
 protected:
  static constexpr ThreadPool::Subject kLarge{.bytes = 14'000'000, .client = 1};

  /// Work that lasts until release() is called.
  void hold() {
    spawn([](Helpers& self) -> Task<void> {
      auto work = [&] {
        self.began.set_value();
        self.may_end.get_future().wait();
      };
      self.held = co_await self.pool.run(self.loop, self.query_stop, kLarge, work);
    }(*this));
    began.get_future().wait();
  }
  void release() { may_end.set_value(); }

  template <class Work>
  void ask(Stop& stop, Work work, std::optional<End>& end, ThreadPool::Subject of = kLarge) {
    spawn([](Helpers& self, Stop& with, Work own, ThreadPool::Subject subject,
             std::optional<End>& into) -> Task<void> {
      into = co_await self.pool.run(self.loop, with, subject, own);
    }(*this, stop, std::move(work), of, end));
  }

  Loop loop{0, 1 << 20, 1};
  ThreadPool pool{1, 2};
  Stop query_stop{loop};
  std::promise<void> began;
  std::promise<void> may_end;
  std::optional<End> held;
};

TEST_F(Helpers, WorkElsewhereWhileTheLoopGoesOn) {
  hold();
  bool turned = false;
  loop.post([&] { turned = true; });
  EXPECT_TRUE(turn_until(loop, [&] { return turned; }));
  EXPECT_FALSE(held);
  EXPECT_EQ(pool.running(), 1U);
  release();
  EXPECT_TRUE(turn_until(loop, [&] { return held.has_value(); }));
  EXPECT_EQ(held, End::done);
  EXPECT_EQ(pool.done(), 1U);
  EXPECT_EQ(pool.running(), 0U);
}

TEST_F(Helpers, AreNotTheLoopsThread) {
  std::thread::id where;
  std::optional<End> end;
  ask(
      query_stop, [&] { where = std::this_thread::get_id(); }, end);
  EXPECT_TRUE(turn_until(loop, [&] { return end.has_value(); }));
  EXPECT_NE(where, std::this_thread::get_id());
  EXPECT_NE(where, std::thread::id());
}

TEST_F(Helpers, LeaveOutWorkThatIsStoppedBeforeItBegan) {
  hold();
  Stop stop(loop);
  bool worked = false;
  std::optional<End> end;
  ask(
      stop, [&] { worked = true; }, end);
  EXPECT_EQ(pool.waiting(), 1U);
  stop.request(StopReason::cancelled);
  EXPECT_EQ(end, End::withdrawn);  // at once
  EXPECT_EQ(pool.waiting(), 0U);
  release();
  EXPECT_TRUE(turn_until(loop, [&] { return held.has_value(); }));
  EXPECT_FALSE(worked);
}

// The work reads data of the waiting coroutine.
TEST_F(Helpers, AreWaitedForOnceTheWorkHasBegun) {
  hold();
  query_stop.request(StopReason::cancelled);
  loop.io.restart();
  loop.io.poll();
  EXPECT_FALSE(held);
  release();
  EXPECT_TRUE(turn_until(loop, [&] { return held.has_value(); }));
  EXPECT_EQ(held, End::done);
}

TEST_F(Helpers, DoNothingForAStopThatWasRequestedBefore) {
  query_stop.request(StopReason::cancelled);
  std::optional<End> end;
  ask(
      query_stop, [] { ADD_FAILURE(); }, end);
  EXPECT_EQ(end, End::withdrawn);
}

TEST_F(Helpers, RefuseWhatIsTooMuch) {
  hold();
  std::optional<End> ends[3];
  for (auto& end : ends)
    ask(
        query_stop, [] {}, end);
  EXPECT_EQ(ends[2], End::refused);
  EXPECT_EQ(pool.refused(), 1U);
  EXPECT_EQ(pool.waiting(), 2U);
  release();
  EXPECT_TRUE(turn_until(loop, [&] { return ends[0] && ends[1]; }));
  EXPECT_EQ(ends[1], End::done);
}

// The only thread for large work is busy.
TEST_F(Helpers, DoSmallWorkBesideLargeWork) {
  hold();
  std::optional<End> large;
  std::optional<End> small;
  ask(
      query_stop, [] {}, large);
  ask(query_stop, [] {}, small, {.bytes = 300'000, .client = 1});
  EXPECT_TRUE(turn_until(loop, [&] { return small.has_value(); }));
  EXPECT_EQ(small, End::done);
  EXPECT_FALSE(large);
  release();
  EXPECT_TRUE(turn_until(loop, [&] { return large.has_value(); }));
}

TEST_F(Helpers, EndWorkThatNobodyWaitsFor) {
  Stop stop(loop);
  std::promise<void> working;
  std::atomic<bool> to_the_end = false;
  std::optional<End> end;
  ask(
      stop,
      [&] {
        working.set_value();
        for (const auto until = std::chrono::steady_clock::now() + kSoon;
             std::chrono::steady_clock::now() < until;)
          end_if_over();
        to_the_end = true;
      },
      end);
  working.get_future().wait();
  stop.request(StopReason::deadline);
  EXPECT_TRUE(turn_until(loop, [&] { return end.has_value(); }));
  EXPECT_EQ(end, End::withdrawn);
  EXPECT_FALSE(to_the_end);
  end_if_over();  // means nothing on this thread
}

// The loop has nothing else to do, and no socket to wait for.
TEST_F(Helpers, KeepTheLoopFromEnding) {
  hold();
  loop.post([&] { loop.let_end(); });
  std::thread running([&] { loop.run(); });
  release();
  running.join();
  EXPECT_EQ(held, End::done);
}

}  // namespace
}  // namespace karmad::test
