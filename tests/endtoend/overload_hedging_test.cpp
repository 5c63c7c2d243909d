// A second mirror is asked when the first one is late, and only then, and only for searches.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>

#include "tests/support/fake_set.hpp"

namespace karmad::test {
namespace {

// The time of a search without hedging at a mirror that does not answer.
constexpr std::string_view kShort = "X-Timeout-Ms: 300\r\n";

class Hedging : public testing::Test {
 protected:
  FakeSet mirrors{3};
  Hedging() { mirrors[0].react(always(silence())); }

  /// Searches until each mirror was chosen first at least twice; all have to be answered.
  void search_all_round(const RestingMaster& master, std::string_view fields = {}) {
    for (int i = 0; i < 9; ++i) {
      const auto answer = master.find("", fields);
      EXPECT_EQ(answer.status, 200) << answer.body;
    }
    EXPECT_GT(mirrors[0].requests(), 0u) << "never chosen";
  }
};

TEST_F(Hedging, AnswersComeThoughTheMirrorThatWasChosenStalls) {  // CO-080
  const RestingMaster master(taking_turns("hedge = 50ms"), mirrors.table());
  search_all_round(master);
  EXPECT_GE(master.count("hedges"), 1);
  EXPECT_GE(master.count("hedges_won"), 1);
  EXPECT_GE(master.count("hedges"), master.count("hedges_won"));
  EXPECT_EQ(master.count("agent_retry"), 0);
  EXPECT_EQ(master.count("queries_failed"), 0);
  EXPECT_TRUE(mirrors.is_left(0)) << "the attempt that lost is cancelled";
}

TEST_F(Hedging, TheTableMaySwitchItOnAndNameTheNumberOfMirrors) {
  mirrors[1].react(always(silence()));
  const RestingMaster master(taking_turns(),
                             mirrors.table("hedge = 50ms\n hedge_step = 20ms\n hedge_max = 2"));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(master.find().status, 200);
  EXPECT_GE(master.count("hedges"), 2);
  EXPECT_TRUE(mirrors.is_left(0));
  EXPECT_TRUE(mirrors.is_left(1));
}

TEST_F(Hedging, WaitsAsLongAsRecentAnswersTook) {
  mirrors[0].react(always(nothing_found()));
  const RestingMaster master(taking_turns("hedge = p95"), mirrors.table());
  for (int i = 0; i < 150; ++i) EXPECT_EQ(master.find().status, 200);
  mirrors[0].react(always(silence()));
  const auto before = mirrors[0].requests();
  EXPECT_TRUE(eventually([&] {
    return master.find("", "X-Timeout-Ms: 500\r\n").status == 200 &&
           mirrors[0].requests() > before && master.count("hedges_won") > 0;
  }));
}

TEST_F(Hedging, UpdatesAreSentOnce) {  // CO-084
  mirrors.react(silence());
  const RestingMaster master(taking_turns("hedge = 10ms"), mirrors.table("updates = any"));
  EXPECT_EQ(insert(master, kShort).status, 504);
  EXPECT_EQ(mirrors.requests(), 1u);
  EXPECT_EQ(master.count("hedges"), 0);
}

TEST_F(Hedging, TheOperatorsSwitchIsAboveAll) {  // CO-085
  mirrors.react(silence());
  const RestingMaster master(taking_turns("hedge = 10ms\n hedge_disabled = 1"),
                             mirrors.table("hedge = 10ms"));
  EXPECT_EQ(master.find("", fmt::format("X-Hedge: 10ms\r\n{}", kShort)).status, 504);
  EXPECT_EQ(mirrors.requests(), 1u);
  EXPECT_EQ(master.count("hedges"), 0);
}

TEST_F(Hedging, TheOperatorsSwitchIsTakenWithAReload) {
  RestingMaster master(taking_turns("hedge = 50ms"), mirrors.table());
  search_all_round(master);
  mirrors.react(silence());
  ASSERT_TRUE(master.reload(taking_turns("hedge = 10ms\n hedge_disabled = 1"), mirrors.table()));
  const auto hedges = master.count("hedges");
  EXPECT_EQ(master.find("", kShort).status, 504);
  EXPECT_EQ(master.count("hedges"), hedges);
}

TEST_F(Hedging, TheRequestMayAskForItOrForbidIt) {  // CO-085
  {
    const RestingMaster off(taking_turns(), mirrors.table());
    search_all_round(off, "X-Hedge: 50ms\r\n");
    EXPECT_GE(off.count("hedges_won"), 1);
    EXPECT_EQ(off.find("", "X-Hedge: soon\r\n").status, 400);
  }
  mirrors.react(silence());
  const auto before = mirrors.requests();
  const RestingMaster on(taking_turns("hedge = 10ms"), mirrors.table());
  EXPECT_EQ(on.find("", fmt::format("X-Hedge: off\r\n{}", kShort)).status, 504);
  EXPECT_EQ(mirrors.requests(), before + 1);
  EXPECT_EQ(on.count("hedges"), 0);
}

TEST_F(Hedging, TheReadPreferenceMayForbidItOrAskForIt) {  // SS-070, CO-085
  const auto roles = std::vector<std::string>{"replica", "replica", "replica"};
  mirrors.react(silence());
  {
    const RestingMaster on(choosing("hedge = 10ms"), mirrors.table("", roles));
    ASSERT_TRUE(on.shows(roles));
    EXPECT_EQ(on.find(R"({"mode":"secondary","hedge":{"enabled":false}})", kShort).status, 504);
    EXPECT_EQ(on.count("hedges"), 0);
  }
  // Half of the time a request has, a second at most; the test sees only that it happens.
  const RestingMaster off(choosing(), mirrors.table("", roles));
  ASSERT_TRUE(off.shows(roles));
  const auto search = Pending::search(off, R"({"mode":"secondary","hedge":{"enabled":true}})");
  EXPECT_TRUE(eventually([&] { return off.count("hedges") == 1; }));
  EXPECT_EQ(off.find("secondary", kShort).status, 504);
  EXPECT_EQ(off.count("hedges"), 1);
}

TEST_F(Hedging, WithNothingLeftInTheBudgetIsNotDone) {
  mirrors.react(json(R"({"error":"internal error"})", 500));
  const RestingMaster master(taking_turns("hedge = 10ms\n retry_budget_percent = 0"),
                             mirrors.table());
  ASSERT_TRUE(eventually([&] {
    EXPECT_EQ(master.find().status, 502);
    return master.count("retries_refused") > 0;
  }));
  mirrors.react(silence());
  const auto hedges = master.count("hedges");
  const auto before = mirrors.requests();
  EXPECT_EQ(master.find("", kShort).status, 504);
  EXPECT_EQ(mirrors.requests(), before + 1);
  EXPECT_EQ(master.count("hedges"), hedges);
}

TEST_F(Hedging, CountsAmongTheAttempts) {
  mirrors.react(silence());
  const RestingMaster master(taking_turns("hedge = 10ms\n max_attempts = 1"), mirrors.table());
  EXPECT_EQ(master.find("", kShort).status, 504);
  EXPECT_EQ(mirrors.requests(), 1u);
  EXPECT_EQ(master.count("hedges"), 0);
}

// CO-081; this needs no retry.
TEST_F(Hedging, AnAnswerThatIsNotFinalBringsTheNextMirrorInAtOnce) {
  const Reaction cases[] = {
      json(R"({"error":"internal error"})", 500),
      refused(429, "Retry-After: 3600\r\n"),
      refused(404, "X-Sub-Status: 1022\r\n", R"({"error":"no such document"})"),
      Reaction{"", Reaction::Then::reset},
  };
  for (const auto& reaction : cases) {
    SCOPED_TRACE(reaction.bytes);
    FakeSet set(2);
    set[0].react(always(reaction));
    const RestingMaster master(taking_turns("hedge = 30s\n retry_reads = 0"), set.table());
    EXPECT_EQ(master.find().status, 200);
    EXPECT_EQ(set[0].requests(), 1u);
    EXPECT_EQ(master.count("hedges"), 1);
    EXPECT_EQ(master.count("hedges_won"), 1);
  }
}

// Nor does such an answer of the hedge end the race: the first attempt may still win.
TEST_F(Hedging, AHedgeWithAnOlderGenerationDoesNotWin) {
  FakeSet set(2);
  set[0].react(always(slowly(1s)));
  set[1].react(always(refused(404, "X-Sub-Status: 1002\r\n", R"({"error":"no such document"})")));
  const RestingMaster master(taking_turns("hedge = 20ms"), set.table());
  const auto answer = master.find();
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(set[0].requests(), 1u);
  EXPECT_EQ(set[1].requests(), 1u);
  EXPECT_EQ(master.count("hedges"), 1);
  EXPECT_EQ(master.count("hedges_won"), 0);
}

// CO-083: only the first attempt is retried.
TEST_F(Hedging, AHedgeThatIsRefusedIsNotRetried) {
  FakeSet set(3, refused(429, ""));
  set[0].react(always(slowly(1s)));
  const RestingMaster master(taking_turns("hedge = 20ms"), set.table());
  EXPECT_EQ(master.find().status, 200);
  EXPECT_EQ(set.requests(), 2u);
  EXPECT_EQ(master.count("hedges"), 1);
  EXPECT_EQ(master.count("agent_retry"), 0);
}

// The hedge of one shard wins, and the merge finds an error in its reply.
TEST_F(Hedging, AWinnerThatCannotBeMergedIsReplaced) {
  constexpr std::string_view broken =
      R"({"took":0,"timed_out":false,"hits":{"total":2,"total_relation":"eq","hits":[{"_id":1,]]}})";
  // The hedge is drawn: whichever of the two gets it.
  std::atomic<bool> is_hedge{true};
  for (const std::size_t i : {1U, 2U})
    mirrors[i].react([&](const std::string&) {
      return is_hedge.exchange(false) ? json(broken) : nothing_found();
    });
  const FakeSet other(1);
  auto table = mirrors.table();
  const auto second = other.table();
  const auto line = second.find(" agent = ");
  table.insert(table.rfind('}'), second.substr(line, second.rfind('}') - line));
  const RestingMaster master(taking_turns("hedge = 50ms"), table);
  const auto answer = master.find();
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_FALSE(answer.body.contains("warning")) << answer.body;
  EXPECT_EQ(master.count("merge_rejected"), 1);
  EXPECT_EQ(master.count("hedges_won"), 1);
  EXPECT_EQ(mirrors[1].requests(), 1u);
  EXPECT_EQ(mirrors[2].requests(), 1u);
  EXPECT_EQ(master.number_of(1, "periods/1/wrong_replies") +
                master.number_of(2, "periods/1/wrong_replies"),
            1);
  EXPECT_TRUE(mirrors.is_left(0));
}

TEST_F(Hedging, AMistakeOfTheClientIsAFinalAnswer) {
  FakeSet set(2, json(R"({"error":"\"limit\" property value should be an integer"})", 400));
  const RestingMaster master(taking_turns("hedge = 30s"), set.table());
  EXPECT_EQ(master.find().status, 400);
  EXPECT_EQ(set.requests(), 1u);
  EXPECT_EQ(master.count("client_mistakes"), 1);
}

}  // namespace
}  // namespace karmad::test
