// How long a query waits to be connected: `selection_timeout` bounds waiting and connecting
// together.
#include <gtest/gtest.h>

#include "tests/support/fake_set.hpp"

namespace karmad::test {
namespace {

using Clock = std::chrono::steady_clock;

std::string settings() {
  return taking_turns(
      "selection_timeout = 300ms\n agent_connect_timeout = 50s\n agent_retry_count = 1");
}

TEST(SelectionTimeout, BoundsConnecting) {  // SS-111
  const FullPort full;
  const FullPort too;
  for (const std::string preference : {"", "nearest"}) {
    SCOPED_TRACE(preference);
    const RestingMaster master(settings(), table_of({line_of({full.address(), too.address()})}));
    const auto began = Clock::now();
    const auto answer = master.find(preference);
    EXPECT_LT(Clock::now() - began, kSoon);
    EXPECT_EQ(answer.status, 504) << answer.body;
    EXPECT_GE(master.count("connect_timeouts"), 2);
  }
}

TEST(SelectionTimeout, LeavesTimeForAMirrorThatCanBeReached) {
  const FullPort full;
  const FakeMirror fine([](const std::string&) { return nothing_found(); });
  const RestingMaster master(settings(), table_of({line_of({full.address(), fine.address()})}));
  const auto began = Clock::now();
  for (int i = 0; i < 6; ++i) EXPECT_EQ(master.find().status, 200);
  EXPECT_LT(Clock::now() - began, kSoon);
  EXPECT_GE(master.count("connect_timeouts"), 1);
}

// What it took to answer is not taken off: the retry has its time to connect.
TEST(SelectionTimeout, DoesNotCountTheTimeOfAnAnswer) {
  FakeSet mirrors(2);
  auto slow_error = json(R"({"error":"internal error"})", 500);
  slow_error.after = 500ms;
  mirrors[0].react(always(slow_error));
  const RestingMaster master(taking_turns("selection_timeout = 200ms"), mirrors.table());
  EXPECT_EQ(master.find().status, 200);
}

}  // namespace
}  // namespace karmad::test
