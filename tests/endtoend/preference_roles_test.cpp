// Primary and replicas as real processes: a primary that dies, one that is promoted, one that lags.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/role_set.hpp"

namespace karmad::test {
namespace {

/// A primary and two replicas, one table over them.
class Roles : public testing::Test {
 protected:
  DemoAgent a = copy_of_all("primary", "dc:ny");
  DemoAgent b = copy_of_all("replica", "dc:ny,rack:2");
  DemoAgent c = copy_of_all("replica", "dc:sf");

  std::string table(const std::string& settings = {}) const {
    return table_of({line_of({a.address(), b.address(), c.address()})},
                    "ping_type = native\n " + settings);
  }
  static double searches(const DemoAgent& agent) { return agent.number("/requests/search"); }
};

TEST_F(Roles, EachModeReachesTheCopiesItNames) {  // SS-032 … SS-036
  const RestingMaster master(choosing(), table());
  ASSERT_TRUE(master.shows({"primary", "replica", "replica"}));
  EXPECT_EQ(master.word("/tables/0/shards/0/kind"), "roles");
  EXPECT_EQ(master.spread(10, "primary"), (std::vector{10, 0, 0}));
  EXPECT_EQ(master.spread(10, "primaryPreferred"), (std::vector{10, 0, 0}));
  EXPECT_EQ(master.spread(40, "secondary")[0], 0);
  EXPECT_EQ(master.spread(40, "secondaryPreferred")[0], 0);
  // Three equal mirrors have a third each; a mirror gets none of 60 once in 10^10 runs.
  for (const auto attempts : master.spread(60, "nearest")) EXPECT_GT(attempts, 0);
  for (const auto attempts : master.spread(60)) EXPECT_GT(attempts, 0);
}

TEST_F(Roles, EveryKindOfReadTakesOne) {  // SS-105
  const RestingMaster master(choosing(), table());
  ASSERT_TRUE(master.shows({"primary", "replica", "replica"}));
  constexpr std::string_view sql = "SELECT id FROM t LIMIT 1";
  const struct {
    std::string_view target;
    std::string_view body;
  } reads[] = {{"/search", kFindAll},
               {"/json/search", kFindAll},
               {"/sql?mode=raw", sql},
               {"/cli_json", sql}};
  for (const auto& read : reads) {
    SCOPED_TRACE(read.target);
    const auto before = master.number_of(1, "since_start/attempts");
    const auto fields = preferring("mode=nearest;tags=rack:2");
    for (int i = 0; i < 5; ++i)
      EXPECT_EQ(ask(master.port(), "POST", read.target, read.body, fields).status, 200);
    EXPECT_EQ(master.number_of(1, "since_start/attempts"), before + 5);
  }
}

TEST_F(Roles, PrimaryPreferredGoesOnWithReplicasAtOnceWhenThePrimaryIsKilled) {  // SS-034, SS-112
  RestingMaster master(choosing(), table("read_preference = primaryPreferred"));
  ASSERT_TRUE(master.shows({"primary", "replica", "replica"}));
  EXPECT_EQ(master.spread(10), (std::vector{10, 0, 0}));
  a.process().kill();
  ASSERT_TRUE(a.process().wait());
  const auto after = master.spread(20);  // all of them are answered
  EXPECT_EQ(after[1] + after[2], 20);
  EXPECT_EQ(master.count("selections_waited"), 0);
  EXPECT_TRUE(master.shows({"unknown", "replica", "replica"}));
  EXPECT_EQ(master.spread(10)[0], 0);
}

TEST_F(Roles, PrimaryWaitsAndSucceedsWhenAnotherIsPromoted) {  // SS-128, SS-112
  RestingMaster master(choosing(), table("read_preference = primary"));
  ASSERT_TRUE(master.shows({"primary", "replica", "replica"}));
  a.process().kill();
  ASSERT_TRUE(a.process().wait());
  ASSERT_TRUE(master.shows({"unknown", "replica", "replica"}));
  const auto before = searches(b);
  auto search = Pending::search(master, "primary");
  ASSERT_TRUE(master.has_waiting(1));
  EXPECT_EQ(master.count("selections_waited"), 1);
  b.control("role=primary");
  EXPECT_EQ(search.answer().status, 200);
  EXPECT_EQ(searches(b), before + 1);
  EXPECT_TRUE(master.has_waiting(0));
  EXPECT_TRUE(master.shows({"unknown", "primary", "replica"}));
  EXPECT_EQ(master.count("selections_failed"), 0);
}

TEST_F(Roles, WaitersOfAllWorkersGoOnTogether) {  // SS-112, SD-005
  auto settings = choosing();
  settings.replace(settings.find("workers = 1"), 11, "workers = 3");
  a.control("role=other");
  const RestingMaster master(settings, table("read_preference = primary"));
  ASSERT_TRUE(master.shows({"other", "replica", "replica"}));
  std::vector<Pending> searches;
  for (int i = 0; i < 12; ++i) searches.push_back(Pending::search(master, "primary"));
  ASSERT_TRUE(master.has_waiting(12));
  c.control("role=primary");
  for (auto& search : searches) EXPECT_EQ(search.answer().status, 200);
}

TEST_F(Roles, AFormerPrimaryThatComesBackWithAnOlderElectionIsNotUsedAsOne) {  // SD-014
  const RestingMaster master(choosing(), table("read_preference = primary"));
  ASSERT_TRUE(master.shows({"primary", "replica", "replica"}));
  a.control("mode=refuse");
  ASSERT_TRUE(master.shows({"unknown", "replica", "replica"}));
  b.control("role=primary");
  ASSERT_TRUE(master.shows({"unknown", "primary", "replica"}));
  a.control("mode=ok");  // it was not told
  EXPECT_TRUE(eventually([&] {
    return master.word_of(0, "unsuitable").contains("electionId/setVersion mismatch");
  })) << master.word_of(0, "unsuitable");
  EXPECT_EQ(master.spread(20), (std::vector{0, 20, 0}));
  EXPECT_EQ(master.word_of(0, "role"), "unknown");
  a.control("role=replica");
  EXPECT_TRUE(master.shows({"replica", "primary", "replica"}));
}

TEST_F(Roles, ANewerPrimaryReplacesTheFormerOne) {  // SD-014
  const RestingMaster master(choosing(), table("read_preference = primary"));
  ASSERT_TRUE(master.shows({"primary", "replica", "replica"}));
  b.control("role=primary");
  EXPECT_TRUE(master.shows({"unknown", "primary", "replica"}));
  EXPECT_EQ(master.spread(10), (std::vector{0, 10, 0}));
  EXPECT_TRUE(master.word_of(0, "unsuitable").contains("primary marked stale"))
      << master.word_of(0, "unsuitable");
}

TEST_F(Roles, ALaggingReplicaDropsOutAtItsLimitAndReturns) {  // SS-047 … SS-050
  const RestingMaster master(choosing(),
                             table("read_preference = secondary\n max_staleness = 90s"));
  ASSERT_TRUE(master.shows({"primary", "replica", "replica"}));
  b.control("lag=200");
  ASSERT_TRUE(eventually([&] { return master.number_of(1, "staleness_ms") > 150'000; }));
  EXPECT_TRUE(master.word_of(1, "unsuitable").contains("lags")) << master.word_of(1, "unsuitable");
  EXPECT_EQ(master.spread(20), (std::vector{0, 0, 20}));
  b.control("lag=30");
  ASSERT_TRUE(eventually([&] { return master.number_of(1, "staleness_ms") < 60'000; }));
  EXPECT_EQ(master.word_of(1, "unsuitable"), "");
  const auto both = master.spread(60);
  EXPECT_EQ(both[0], 0);
  EXPECT_GT(both[1], 0);
  EXPECT_GT(both[2], 0);
}

TEST_F(Roles, WithoutAFreshReplicaSecondaryPreferredTakesThePrimary) {  // SS-035
  const RestingMaster master(choosing(), table("read_preference = secondaryPreferred\n"
                                               " max_staleness = 90s"));
  ASSERT_TRUE(master.shows({"primary", "replica", "replica"}));
  b.control("lag=200");
  c.control("lag=300");
  ASSERT_TRUE(eventually([&] {
    return master.number_of(1, "staleness_ms") > 150'000 &&
           master.number_of(2, "staleness_ms") > 150'000;
  }));
  EXPECT_EQ(master.spread(10), (std::vector{10, 0, 0}));
}

TEST_F(Roles, TagsPreferAndFallBack) {  // SS-061 … SS-064, SS-080, SS-081, SS-093
  const RestingMaster master(choosing(),
                             table("read_preference = nearest\n tag_sets = dc:sf|dc:ny,rack:2"));
  ASSERT_TRUE(master.shows({"primary", "replica", "replica"}));
  EXPECT_EQ(master.word_of(1, "tags"), "dc:ny,rack:2");
  const std::vector only_b{0, 10, 0};
  const std::vector only_c{0, 0, 10};
  EXPECT_EQ(master.spread(10), only_c);  // the table's
  // The preference of the request replaces that of the table completely, in either form.
  EXPECT_EQ(master.spread(10, "mode=nearest;tags=rack:2,dc:ny"), only_b);
  EXPECT_EQ(master.spread(10, R"({"mode":"nearest","tags":[{"rack":"2"}]})"), only_b);
  EXPECT_EQ(master.spread(10, R"({"mode":"secondary","tags":[{"dc":"la"},{"dc":"ny"},{}]})"),
            only_b);
  EXPECT_EQ(master.spread(10, "primary"), (std::vector{10, 0, 0}));
  for (const auto attempts : master.spread(60, "nearest")) EXPECT_GT(attempts, 0);
  const auto target = "/search?read_preference=mode%3Dnearest%3Btags%3Drack%3A2";
  const auto before = searches(b);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(post(master.port(), target, kFindAll).status, 200);
  EXPECT_EQ(searches(b), before + 10);
  // Without the preferred one the next set decides, and the mirror is preferred again at once.
  c.control("draining=1");
  ASSERT_TRUE(master.shows({"primary", "replica", "other"}));
  EXPECT_EQ(master.spread(10), only_b);
  c.control("draining=0");
  ASSERT_TRUE(master.shows({"primary", "replica", "replica"}));
  EXPECT_EQ(master.spread(10), only_c);
}

TEST_F(Roles, AMirrorThatLearnsNewTagsIsChosenByThem) {  // SD-009
  const RestingMaster master(choosing(), table("read_preference = nearest\n tag_sets = dc:la|"));
  ASSERT_TRUE(master.shows({"primary", "replica", "replica"}));
  for (const auto attempts : master.spread(60)) EXPECT_GT(attempts, 0);
  b.control("tags=dc:la");
  ASSERT_TRUE(eventually([&] { return master.word_of(1, "tags") == "dc:la"; }));
  EXPECT_EQ(master.spread(10), (std::vector{0, 10, 0}));
}

// SS-037: such mirrors are pinged and shown, but never selected.
TEST_F(Roles, MirrorsThatDoNotServeAreNeverSelected) {
  const RestingMaster master(choosing(), table("read_preference = nearest"));
  ASSERT_TRUE(master.shows({"primary", "replica", "replica"}));
  for (const std::string role : {"arbiter", "other", "ghost"}) {
    c.control("role=" + role);
    ASSERT_TRUE(master.shows({"primary", "replica", role}));
    EXPECT_EQ(master.spread(20)[2], 0) << role;
  }
  c.control("role=replica&hidden=1");
  ASSERT_TRUE(master.shows({"primary", "replica", "other"}));
  EXPECT_EQ(master.spread(20)[2], 0);
  EXPECT_TRUE(master.word_of(2, "unsuitable").contains("hidden"))
      << master.word_of(2, "unsuitable");
}

// A mixed set: a mirror that reports no role is shown and not searched.
TEST_F(Roles, AStandaloneAmongRolesIsNotSearched) {
  const RestingMaster master(choosing(), table("read_preference = nearest"));
  ASSERT_TRUE(master.shows({"primary", "replica", "replica"}));
  c.control("role=standalone");
  ASSERT_TRUE(master.shows({"primary", "replica", "unknown"}));
  EXPECT_EQ(master.spread(20)[2], 0);
  EXPECT_EQ(at(get(master.port(), "/agents").body, "/tables/0/shards/0/mixed"), "true");
}

TEST_F(Roles, TheConfiguredRoleReplacesTheReportedOne) {
  const RestingMaster master(
      choosing(), table_of({fmt::format("{}[role=replica,tags=dc:la]|{}|{}:products", a.address(),
                                        b.address(), c.address())},
                           "ping_type = native\n read_preference = secondary\n tag_sets = dc:la|"));
  ASSERT_TRUE(master.shows({"replica", "replica", "replica"}));
  EXPECT_EQ(master.spread(10), (std::vector{10, 0, 0}));
}

TEST_F(Roles, ThePrimaryIsNotUnsuitableWhileItIsAskedInThePlaceOfReplicas) {
  for (const bool both : {false, true}) {
    const auto line = fmt::format("{}|{}[state=drain]|{}:products[state={}]", a.address(),
                                  b.address(), c.address(), both ? "maint" : "ready");
    const RestingMaster master(
        choosing(), table_of({line}, "ping_type = native\n read_preference = secondaryPreferred"));
    ASSERT_TRUE(eventually([&] { return master.spread(1)[both ? 0 : 2] == 1; }));
    EXPECT_EQ(master.word_of(0, "unsuitable"),
              both ? "" : "is the primary, replicas are preferred");
    EXPECT_EQ(master.status("mirror_t_1_1_unsuitable", "SHOW AGENT STATUS") == "none", both);
  }
}

// Both forms of the status show the values that the selection used.
TEST_F(Roles, TheStatusShowsWhatIsKnownOfEachMirror) {
  b.control("generation=7&lag=120");
  const RestingMaster master(choosing(),
                             table("read_preference = secondary\n max_staleness = 90s"));
  ASSERT_TRUE(master.shows({"primary", "replica", "replica"}));
  ASSERT_TRUE(eventually([&] { return master.number_of(0, "rtt_ms_least") > 0; }));  // SD-011
  EXPECT_EQ(master.word("/tables/0/shards/0/criteria"),
            R"({"mode":"secondary","maxStalenessSeconds":90})");
  EXPECT_EQ(master.number_of(1, "generation"), 7);
  EXPECT_GT(master.number_of(1, "staleness_ms"), 90'000);
  EXPECT_GT(master.number_of(1, "rtt_ms"), 0);
  EXPECT_EQ(master.word_of(0, "unsuitable"), "is the primary, only replicas are wanted");
  EXPECT_TRUE(master.word_of(1, "unsuitable").starts_with("lags 1"));
  EXPECT_EQ(master.word_of(2, "unsuitable"), "");
  const auto row = [&](std::size_t mirror, const std::string& key) {
    return master.status(fmt::format("mirror_t_1_{}_{}", mirror, key), "SHOW AGENT STATUS");
  };
  EXPECT_EQ(row(1, "role"), "primary");
  EXPECT_EQ(row(2, "role"), "replica");
  EXPECT_EQ(row(2, "tags"), "dc:ny,rack:2");
  EXPECT_EQ(row(2, "generation"), "7");
  EXPECT_GT(std::atof(row(2, "staleness_ms").c_str()), 90'000);
  EXPECT_GT(std::atof(row(2, "rtt_ms").c_str()), 0);
  EXPECT_EQ(row(2, "in_flight"), "0");
  EXPECT_EQ(row(1, "staleness_ms"), "n/a");
  EXPECT_EQ(row(1, "unsuitable"), "is the primary, only replicas are wanted");
  EXPECT_EQ(row(3, "unsuitable"), "none");
  b.control("mode=blackhole&pings=0&lag=0");
  ASSERT_TRUE(eventually([&] { return master.word_of(1, "unsuitable").empty(); }));
  {
    const auto search = Pending::search(master, "mode=nearest;tags=rack:2");
    EXPECT_TRUE(eventually([&] { return row(2, "in_flight") == "1"; }));
  }
  EXPECT_TRUE(eventually([&] { return row(2, "in_flight") == "0"; }));
}

}  // namespace
}  // namespace karmad::test
