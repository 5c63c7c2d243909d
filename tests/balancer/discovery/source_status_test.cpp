#include "balancer/discovery/source_status.hpp"

#include <gtest/gtest.h>

namespace karmad {
namespace {

class ASource : public ::testing::Test {
 protected:
  /// The events so far.
  std::uint64_t fails(const std::string& why) {
    sources.failed("etcd", why, "the last mirrors stay", {});
    EXPECT_EQ(sources.of("etcd")->why, why);
    return events.newest();
  }
  std::uint64_t works() {
    sources.good("etcd", 3, {});
    EXPECT_FALSE(sources.of("etcd")->failing);
    return events.newest();
  }

  EventLog events;
  SourceStatus sources{events};
};

TEST_F(ASource, WhoseServersFailInTurnIsReportedOnceForEachReason) {
  EXPECT_EQ(works(), 0U);
  for (int turn = 0; turn < 5; ++turn) {
    EXPECT_EQ(fails("a: refused"), turn == 0 ? 1U : 3U);
    EXPECT_EQ(fails("b: refused"), turn == 0 ? 2U : 3U);
    EXPECT_EQ(fails("c: no answer in time"), 3U);
  }
  EXPECT_EQ(sources.of("etcd")->failures, 15U);
  EXPECT_EQ(works(), 4U);
  EXPECT_EQ(works(), 4U);
  EXPECT_EQ(fails("b: refused"), 5U) << "it has worked in between";
}

TEST_F(ASource, ThatIsRemovedWhileItFailsBeginsAnew) {
  EXPECT_EQ(fails("refused"), 1U);
  sources.remove("etcd");
  EXPECT_EQ(works(), 1U);
  EXPECT_EQ(fails("refused"), 2U);
}

TEST_F(ASource, WithAReasonThatIsNeverTheSameIsReportedEachTime) {
  for (unsigned i = 1; i <= 100; ++i)
    for (int repeated = 0; repeated < 2; ++repeated) EXPECT_EQ(fails("at " + std::to_string(i)), i);
}

}  // namespace
}  // namespace karmad
