// Mirrors that get no attempts for one shard, because of the breaker or at their own request; and
// mirrors that lack the updates that the client has seen.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

#include "tests/support/fake_set.hpp"

namespace karmad::test {
namespace {

const std::vector<std::string> kRoles{"primary", "replica"};
const std::vector<std::string> kThreeRoles{"primary", "replica", "replica"};
constexpr std::string_view kFromSeven = "X-Min-Generation: 7\r\n";
const Reaction kBehind = refused(404, "X-Sub-Status: 1002\r\n", R"({"error":"not that far yet"})");

/// Two tables on the same two mirrors, of which the first one fails for one of them.
class TwoTables : public testing::Test {
 protected:
  FakeSet mirrors{2};
  std::atomic<std::size_t> bad_ones{0};  ///< searches of the bad table at the first mirror
  std::atomic<bool> mended{false};

  TwoTables() {
    mirrors[0].react([&](const std::string& request) {
      if (!request.contains("bad_one")) return nothing_found();
      ++bad_ones;
      return mended ? nothing_found() : json(R"({"error":"internal error"})", 500);
    });
  }
  std::string tables() const {
    const auto good = mirrors.table();
    auto bad = good;
    bad.replace(bad.find("table t"), 7, "table bad");
    for (auto at = bad.find("products"); at != bad.npos; at = bad.find("products", at + 1))
      bad.replace(at, 8, "bad_one");
    return good + bad;
  }
  static int search_bad(const Master& master) {
    return master.search(R"({"table":"bad","query":{"match_all":{}}})").status;
  }
};

// CO-090, CO-091: with a limit of two failures the third trips the breaker; other tables are not
// affected.
TEST_F(TwoTables, ABreakerKeepsAMirrorOutOfOneShardOnly) {
  const RestingMaster master(
      taking_turns("breaker = 1\n breaker_reads = 2\n ha_ping_interval = 1h\n"
                   " ping_type = none"),
      tables());
  for (int i = 0; i < 30; ++i) EXPECT_EQ(search_bad(master), 200);
  EXPECT_EQ(bad_ones, 3u);
  const auto before = mirrors[0].requests();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(master.find().status, 200);
  EXPECT_EQ(mirrors[0].requests(), before + 5);
}

TEST_F(TwoTables, ABreakerLetsAProbeThroughAndClosesWhenItSucceeds) {  // CO-092
  const RestingMaster master(taking_turns("breaker = 1\n breaker_reads = 2"), tables());
  for (int i = 0; i < 10; ++i) EXPECT_EQ(search_bad(master), 200);
  EXPECT_GE(bad_ones, 3u);
  // A failed probe does not affect the client.
  const auto tripped = bad_ones.load();
  EXPECT_TRUE(eventually([&] { return search_bad(master) == 200 && bad_ones > tripped; }));
  mended = true;
  const auto probed = bad_ones.load();
  EXPECT_TRUE(eventually([&] { return search_bad(master) == 200 && bad_ones > probed; }));
  const auto before = bad_ones.load();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(search_bad(master), 200);
  EXPECT_GE(bad_ones, before + 5) << "it takes its turns again";
}

TEST_F(TwoTables, ABreakerNeverKeepsAllMirrorsOut) {  // CO-091
  mirrors[1].react(always(json(R"({"error":"internal error"})", 500)));
  const RestingMaster master(taking_turns("breaker = 1\n breaker_reads = 0"), tables());
  for (int i = 0; i < 5; ++i) EXPECT_EQ(search_bad(master), 502);
  mirrors.react(nothing_found());
  EXPECT_EQ(search_bad(master), 200);
}

TEST_F(TwoTables, WithoutABreakerTheMirrorKeepsItsTurns) {
  const RestingMaster master(taking_turns(), tables());
  for (int i = 0; i < 12; ++i) EXPECT_EQ(search_bad(master), 200);
  EXPECT_GE(bad_ones, 4u);
}

// CO-033: five minutes, or until a ping says otherwise; here without pings.
// CO-051: the state of the set is old. Its mirrors were pinged at the start, and would be again in
// an hour.
TEST(Moved, AShardIsSearchedAtOtherMirrorsAndItsMirrorsArePinged) {
  std::atomic<int> pings{0};
  const auto pinged = [&](const Reaction& reaction) {
    return [&pings, reaction](const std::string& request) {
      if (!request.starts_with("GET / ")) return reaction;
      ++pings;
      return json("{}");
    };
  };
  const FakeMirror moved(pinged(refused(410, "X-Sub-Status: 0\r\n")), true);
  const FakeMirror has_it(pinged(nothing_found()), true);
  const RestingMaster master(taking_turns("ha_ping_interval = 1h"),
                             table_of({line_of({moved.address(), has_it.address()})}));
  ASSERT_TRUE(eventually([&] { return pings == 2; }));
  const auto answer = master.find();
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_TRUE(eventually([&] { return pings == 4; }));
}

TEST(Draining, AMirrorThatIsTakenAwayIsLeftAlone) {
  for (const auto& reaction :
       {refused(403, "X-Sub-Status: 1008\r\n", R"({"error":"leaving"})"),
        refused(503, "", R"({"error":{"type":"draining","reason":"leaving"}})")}) {
    SCOPED_TRACE(reaction.bytes);
    FakeSet mirrors(2);
    mirrors[0].react(always(reaction));
    const RestingMaster master(taking_turns(), mirrors.table());
    for (int i = 0; i < 10; ++i) EXPECT_EQ(master.find().status, 200);
    EXPECT_EQ(mirrors[0].requests(), 1u);
    EXPECT_EQ(mirrors[1].requests(), 10u);
  }
}

TEST(Draining, AMirrorThatReportsItToAHedgeIsAvoidedToo) {
  FakeSet mirrors(3);
  mirrors[0].react(always(slowly(200ms)));
  mirrors[1].react(always(refused(403, "X-Sub-Status: 1008\r\n")));
  const RestingMaster master(taking_turns("hedge = 20ms"), mirrors.table());
  EXPECT_EQ(master.find().status, 200);
  EXPECT_EQ(mirrors[1].requests(), 1u);
  EXPECT_EQ(master.count("hedges"), 1);
  for (int i = 0; i < 12; ++i) EXPECT_EQ(master.find("", "X-Hedge: off\r\n").status, 200);
  EXPECT_EQ(mirrors[1].requests(), 1u);
}

TEST(Draining, ItsTimeIsASetting) {
  FakeSet mirrors(2);
  mirrors[0].react(always(refused(403, "X-Sub-Status: 1008\r\n", R"({"error":"leaving"})")));
  const RestingMaster master(taking_turns("unavailable_for = 0"), mirrors.table());
  for (int i = 0; i < 10; ++i) EXPECT_EQ(master.find().status, 200);
  EXPECT_GE(mirrors[0].requests(), 5u);
}

TEST(Draining, EndsWithItsTime) {
  FakeSet mirrors(2);
  mirrors[1].react(always(refused(403, "X-Sub-Status: 1008\r\n", R"({"error":"leaving"})")));
  const RestingMaster master(choosing("unavailable_for = 1s"), mirrors.table("", kRoles));
  ASSERT_TRUE(master.shows(kRoles));
  EXPECT_EQ(master.find("secondaryPreferred").status, 200);
  EXPECT_EQ(mirrors[1].requests(), 1u);
  mirrors[1].react(always(nothing_found()));
  EXPECT_TRUE(eventually([&] {
    return master.find("secondaryPreferred").status == 200 && mirrors[1].requests() > 1;
  }));
}

// CO-036: the delay that the mirror asked for stays; its pings only show that it is alive.
TEST(RetryAfter, OfAMirrorOutlastsItsPings) {
  const auto described = [](std::atomic<int>& pings, Reaction reaction) {
    return [&pings, reaction = std::move(reaction)](const std::string& request) {
      if (!request.starts_with("GET /hello")) return reaction;
      ++pings;
      return json(R"({"api":2,"role":"replica","set":"s","last_write_ms":1000})");
    };
  };
  for (const auto status : {429, 503}) {
    SCOPED_TRACE(status);
    std::atomic<int> pings_of_busy{0};
    std::atomic<int> pings{0};
    const FakeMirror busy(described(pings_of_busy, refused(status, "Retry-After: 100\r\n")), true);
    const FakeMirror free(described(pings, nothing_found()), true);
    const RestingMaster master(
        taking_turns("ha_ping_interval = 500ms\n ping_timeout = 10s"),
        table_of({line_of({busy.address(), free.address()})}, "ping_type = native"));
    ASSERT_TRUE(master.shows({"replica", "replica"}));
    ASSERT_TRUE(eventually([&] {
      return master.find().status == 200 && master.number_of(0, "since_start/attempts") == 1;
    }));
    const auto before = pings_of_busy.load();
    while (pings_of_busy < before + 3) {
      EXPECT_EQ(master.find().status, 200);
      nap();
    }
    EXPECT_EQ(master.number_of(0, "since_start/attempts"), 1);
  }
}

// CO-034, CO-035: the replica has a short time to catch up; then the primary is asked.
TEST(Generation, AReplicaThatIsBehindHandsOverToThePrimary) {
  FakeSet mirrors(2);
  mirrors[1].react(
      always(refused(404, "X-Sub-Status: 1002\r\n", R"({"error":"not that far yet"})")));
  const RestingMaster master(choosing(), mirrors.table("", kRoles));
  ASSERT_TRUE(master.shows(kRoles));
  EXPECT_EQ(master.find("secondaryPreferred", "X-Min-Generation: 7\r\n").status, 200);
  EXPECT_EQ(mirrors[0].requests(), 1u);
  EXPECT_GE(mirrors[1].requests(), 2u);
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_TRUE(mirrors[i].seen()[0].contains("X-Min-Generation: 7\r\n"));
}

TEST(Generation, AReplicaThatCatchesUpAnswers) {
  FakeSet mirrors(2);
  mirrors[1].react([n = 0](const std::string&) mutable {
    return n++ < 2 ? refused(404, "", R"({"error":{"type":"generation_too_low"}})")
                   : nothing_found();
  });
  const RestingMaster master(choosing(), mirrors.table("", kRoles));
  ASSERT_TRUE(master.shows(kRoles));
  EXPECT_EQ(master.find("secondaryPreferred", "X-Min-Generation: 7\r\n").status, 200);
  EXPECT_EQ(mirrors[0].requests(), 0u);
  EXPECT_EQ(mirrors[1].requests(), 3u);
}

TEST(Generation, InASetWithoutRolesTheNextMirrorIsAsked) {
  FakeSet mirrors(2);
  mirrors[0].react(always(refused(404, "X-Sub-Status: 1002\r\n", R"({"error":"not yet"})")));
  const RestingMaster master(taking_turns(), mirrors.table());
  EXPECT_EQ(master.find().status, 200);
  EXPECT_EQ(mirrors[1].requests(), 1u);
}

// CO-077: replicas one after the other, at once, and the primary only when all of them are behind.
TEST(Generation, AReplicaThatIsBehindHandsOverToOneThatIsFresh) {
  for (const std::string_view preference : {"secondaryPreferred", "secondary", "nearest"}) {
    SCOPED_TRACE(preference);
    FakeSet mirrors(3);
    mirrors[1].react(always(kBehind));
    const RestingMaster master(choosing(), mirrors.table("", kThreeRoles));
    ASSERT_TRUE(master.shows(kThreeRoles));
    int met = 0;
    for (int i = 0; i < 40; ++i) {
      const auto before = mirrors[1].requests();
      const auto answer = master.find(preference, fmt::format("{}{}", kFromSeven, kTraced));
      EXPECT_EQ(answer.status, 200) << answer.body;
      if (mirrors[1].requests() == before) continue;
      ++met;
      EXPECT_EQ(mirrors[1].requests(), before + 1) << "it is asked once";
      const auto trace = answer.fields.at("x-karmad-trace");
      EXPECT_EQ(at(trace, "/attempts/1/mirror"), mirrors[2].address()) << trace;
      EXPECT_EQ(at(trace, "/attempts/1/pause_us"), "") << trace;
    }
    EXPECT_GE(met, 1);
    EXPECT_EQ(master.count("generation_retries"), met);
    if (preference != "nearest") {
      EXPECT_EQ(mirrors[0].requests(), 0U);
    }
  }
}

// The mirror's answer counts for later queries too, for a second: without pings there is no other
// source.
TEST(Generation, NotEveryQueryAsksAMirrorThatIsBehind) {
  FakeSet mirrors(3);
  mirrors[1].react(always(kBehind));
  const RestingMaster master(taking_turns(), mirrors.table());
  int queries = 0;
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
  for (; queries < 60 || std::chrono::steady_clock::now() < until; ++queries) {
    EXPECT_EQ(master.find("", kFromSeven).status, 200);
  }
  EXPECT_LT(mirrors[1].requests(), static_cast<std::size_t>(queries) / 5);
  const auto before = mirrors[1].requests();
  for (int i = 0; i < 9; ++i) EXPECT_EQ(master.find().status, 200);
  EXPECT_GE(mirrors[1].requests(), before + 3) << "others do not mind";
}

TEST(Generation, WhereAllReplicasAreBehindTheLastAttemptIsThePrimarys) {  // max_attempts
  FakeSet mirrors(6);
  std::vector<std::string> roles{"primary"};
  for (std::size_t i = 1; i < 6; ++i) {
    roles.emplace_back("replica");
    mirrors[i].react(always(kBehind));
  }
  const RestingMaster master(choosing("max_attempts = 4"), mirrors.table("", roles));
  ASSERT_TRUE(master.shows(roles));
  EXPECT_EQ(master.find("secondaryPreferred", kFromSeven).status, 200);
  EXPECT_EQ(mirrors.requests(), 4U);
  EXPECT_EQ(mirrors[0].requests(), 1U);
}

// The mirror with the newest reported generation is likely to catch up first.
TEST(Generation, TheNewestOfTheMirrorsBehindIsAskedAgain) {
  FakeSet mirrors(2);
  for (std::size_t i = 0; i < 2; ++i)
    mirrors[i].react([i, n = 0](const std::string&) mutable {
      if (i == 1 && n++ > 0) return nothing_found();
      return refused(404, fmt::format("X-Sub-Status: 1002\r\nX-Generation: {}\r\n", 5 + i),
                     R"({"error":"not that far yet"})");
    });
  const RestingMaster master(taking_turns(), mirrors.table());
  EXPECT_EQ(master.find("", kFromSeven).status, 200);
  EXPECT_EQ(mirrors[0].requests(), 1U);
  EXPECT_EQ(mirrors[1].requests(), 2U);
}

// CO-077: the selection uses the generations that pings report.
TEST(Generation, AReplicaThatIsKnownToBeBehindIsNotAsked) {
  const DemoAgent primary = copy_of_all("primary");
  const DemoAgent replica = copy_of_all("replica");
  const RestingMaster master(choosing(), table_of({line_of({primary.address(), replica.address()})},
                                                  "ping_type = native"));
  ASSERT_TRUE(master.shows(kRoles));
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(master.find("secondaryPreferred", "X-Min-Generation: 1000000\r\n").status, 200);
  EXPECT_EQ(master.number_of(0, "since_start/attempts"), 5);
  EXPECT_EQ(master.number_of(1, "since_start/attempts"), 0);
  EXPECT_EQ(master.find("secondaryPreferred", "X-Min-Generation: 0\r\n").status, 200);
  EXPECT_EQ(master.number_of(1, "since_start/attempts"), 1);
  EXPECT_EQ(master.find("", "X-Min-Generation: newest\r\n").status, 400);
}

}  // namespace
}  // namespace karmad::test
