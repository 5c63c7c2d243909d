#include "balancer/watch/mirror_watch.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/balancer/topology/built.hpp"

namespace karmad {
namespace {

using namespace std::chrono_literals;
using enum MirrorCondition;

/// A set of mirrors whose queries the test counts, watched on a clock of the test.
class WatchedSet {
 public:
  explicit WatchedSet(std::size_t mirrors) {
    std::string line;
    for (std::size_t i = 1; i <= mirrors; ++i)
      line += fmt::format("{}127.0.0.{}:1", i == 1 ? "" : "|", i);
    topology_ = built_.build("table t {\n type = distributed\n agent = " + line + ":x\n}\n");
    for (std::size_t i = 0; i < mirrors; ++i) agent(i).counters.answered = true;
  }

  /// Passes time while each mirror answers so many queries each second, each in its time.
  struct Traffic {
    std::size_t per_second;
    Micros took;
  };
  void pass(int seconds, const std::vector<Traffic>& traffic) {
    for (int i = 0; i < 10 * seconds; ++i) {
      if (i % 10 == 0)
        for (std::size_t m = 0; m < traffic.size(); ++m)
          for (std::size_t n = 0; n < traffic[m].per_second; ++n) answer(m, traffic[m].took);
      now_ += 100ms;
      watch_.sample(*topology_, now_, WallTime{now_.time_since_epoch()});
    }
  }
  void answer(std::size_t mirror, Micros took) {
    auto& tally = set()[mirror].tally;
    tally.attempted(0);
    tally.add(0, {.counter = Counter::succeeded_queries, .took = took});
  }
  void fail(std::size_t mirror, const std::string& why, unsigned errors_in_a_row) {
    agent(mirror).counters.errors_in_a_row = errors_in_a_row;
    if (!why.empty()) agent(mirror).last_error(why);
  }

  MirrorReport report(std::size_t mirror) const { return watch_.reports(set())[mirror]; }
  std::string last_event() const { return events_.since(0).back().json; }

 private:
  const MirrorSet& set() const { return *topology_->tables.front()->shards.front()->mirrors; }
  Agent& agent(std::size_t mirror) const { return *set()[mirror].agent; }

  Built built_;
  std::shared_ptr<const Topology> topology_;
  EventLog events_;
  MirrorWatch watch_{events_};
  TimePoint now_{1h};
};

TEST(MirrorWatch, ASlowMirrorThatIsHardlyAskedStaysSlowUntilItAnswersQuickly) {
  WatchedSet set(2);
  set.pass(3, {{50, 2ms}, {50, 100ms}});
  ASSERT_EQ(set.report(1).condition, slow);
  set.pass(60, {{50, 2ms}, {0, 0ms}});
  EXPECT_EQ(set.report(1).condition, slow) << "karma gives it no queries";
  set.pass(10, {{0, 0ms}, {0, 0ms}});
  EXPECT_EQ(set.report(1).condition, slow) << "there are no queries at all";
  EXPECT_TRUE(set.report(1).reason.starts_with(
      "queries take 100.0 ms on average, those of the other mirrors 2.0 ms"))
      << set.report(1).reason;
  set.answer(1, 2ms);
  set.pass(20, {{50, 2ms}, {0, 0ms}});
  EXPECT_EQ(set.report(1).condition, slow) << "one answer says too little";
  for (int i = 0; i < 4; ++i) set.answer(1, 2ms);
  set.pass(3, {{50, 2ms}, {0, 0ms}});
  EXPECT_EQ(set.report(1).condition, ready);
}

TEST(MirrorWatch, TakesNoMeasureFromAMirrorThatIsDead) {
  WatchedSet set(2);
  set.pass(3, {{50, 2ms}, {50, 2ms}});
  set.fail(1, "refused", 9);
  set.pass(1, {{100, 2ms}, {0, 0ms}});
  ASSERT_EQ(set.report(1).condition, dead);
  set.pass(3, {{100, 40ms}, {0, 0ms}});
  EXPECT_EQ(set.report(0).condition, ready) << "it is slower because it has all the load";
}

TEST(MirrorWatch, ComparesTheAttemptsOfAllMirrorsOverTheSameTime) {
  WatchedSet set(2);
  set.pass(3, {{50, 2ms}, {50, 100ms}});
  set.pass(20, {{97, 2ms}, {3, 100ms}});
  EXPECT_TRUE(set.report(1).reason.ends_with("; gets 3 % of the attempts, an equal share is 50 %"))
      << set.report(1).reason;
}

TEST(MirrorWatch, AnEventHasTheDiagnosisThatTheStatusPagesShow) {
  WatchedSet set(2);
  set.pass(3, {{50, 2ms}, {50, 2ms}});
  set.fail(1, "it said \"no\"\r\n\x1b[31m \xff", 9);
  set.pass(1, {{50, 2ms}, {0, 0ms}});
  const auto report = set.report(1);
  EXPECT_EQ(report.reason,
            "it said \"no\"???[31m \xef\xbf\xbd; 9 errors in a row; gets 33 % of the "
            "attempts, an equal share is 50 %")
      << report.reason;
}

}  // namespace
}  // namespace karmad
