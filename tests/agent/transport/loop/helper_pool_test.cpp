#include "agent/transport/loop/helper_pool.hpp"

#include <gtest/gtest.h>

#include <future>
#include <optional>
#include <thread>

#include "tests/agent/transport/on_loop.hpp"

namespace karmad::test {
namespace {

using End = HelperPool::End;

class Helpers : public testing::Test {
 protected:
  /// Work that lasts until release() is called.
  void hold() {
    spawn([](Helpers& self) -> Task<void> {
      auto work = [&] {
        self.began.set_value();
        self.may_end.get_future().wait();
      };
      self.held = co_await self.pool.run(self.loop, self.query_stop, work);
    }(*this));
    began.get_future().wait();
  }
  void release() { may_end.set_value(); }

  template <class Work>
  void ask(Stop& stop, Work work, std::optional<End>& end) {
    spawn([](Helpers& self, Stop& with, Work own, std::optional<End>& into) -> Task<void> {
      into = co_await self.pool.run(self.loop, with, own);
    }(*this, stop, std::move(work), end));
  }

  Loop loop{0, 1 << 20, 1};
  HelperPool pool{1, 2};
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
