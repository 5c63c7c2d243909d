// A frozen mirror accepts connections but answers neither pings nor requests. After a ping without
// an answer its waiting requests go to other mirrors.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>

#include "tests/support/fake_set.hpp"

namespace karmad::test {
namespace {

const std::vector<std::string> kRoles{"primary", "replica"};
constexpr auto kNative = "ping_type = native";

/// Two mirrors of a set with roles, each with a ping that the test can stop.
class Frozen : public testing::Test {
 protected:
  FakeMirror primary{serving("primary"), true};
  FakeMirror replica{serving("replica"), true};

  static FakeMirror::React serving(const std::string& role) {
    return [role](const std::string& request) {
      if (request.starts_with("GET /hello"))
        return json(fmt::format(R"({{"api":2,"role":"{}","set":"s","last_write_ms":1000}})", role));
      return request.starts_with("POST /insert") ? inserted() : nothing_found();
    };
  }
  std::string table() const {
    return table_of({line_of({primary.address(), replica.address()})}, kNative);
  }
  /// Query time-outs are longer than the test waits for anything.
  static std::string settings(const std::string& more = {}) {
    return "workers = 2\n ha_ping_interval = 500ms\n ping_timeout = 200ms\n local_threshold = 30s\n"
           " request_timeout = 5m\n agent_connect_timeout = 20s\n " +
           (more.contains("agent_query_timeout") ? more : "agent_query_timeout = 2m\n " + more);
  }
  static std::size_t searches(const FakeMirror& mirror) {
    const auto seen = mirror.seen();
    return static_cast<std::size_t>(std::ranges::count_if(
        seen, [](const std::string& request) { return !request.starts_with("GET /hello"); }));
  }
  void freeze() { primary.react(always(silence())); }
};

TEST_F(Frozen, SearchesThatWaitForItGoElsewhereOnceItsPingTimesOut) {  // SD-008
  const RestingMaster master(settings(), table());
  ASSERT_TRUE(master.shows(kRoles));
  freeze();
  std::vector<Pending> waiting;
  for (int i = 0; i < 8; ++i) waiting.push_back(Pending::search(master, "primaryPreferred"));
  for (auto& search : waiting) EXPECT_EQ(search.answer().status, 200);
  EXPECT_EQ(searches(replica), 8u);
  EXPECT_GE(master.count("attempts_interrupted"), 1);
  EXPECT_EQ(master.count("query_timeouts"), 0);
  EXPECT_GE(master.number_of(0, "periods/1/network_errors"), 1);
}

TEST_F(Frozen, AnInterruptedSearchIsNamedInTheTrace) {
  const RestingMaster master(settings(), table());
  ASSERT_TRUE(master.shows(kRoles));
  freeze();
  const auto answer = master.find("primaryPreferred", kTraced);
  ASSERT_EQ(answer.status, 200) << answer.body;
  const auto& trace = answer.fields.at("x-karmad-trace");
  EXPECT_TRUE(trace.contains("mirror unreachable")) << trace;
  EXPECT_TRUE(trace.contains("a ping got no answer in time")) << trace;
}

TEST_F(Frozen, TheSettingKeepsThemWhereTheyAre) {
  const RestingMaster master(settings("interrupt_unreachable = 0\n retry_reads = 0\n"), table());
  ASSERT_TRUE(master.shows(kRoles));
  auto held = nothing_found();
  held.held_from = 0;
  primary.react([held](const std::string& request) {
    return request.starts_with("GET /hello") ? silence() : held;
  });
  auto search = Pending::search(master, "primaryPreferred");
  ASSERT_TRUE(master.shows({"unknown", "replica"}));
  ASSERT_TRUE(eventually([&] { return searches(primary) == 1; }));
  primary.send_rest();
  EXPECT_EQ(search.answer().status, 200);
  EXPECT_EQ(master.count("attempts_interrupted"), 0);
}

// It is unknown whether it took effect, and no other mirror can answer it: it waits until its
// timeout.
TEST_F(Frozen, AnUpdateThatWasSentWaitsUntilItsTimeout) {
  const RestingMaster master(settings(), table());
  ASSERT_TRUE(master.shows(kRoles));
  auto held = inserted();
  held.held_from = 0;
  primary.react([held](const std::string& request) {
    return request.starts_with("GET /hello") ? silence() : held;
  });
  Pending update(master, "/insert", R"({"table":"t","id":1,"doc":{"title":"lamp"}})");
  ASSERT_TRUE(eventually([&] { return searches(primary) == 1; }));
  ASSERT_TRUE(master.shows({"unknown", "replica"}));
  primary.send_rest();
  EXPECT_EQ(update.answer().status, 200);
  EXPECT_EQ(master.count("attempts_interrupted"), 0);
  EXPECT_EQ(searches(primary), 1u);
}

TEST_F(Frozen, AnUpdateWithAKeyGoesToTheNextPrimary) {
  const RestingMaster master(settings(), table());
  ASSERT_TRUE(master.shows(kRoles));
  freeze();
  Pending update(master, "/insert", R"({"table":"t","id":1,"doc":{"title":"lamp"}})",
                 "Idempotency-Key: 17\r\n");
  ASSERT_TRUE(eventually([&] { return searches(primary) == 1; }));
  replica.react(serving("primary"));
  const auto answer = update.answer();
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(searches(replica), 1u);
}

// The setting does not end the attempt early, but after the time-out the query is repeated, because
// the pings found the mirror unreachable.
TEST_F(Frozen, ATimeOutIsRepeatedElsewhereWhenTheMirrorCannotBeReached) {
  const RestingMaster master(settings("interrupt_unreachable = 0\n agent_query_timeout = 4s"),
                             table());
  ASSERT_TRUE(master.shows(kRoles));
  freeze();
  const auto answer = master.find("primaryPreferred");
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(master.count("query_timeouts"), 1);
}

// X-18
TEST_F(Frozen, ASlowMirrorCostsOneAttemptElsewhereUnlessRetriesAreOff) {
  for (const unsigned retries : {0U, 1U}) {
    const RestingMaster master(
        settings(fmt::format("agent_query_timeout = 1s\n agent_retry_count = {}", retries)),
        table());
    ASSERT_TRUE(master.shows(kRoles));
    primary.react([](const std::string& request) {
      return request.starts_with("GET /hello") ? serving("primary")(request) : silence();
    });
    EXPECT_EQ(master.find("primaryPreferred").status, retries == 0 ? 504 : 200);
    EXPECT_EQ(searches(replica), retries);
    EXPECT_EQ(searches(primary), retries + 1U) << "of both masters";
  }
}

// Without roles and preferences, and with a strategy that ignores the state of mirrors.
TEST(FrozenInAPlainTable, SearchesThatWaitGoElsewhereAndLaterOnesAvoidIt) {
  FakeMirror frozen([](const std::string&) { return nothing_found(); }, true);
  FakeMirror fine([](const std::string&) { return nothing_found(); });
  const RestingMaster master(
      taking_turns("ha_ping_interval = 500ms\n ping_timeout = 200ms\n agent_query_timeout = 2m\n"
                   " request_timeout = 5m"),
      table_of({line_of({frozen.address(), fine.address()})}));
  ASSERT_TRUE(eventually([&] { return frozen.requests() >= 1; }));  // a ping
  frozen.react(always(silence()));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(master.find().status, 200) << i;
  ASSERT_TRUE(eventually([&] { return master.word_of(0, "last_error") != ""; }));
  const auto attempts = master.number_of(0, "since_start/attempts");
  EXPECT_LE(attempts, 4);
  EXPECT_TRUE(eventually([&] {
    const auto before = master.number_of(0, "since_start/attempts");
    for (int i = 0; i < 6; ++i) EXPECT_EQ(master.find().status, 200);
    return master.number_of(0, "since_start/attempts") == before;
  }));
}

TEST(FrozenProcess, IsNoticedAndComesBack) {
  DemoAgent primary = copy_of_all("primary");
  const DemoAgent replica = copy_of_all("replica");
  const RestingMaster master(
      "workers = 2\n ha_ping_interval = 500ms\n ping_timeout = 500ms\n local_threshold = 30s\n"
      " request_timeout = 5m\n agent_query_timeout = 2m",
      table_of({line_of({primary.address(), replica.address()})}, kNative));
  ASSERT_TRUE(master.shows(kRoles));
  primary.process().signal(SIGSTOP);
  const auto answer = master.find("primaryPreferred");
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(master.number_of(1, "since_start/attempts"), 1);
  primary.process().signal(SIGCONT);
  ASSERT_TRUE(master.shows(kRoles));
  EXPECT_EQ(master.find("primary").status, 200);
}

}  // namespace
}  // namespace karmad::test
