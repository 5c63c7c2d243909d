#include "balancer/watch/mirror_watch.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>

#include "tests/balancer/topology/built.hpp"

namespace karmad {
namespace {

using namespace std::chrono_literals;
using enum MirrorCondition;

/// A set of mirrors whose queries the test counts, watched on a clock of the test.
class WatchedSet {
 public:
  /// `further`: agent lines of other shards.
  explicit WatchedSet(std::size_t mirrors, const std::string& further = {}) {
    std::string line;
    for (std::size_t i = 1; i <= mirrors; ++i)
      line += fmt::format("{}127.0.0.{}:1", i == 1 ? "" : "|", i);
    topology_ =
        built_.build("table t {\n type = distributed\n agent = " + line + ":x\n" + further + "}\n");
    for (std::size_t i = 0; i < mirrors; ++i) agent(i).counters.answered = true;
  }

  /// Passes time while each mirror answers so many queries each second, each in its time.
  struct Traffic {
    std::size_t per_second;
    Micros took;
  };
  void pass(int seconds, const std::vector<Traffic>& traffic) {
    for (int i = 0; i < 10 * seconds; ++i) {
      for (std::size_t m = 0; m < traffic.size(); ++m) {
        due_[m] += traffic[m].per_second;
        for (; due_[m] >= 10; due_[m] -= 10) answer(m, traffic[m].took);
      }
      now_ += 100ms;
      watch_.sample(*topology_, now_, WallTime{now_.time_since_epoch()});
    }
  }
  void answer(std::size_t mirror, Micros took) {
    auto& tally = set()[mirror].tally;
    tally.attempted(0);
    tally.add(0, {.counter = Counter::succeeded_queries, .took = took});
    set()[mirror].signals.answered(now_, took);
    set()[mirror].record->answers.add(0, now_, took);
  }
  /// A search fails; pings are answered.
  void fail_search(std::size_t mirror, const std::string& why) {
    auto& of = set()[mirror];
    of.tally.attempted(0);
    of.tally.add(0, {.counter = Counter::wrong_replies});
    of.signals.failed(1ms, false);
    of.agent->last_error(why);
  }
  void fail(std::size_t mirror, const std::string& why, unsigned errors_in_a_row) {
    agent(mirror).counters.errors_in_a_row = errors_in_a_row;
    if (!why.empty()) agent(mirror).last_error(why);
  }

  void serve_last_shard(ServiceState state) {
    const MirrorService service{.state = state};
    topology_->tables.front()->shards.back()->mirrors->serve({&service, 1}, now_);
  }

  MirrorReport report(std::size_t mirror) const { return watch_.reports(set())[mirror]; }
  /// What was told, without times.
  const std::vector<std::string>& told() const { return news_.told; }
  const std::string& last_message() const { return news_.last_message; }

 private:
  const MirrorSet& set() const { return *topology_->tables.front()->shards.front()->mirrors; }
  Agent& agent(std::size_t mirror) const { return *set()[mirror].agent; }

