// The errors sent when no mirror is suitable; and that no request waits longer than necessary.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/fake_set.hpp"

namespace karmad::test {
namespace {

/// A set without its primary; the configuration assigns the roles.
class NoPrimary : public testing::Test {
 protected:
  FakeMirror replica{[](const std::string&) { return nothing_found(); }};
  ClosedPort primary;

  std::string table(const std::string& settings = {}) const {
    return table_of({fmt::format("{}[role=primary]|{}[role=replica,tags=dc:ny]", primary.address(),
                                 replica.address())},
                    settings);
  }
};

TEST_F(NoPrimary, AnInvalidReadPreferenceIsRefusedAtOnce) {  // SS-041 … SS-045, SS-060, SS-093
  const RestingMaster master(choosing(), table());
  ASSERT_TRUE(master.shows({"unknown", "replica"}));
  const struct {
    std::string_view preference;
    std::string_view code;  // as the error has it
  } cases[] = {
      {"mode=secondary;maxStalenessSeconds=89", "160"},
      {R"({"mode":"nearest","maxStalenessSeconds":1})", "160"},
      {"mode=primary;maxStalenessSeconds=120", ""},
      {"mode=primary;tags=dc:ny", ""},
      {"mode=secondary;maxStalenessSeconds=0", ""},
      {R"({"mode":"secondary","maxStalenessSeconds":-7})", ""},
      {R"({"mode":"secondary","maxStalenessSeconds":90.5})", ""},
      {"mode=secondary;mode=nearest", ""},
      {"Secondary", ""},
      {"mode=quickest", ""},
      {R"({"tags":[{}]})", ""},
      {R"({"mode":)", ""},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.preference);
    const auto answer = master.find(c.preference);
    EXPECT_EQ(answer.status, 400) << answer.body;
    EXPECT_EQ(at(answer.body, "/error/type"), "bad_read_preference") << answer.body;
    EXPECT_EQ(at(answer.body, "/error/code"), c.code) << answer.body;
    EXPECT_NE(at(answer.body, "/error/reason"), "");
  }
  for (const std::string_view target :
       {"/search?read_preference=nearest",
        "/search?read_preference=primary&read_preference=nearest",
        "/search?x&read_preference=nearest&read_preference=primary"}) {
    const auto twice = ask(master.port(), "POST", target, kFindAll, preferring("primary"));
    EXPECT_EQ(twice.status, 400) << target << twice.body;
  }
  // Those with a code are queries, which the mirror set refused.
  EXPECT_EQ(master.count("queries"), 2);
  EXPECT_EQ(master.count("queries_failed"), 2);
  EXPECT_EQ(master.count("bad_requests"), 13);
  EXPECT_EQ(master.count("selections_waited"), 0);
  EXPECT_EQ(replica.requests(), 0u);
}

TEST_F(NoPrimary, TimeUpIsA503ThatNamesTheCriteriaAndEveryMirror) {  // SS-170
  const RestingMaster master(choosing("selection_timeout = 200ms"), table());
  ASSERT_TRUE(master.shows({"unknown", "replica"}));
  ASSERT_TRUE(eventually([&] { return master.word_of(0, "last_error") != ""; }));
  const auto answer = master.find("primary");
  EXPECT_EQ(answer.status, 503) << answer.body;
  const auto part = [&](const std::string& pointer) { return at(answer.body, "/error" + pointer); };
  EXPECT_EQ(at(answer.body, "/status"), "503");
  EXPECT_EQ(part("/type"), "selection_timeout");
  EXPECT_EQ(part("/reason"), R"(no mirrors are suitable for {"mode":"primary"})");
  EXPECT_EQ(part("/criteria"), R"({"mode":"primary"})");
  EXPECT_EQ(part("/kind"), "roles");
  EXPECT_EQ(part("/mirrors/0/address"), primary.address());
  EXPECT_EQ(part("/mirrors/0/role"), "unknown");
  EXPECT_EQ(part("/mirrors/0/last_error"), "Connection refused");
  EXPECT_EQ(part("/mirrors/1/address"), replica.address());
  EXPECT_EQ(part("/mirrors/1/role"), "replica");
  EXPECT_EQ(part("/mirrors/1/last_error"), "");
  EXPECT_EQ(part("/mirrors/1/why"), "is a replica, only the primary is wanted");
  EXPECT_EQ(part("/mirrors/2"), "");
  EXPECT_EQ(master.count("selections_waited"), 1);
  EXPECT_EQ(master.count("selections_failed"), 1);
  const auto tags = master.find("mode=secondary;tags=dc:sf");
  EXPECT_EQ(at(tags.body, "/error/criteria"), R"({"mode":"secondary","tags":[{"dc":"sf"}]})");
  EXPECT_EQ(at(tags.body, "/error/mirrors/1/why"), "has no tag set of dc:sf");
}

TEST_F(NoPrimary, WithoutAnAvailableMirrorTheCommonErrorIsTheReason) {  // SS-170
  const ClosedPort other;
  const RestingMaster master(choosing("selection_timeout = 200ms"),
                             table_of({fmt::format("{}[role=primary]|{}[role=replica]",
                                                   primary.address(), other.address())}));
  ASSERT_TRUE(eventually([&] {
    return master.word_of(0, "last_error") == "Connection refused" &&
           master.word_of(1, "last_error") == "Connection refused";
  }));
  const auto answer = master.find("nearest");
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(at(answer.body, "/error/reason"),
            R"(no mirrors are suitable for {"mode":"nearest"}: Connection refused)")
      << answer.body;
}

TEST_F(NoPrimary, ShowsNoPastErrors) {
  FakeSet mirrors(2);
  const RestingMaster master(choosing("selection_timeout = 0"),
                             mirrors.table("", {"replica", "replica"}));
  ASSERT_TRUE(master.shows({"replica", "replica"}));
  mirrors[0].react(always(json(R"({"error":"internal error"})", 500)));
  ASSERT_TRUE(eventually([&] {
    master.find("secondary");
    return master.word_of(0, "last_error").contains("internal error");
  }));
  mirrors[0].react(always(nothing_found()));
  ASSERT_TRUE(eventually([&] {
    master.find("secondary");
    return master.number_of(0, "errors_in_a_row") == 0;
  }));
  const auto answer = master.find("primary");
  EXPECT_EQ(at(answer.body, "/error/mirrors/0/role"), "replica") << answer.body;
  EXPECT_EQ(at(answer.body, "/error/mirrors/0/last_error"), "") << answer.body;
}

TEST_F(NoPrimary, WithASelectionTimeoutOfZeroNoQueryWaits) {  // SS-015
  const RestingMaster master(choosing("selection_timeout = 0"), table());
  ASSERT_TRUE(master.shows({"unknown", "replica"}));
  const auto answer = master.find("primary");
  EXPECT_EQ(answer.status, 503) << answer.body;
  EXPECT_EQ(at(answer.body, "/error/type"), "selection_timeout");
  EXPECT_EQ(master.count("selections_waited"), 0);
  EXPECT_EQ(master.count("selections_failed"), 1);
  EXPECT_EQ(master.find("secondary").status, 200);
}

TEST_F(NoPrimary, TheRequestsOwnDeadlineShortensTheWait) {  // SS-111
  const RestingMaster master(choosing(), table());          // five minutes otherwise
  ASSERT_TRUE(master.shows({"unknown", "replica"}));
  const auto answer = master.find("primary", "X-Timeout-Ms: 300\r\n");
  EXPECT_EQ(answer.status, 503) << answer.body;
  EXPECT_EQ(at(answer.body, "/error/type"), "selection_timeout");
}

TEST_F(NoPrimary, MoreWaitersThanAllowedAreRefusedAsOverload) {  // SS-113, BP-015
  const RestingMaster master(choosing("max_waiting_selections = 1"), table());
  ASSERT_TRUE(master.shows({"unknown", "replica"}));
  {
    const auto first = Pending::search(master, "primary");
    ASSERT_TRUE(master.has_waiting(1));
    auto second = master.find("primary");
    EXPECT_EQ(second.status, 429) << second.body;
    EXPECT_EQ(second.fields["retry-after"], "1");
    const auto labels = second.fields["x-error-labels"];
    EXPECT_TRUE(labels.contains("SystemOverloadedError")) << labels;
    EXPECT_TRUE(labels.contains("RetryableError")) << labels;
    EXPECT_EQ(at(second.body, "/error/code"), "462");
    EXPECT_EQ(at(second.body, "/error/labels"), R"(["SystemOverloadedError","RetryableError"])");
    EXPECT_EQ(at(second.body, "/status"), "429");
    EXPECT_EQ(master.count("selections_refused"), 1);
    EXPECT_EQ(master.find("secondary").status, 200) << "who need not wait is let through";
  }
  // The first one has left: its place is free (SS-114).
  ASSERT_TRUE(master.has_waiting(0));
  const auto third = Pending::search(master, "primary");
  EXPECT_TRUE(master.has_waiting(1));
}

TEST_F(NoPrimary, AClientThatLeavesDoesNotWaitOn) {  // SS-114
  const RestingMaster master(choosing(), table());
  ASSERT_TRUE(master.shows({"unknown", "replica"}));
  {
    std::vector<Pending> searches;
    for (int i = 0; i < 8; ++i) searches.push_back(Pending::search(master, "primary"));
    ASSERT_TRUE(master.has_waiting(8));
  }
  EXPECT_TRUE(master.has_waiting(0));
  EXPECT_TRUE(eventually([&] { return master.count("clients_left") == 8; }));
  EXPECT_EQ(master.count("selections_failed"), 0);
}

TEST_F(NoPrimary, AnEndOfTheProgramDoesNotWaitForThem) {
  RestingMaster master(choosing("shutdown_timeout = 1s"), table());
  ASSERT_TRUE(master.shows({"unknown", "replica"}));
  auto search = Pending::search(master, "primary");
  ASSERT_TRUE(master.has_waiting(1));
  master.process().signal(SIGTERM);
  EXPECT_EQ(master.process().wait(), 0) << master.process().output();
}

/// The sets of shards whose first mirror is the primary.
std::string shards_of(const std::vector<std::pair<std::string, std::string>>& sets) {
  std::vector<std::string> lines;
  for (const auto& [primary, replica] : sets)
    lines.push_back(fmt::format("{}[role=primary]|{}[role=replica]", primary, replica));
  return table_of(lines);
}

// Nothing was sent for a query that waits: a reload that brings a primary answers it.
TEST_F(NoPrimary, WhatWaitsGoesOnWithTheMirrorsOfAReload) {  // SS-112
  const FakeMirror promoted([](const std::string&) { return nothing_found(); });
  RestingMaster master(choosing(), table());
  ASSERT_TRUE(master.shows({"unknown", "replica"}));
  {
    std::vector<Pending> before;
    for (int i = 0; i < 20; ++i) before.push_back(Pending::search(master, "primary"));
    ASSERT_TRUE(master.has_waiting(20));
    ASSERT_TRUE(master.reload(choosing(), shards_of({{promoted.address(), replica.address()}})));
    for (auto& search : before) {
      const auto answer = search.answer();
      EXPECT_EQ(answer.status, 200) << answer.body;
    }
  }
  EXPECT_TRUE(master.has_waiting(0));
  EXPECT_EQ(master.count("selections_failed"), 0);
  EXPECT_EQ(master.count("queries_failed"), 0);
  EXPECT_EQ(master.count("queries"), 20);
}

TEST_F(NoPrimary, AWaitOutlastsReloadsThatBringNoPrimary) {
  const ClosedPort other;
  const FakeMirror promoted([](const std::string&) { return nothing_found(); });
  RestingMaster master(choosing(), table());
  ASSERT_TRUE(master.shows({"unknown", "replica"}));
  auto search = Pending::search(master, "primary");
  Pending change(master, "/insert", R"({"table":"t","id":7,"doc":{"n":1}})");
  ASSERT_TRUE(master.has_waiting(2));
  ASSERT_TRUE(master.reload(choosing(), shards_of({{other.address(), replica.address()}})));
  ASSERT_TRUE(eventually([&] { return master.count("planned_anew") == 2; }));
  ASSERT_TRUE(master.has_waiting(2));
  ASSERT_TRUE(master.reload(choosing(), table()));
  ASSERT_TRUE(eventually([&] { return master.count("planned_anew") == 4; }));
  ASSERT_TRUE(master.reload(choosing(), shards_of({{promoted.address(), replica.address()}})));
  EXPECT_EQ(search.answer().status, 200);
  EXPECT_LT(change.answer().status, 500);
  EXPECT_EQ(promoted.requests(), 2u);
}

// One shard has answered already, or waits, too; also if the reload takes the waiting shard away.
TEST_F(NoPrimary, ASearchOfTwoShardsGoesOnWithTheMirrorsOfAReload) {
  const FakeMirror other([](const std::string&) { return nothing_found(); });
  const FakeMirror promoted([](const std::string&) { return nothing_found(); });
  const ClosedPort closed;
  const std::pair whole{other.address(), replica.address()};
  const std::pair lacking{primary.address(), replica.address()};
  const std::pair none{closed.address(), replica.address()};
  const std::pair now{promoted.address(), replica.address()};
  for (const auto& [before, after] :
       {std::pair{shards_of({lacking, whole}), shards_of({now, whole})},
        std::pair{shards_of({whole, lacking}), shards_of({whole, now})},
        std::pair{shards_of({lacking, none}), shards_of({now, whole})},
        std::pair{shards_of({whole, lacking}), shards_of({whole})},
        std::pair{shards_of({lacking}), shards_of({now, whole, whole})}}) {
    SCOPED_TRACE(after);
    RestingMaster master(choosing(), before);
    auto search = Pending::search(master, "primary");
    ASSERT_TRUE(eventually([&] { return master.count("selections_waiting") > 0; }));
    ASSERT_TRUE(master.reload(choosing(), after));
    const auto answer = search.answer();
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_FALSE(answer.body.contains("warning")) << answer.body;
  }
}

TEST_F(NoPrimary, AReloadWithoutTheTableEndsTheWait) {
  RestingMaster master(choosing(), table());
  ASSERT_TRUE(master.shows({"unknown", "replica"}));
  auto before = Pending::search(master, "primary");
  ASSERT_TRUE(master.has_waiting(1));
  auto renamed = table();
  renamed.replace(renamed.find("table t"), 7, "table u");
  ASSERT_TRUE(master.reload(choosing(), renamed));
  const auto answer = before.answer();
  const auto later = master.find("primary");
  EXPECT_EQ(answer.status, later.status);
  EXPECT_EQ(answer.body, later.body) << "the same error as for a new query";
  EXPECT_TRUE(master.has_waiting(0));
}

// Cancelled, timed out and failed attempts are given back, too.
TEST_F(NoPrimary, FailedAttemptsAreNoLongerInFlight) {  // SS-114
  replica.react([](const std::string&) { return silence(); });
  const RestingMaster master(choosing(), table());
  ASSERT_TRUE(master.shows({"unknown", "replica"}));
  {
    std::vector<Pending> searches;
    for (int i = 0; i < 4; ++i) searches.push_back(Pending::search(master, "secondary"));
    EXPECT_TRUE(eventually([&] { return master.number_of(1, "in_flight") == 4; }));
  }
  EXPECT_TRUE(eventually([&] { return master.number_of(1, "in_flight") == 0; }));
  EXPECT_EQ(master.find("secondary", "X-Timeout-Ms: 300\r\n").status, 504);
  EXPECT_EQ(master.number_of(1, "in_flight"), 0);
  replica.react([](const std::string&) { return Reaction{"", Reaction::Then::reset}; });
  EXPECT_EQ(master.find("secondary", "X-Timeout-Ms: 5000\r\n").status, 502);
  EXPECT_EQ(master.number_of(1, "in_flight"), 0);
}

// Only one of two shards has its primary: the answer has its hits and a warning, or is an error if
// partial results are denied.
TEST_F(NoPrimary, AShardWithoutASuitableMirrorIsMissingLikeOneThatFails) {
  const FakeMirror other([](const std::string&) { return nothing_found(); });
  const RestingMaster master(
      choosing("selection_timeout = 200ms"),
      table_of(
          {fmt::format("{}[role=primary]|{}[role=replica]", primary.address(), replica.address()),
           fmt::format("{}[role=primary]|{}[role=replica]", other.address(), replica.address())}));
  ASSERT_TRUE(master.shows({"unknown", "replica"}));
  ASSERT_TRUE(
      eventually([&] { return master.word("/tables/0/shards/1/mirrors/0/role") == "primary"; }));
  const auto partial = master.find("primary");
  EXPECT_EQ(partial.status, 200) << partial.body;
  EXPECT_TRUE(partial.body.contains("no mirrors are suitable")) << partial.body;
  const auto denied = master.find("primary", "X-Partial-Results: deny\r\n");
  EXPECT_EQ(denied.status, 503) << denied.body;
  EXPECT_EQ(at(denied.body, "/error/type"), "selection_timeout") << denied.body;
  EXPECT_EQ(at(denied.body, "/error/mirrors/0/address"), primary.address()) << denied.body;
  EXPECT_EQ(master.find("secondary").status, 200);
}

}  // namespace
}  // namespace karmad::test