  Built built_;
  std::shared_ptr<const Topology> topology_;
  struct News final : OperatorNews {
    void tell(const OperatorEvent& event, TimePoint, WallTime) override {
      told.push_back(fmt::format("{} {}", event.mirror, event.state));
      last_message = event.message;
    }
    std::vector<std::string> told;
    std::string last_message;
  } news_;
  MirrorWatch watch_{news_};
  TimePoint now_{1h};
  std::array<std::size_t, 8> due_{};  ///< tenths of an answer of each mirror
};

TEST(MirrorWatch, ASlowMirrorThatIsHardlyAskedStaysSlowForAMinuteOrUntilItAnswersQuickly) {
  WatchedSet set(2);
  set.pass(7, {{50, 2ms}, {50, 100ms}});
  ASSERT_EQ(set.report(1).condition, slow);
  EXPECT_TRUE(set.report(1).reason.starts_with("its last ")) << set.report(1).reason;
  EXPECT_TRUE(set.report(1).reason.contains(
      " searches take 100.0 ms on average, those of the other mirrors 2.0 ms"))
      << set.report(1).reason;
  set.pass(30, {{50, 2ms}, {0, 0ms}});
  EXPECT_EQ(set.report(1).condition, slow) << "it gets no queries";
  EXPECT_TRUE(set.report(1).reason.contains(" took 100.0 ms on average")) << set.report(1).reason;
  set.pass(10, {{0, 0ms}, {0, 0ms}});
  EXPECT_EQ(set.report(1).condition, slow) << "there are no queries at all";
  set.answer(1, 2ms);
  set.pass(10, {{50, 2ms}, {0, 0ms}});
  EXPECT_EQ(set.report(1).condition, slow) << "one answer says too little";
  set.pass(5, {{50, 2ms}, {1, 2ms}});
  EXPECT_EQ(set.report(1).condition, ready);
  EXPECT_EQ(set.told(), (std::vector<std::string>{"2 slow", "2 ready"}));
  set.pass(5, {{50, 2ms}, {50, 100ms}});
  ASSERT_EQ(set.report(1).condition, slow);
  set.pass(122, {{50, 2ms}, {0, 0ms}});
  EXPECT_EQ(set.report(1).condition, ready) << "that was long ago";
}

TEST(MirrorWatch, CallsAMirrorFailingThatAnswersItsPingsAndFailsTheFewSearchesThatItGets) {
  WatchedSet set(2);
  set.pass(3, {{50, 2ms}, {50, 2ms}});
  for (int i = 0; i < 3; ++i) {
    set.fail_search(1, "unknown local table(s) 'products'");
    set.pass(2, {{50, 2ms}, {0, 0ms}});
  }
  EXPECT_EQ(set.report(1).condition, failing);
  EXPECT_TRUE(set.report(1).reason.contains(
      "the last 3 requests failed: unknown local table(s) 'products'"))
      << set.report(1).reason;
  set.pass(60, {{50, 2ms}, {0, 0ms}});
  EXPECT_EQ(set.report(1).condition, failing) << "none was good since";
  set.pass(5, {{50, 2ms}, {1, 2ms}});
  EXPECT_EQ(set.report(1).condition, ready);
  EXPECT_EQ(set.told(), (std::vector<std::string>{"2 failing", "2 ready"}));
}

TEST(MirrorWatch, TakesNoMeasureFromAMirrorThatIsDead) {
  WatchedSet set(2);
  set.pass(3, {{50, 2ms}, {50, 2ms}});
  set.fail(1, "refused", 9);
  set.pass(2, {{100, 2ms}, {0, 0ms}});
  ASSERT_EQ(set.report(1).condition, dead);
  set.pass(3, {{100, 40ms}, {0, 0ms}});
  EXPECT_EQ(set.report(0).condition, ready) << "it is slower because it has all the load";
}

TEST(MirrorWatch, ComparesTheAttemptsOfAllMirrorsOverTheSameTime) {
  WatchedSet set(2);
  set.pass(7, {{50, 2ms}, {50, 100ms}});
  set.pass(20, {{97, 2ms}, {3, 100ms}});
  EXPECT_TRUE(set.report(1).reason.starts_with(
      "avoided by random (3 % of the attempts, an equal share is 50 %): its last"))
      << set.report(1).reason;
}

TEST(MirrorWatch, AllIsWellOnlyWithoutAShardThatCannotBeAsked) {
  for (const auto& [state, end] : {std::pair{ServiceState::ready, "(was dead; all well)"},
                                   {ServiceState::drain, "(was dead)"},
                                   {ServiceState::maint, "(was dead)"}}) {
    WatchedSet set(2, " agent = 127.0.0.9:1:x\n");
    set.serve_last_shard(state);
    set.pass(3, {{50, 2ms}, {50, 2ms}});
    set.fail(1, "refused", 9);
    set.pass(2, {{50, 2ms}, {0, 0ms}});
    ASSERT_EQ(set.report(1).condition, dead);
    set.fail(1, "", 0);
    set.pass(70, {{50, 2ms}, {50, 2ms}});
    ASSERT_EQ(set.report(1).condition, ready);
    EXPECT_TRUE(set.last_message().ends_with(end)) << set.last_message();
  }
}

TEST(MirrorWatch, AnEventHasTheDiagnosisThatTheStatusPagesShow) {
  WatchedSet set(2);
  set.pass(3, {{50, 2ms}, {50, 2ms}});
  set.fail(1, "it said \"no\"\r\n\x1b[31m \xff", 9);
  set.pass(2, {{50, 2ms}, {0, 0ms}});
  const auto report = set.report(1);
  EXPECT_EQ(
      report.reason,
      "avoided by random (0 % of the attempts, an equal share is 50 %): 9 errors in a row: it "
      "said \"no\"???[31m \xef\xbf\xbd")
      << report.reason;
}

}  // namespace
}  // namespace karmad
