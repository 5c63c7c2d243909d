// The state of every mirror as an operator sees it: /agents, SHOW AGENTS, /events, the log.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <memory>

#include "tests/support/fake_set.hpp"
#include "tests/support/load.hpp"

namespace karmad::test {
namespace {

constexpr auto kStateSearch = R"({"table":"t","query":{"match_all":{}}})";

std::string state_of(const Master& master, int mirror) {
  return master.word(fmt::format("/tables/0/shards/0/mirrors/{}/state", mirror));
}

std::string diagnosis_of(const Master& master, int mirror) {
  return master.word(fmt::format("/tables/0/shards/0/mirrors/{}/diagnosis", mirror));
}

/// Searches until the mirror has the state.
bool reaches(const Master& master, int mirror, const std::string& state) {
  return eventually([&] {
    for (int i = 0; i < 10; ++i) master.search(kStateSearch);
    return state_of(master, mirror) == state;
  });
}

std::string table_of_three(const std::vector<std::unique_ptr<DemoAgent>>& agents) {
  return fmt::format(
      "table t {{\n type = distributed\n ha_strategy = roundrobin\n agent = "
      "{}|{}|{}:products\n}}\n",
      agents[0]->address(), agents[1]->address(), agents[2]->address());
}

TEST(MirrorStates, ShowWhichMirrorWasKilledWhichIsSlowAndWhichIsFrozen) {
  std::vector<std::unique_ptr<DemoAgent>> agents;
  for (const auto* name : {"a", "b", "c"})
    agents.push_back(std::make_unique<DemoAgent>("0/1", name, 0, 50));
  const Master master("agent_query_timeout = 2s\n ha_ping_interval = 200ms\n ping_timeout = 500ms",
                      table_of_three(agents));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(reaches(master, i, "ready")) << diagnosis_of(master, i);
  EXPECT_EQ(master.word("/verdict"), "all well");
  EXPECT_EQ(master.word("/tables/0/shards/0/diagnosis"), "3 of 3 mirrors ready");

  agents[1]->control("latency=fixed:60");
  ASSERT_TRUE(reaches(master, 1, "slow")) << diagnosis_of(master, 1);
  EXPECT_TRUE(diagnosis_of(master, 1).contains("those of the other mirrors"));
  EXPECT_TRUE(
      master.word("/verdict")
          .starts_with(fmt::format("table t, shard 1: 2 of 3 mirrors ready: {} slow since 20",
                                   agents[1]->address())))
      << master.word("/verdict");

  agents[2]->process().signal(SIGSTOP);
  EXPECT_TRUE(eventually([&] { return state_of(master, 2) != "ready"; }));
  EXPECT_TRUE(eventually([&] { return state_of(master, 2) == "dead"; }));
  agents[2]->process().signal(SIGCONT);
  agents[1]->control("latency=none");
  EXPECT_TRUE(reaches(master, 2, "ready")) << diagnosis_of(master, 2);
  EXPECT_TRUE(reaches(master, 1, "ready")) << diagnosis_of(master, 1);

  const auto address = agents[0]->address();
  agents[0].reset();
  EXPECT_TRUE(eventually([&] { return state_of(master, 0) == "dead"; }));
  EXPECT_TRUE(diagnosis_of(master, 0).contains("Connection refused")) << diagnosis_of(master, 0);
  const auto rows = post(master.port(), "/cli", "SHOW AGENTS").body;
  EXPECT_TRUE(rows.contains(address)) << rows;
  EXPECT_TRUE(rows.contains("dead")) << rows;
  const auto events = get(master.port(), "/events").body;
  EXPECT_TRUE(events.contains(R"("event":"started")")) << events;
  EXPECT_TRUE(events.contains(fmt::format(
      R"("table":"t","shard":1,"mirror":1,"address":"{}","state":"dead","former_state":)",
      address)))
      << events;
  EXPECT_TRUE(events.contains(R"("mirror":2,)")) << events;
}

TEST(MirrorStates, StayThroughAReload) {
  FakeSet set(2);
  const std::string searchd = "ha_ping_interval = 0\n ha_strategy = roundrobin";
  Master master(searchd, set.table());
  set[0].react(always(json(R"({"error":"disk is full"})", 500)));
  ASSERT_TRUE(reaches(master, 0, "dead")) << diagnosis_of(master, 0);
  const auto since = master.word("/tables/0/shards/0/mirrors/0/state_since");
  ASSERT_TRUE(master.reload(searchd, set.table("ha_strategy = nodeads\n")));
  EXPECT_EQ(state_of(master, 0), "dead");
  EXPECT_EQ(master.word("/tables/0/shards/0/mirrors/0/state_since"), since);
}

TEST(MirrorStates, ARecoveredMirrorHasNoLastErrorButTheEventHasIt) {
  FakeSet set(2);
  Master master("ha_ping_interval = 0\n ha_strategy = roundrobin", set.table());
  set[0].react(always(json(R"({"error":"disk is full"})", 500)));
  ASSERT_TRUE(reaches(master, 0, "dead")) << diagnosis_of(master, 0);
  EXPECT_TRUE(diagnosis_of(master, 0).contains("disk is full")) << diagnosis_of(master, 0);
  set[0].react(always(nothing_found()));
  ASSERT_TRUE(reaches(master, 0, "ready")) << diagnosis_of(master, 0);
  EXPECT_EQ(master.word("/tables/0/shards/0/mirrors/0/last_error"), "");
  EXPECT_EQ(master.word("/tables/0/shards/0/mirrors/0/last_error_at"), "");
  const auto events = get(master.port(), "/events").body;
  EXPECT_TRUE(events.contains(
      R"("state":"ready","former_state":"dead","reason":"","last_error":"disk is full",)"))
      << events;
}

// Without pings and traffic the numbers in a diagnosis do not change after the first seconds.
TEST(MirrorStates, HaveOneDiagnosisInTheLogAndOnAllPages) {
  FakeSet set(2);
  Master master("ha_ping_interval = 0\n ha_strategy = roundrobin", set.table());
  set[0].react(always(json(R"({"error":"a \"disk\"\r\nis full"})", 500)));
  ASSERT_TRUE(reaches(master, 0, "dead")) << diagnosis_of(master, 0);
  const auto since = master.word("/tables/0/shards/0/mirrors/0/state_since");
  const auto known = fmt::format("{} dead since {}: the last ", set[0].address(), since);
  EXPECT_TRUE(diagnosis_of(master, 0).starts_with(known)) << diagnosis_of(master, 0);
  EXPECT_TRUE(diagnosis_of(master, 0).contains(" failed: a \"disk\"??is full"));
  const auto of_shard = "1 of 2 mirrors ready: " + known;
  EXPECT_TRUE(master.word("/tables/0/shards/0/diagnosis").starts_with(of_shard));
  const auto of_process = "table t, shard 1: " + of_shard;
  EXPECT_TRUE(master.word("/verdict").starts_with(of_process)) << master.word("/verdict");
  EXPECT_TRUE(master.process().wait_for(" warning " + of_process)) << master.process().output();
  Process top("karmad", {"top", fmt::format("127.0.0.1:{}", master.port()), "--once"});
  EXPECT_EQ(top.wait(), 0);
  EXPECT_TRUE(top.output().contains(of_process)) << top.output();
}

TEST(Events, AreAStreamForAClientThatAcceptsOne) {
  FakeSet set(2);
  Master master("ha_ping_interval = 0\n ha_strategy = roundrobin\n max_event_streams = 1",
                set.table());
  HttpClient reader(master.port());
  ASSERT_TRUE(reader.send("GET /events HTTP/1.1\r\nHost: k\r\nAccept: text/event-stream\r\n\r\n"));
  ASSERT_TRUE(eventually([&] { return master.count("event_streams") == 1; }));
  EXPECT_EQ(ask(master.port(), "GET", "/events", {}, "Accept: text/event-stream\r\n").status, 503);
  set[0].react(always(json(R"({"error":"disk is full"})", 500)));
  ASSERT_TRUE(reaches(master, 0, "dead"));
  master.process().signal(SIGTERM);
  const auto got = reader.rest();
  EXPECT_TRUE(got.contains("Content-Type: text/event-stream\r\n")) << got;
  EXPECT_TRUE(got.contains("\r\n\r\nid: 1\ndata: {\"id\":1,")) << got;
  EXPECT_TRUE(got.contains(R"("state":"dead")")) << got;
  EXPECT_TRUE(got.ends_with("event: end\ndata: {\"reason\":\"karmad stops\"}\n\n")) << got;
  EXPECT_FALSE(reader.was_reset());
}

TEST(Events, FreeTheirPlaceWhenTheClientLeavesAndGoOnAfterAnId) {
  FakeSet set(1);
  Master master("ha_ping_interval = 0", set.table());
  {
    HttpClient reader(master.port());
    ASSERT_TRUE(
        reader.send("GET /events HTTP/1.1\r\nHost: k\r\nAccept: text/event-stream\r\n\r\n"));
    ASSERT_TRUE(eventually([&] { return master.count("event_streams") == 1; }));
  }
  EXPECT_TRUE(eventually([&] { return master.count("event_streams") == 0; }));
  EXPECT_EQ(get(master.port(), "/events?since=1").body, R"({"newest":1,"events":[]})");
  EXPECT_TRUE(get(master.port(), "/events?since=999").body.contains(R"("id":1,)"))
      << "an id from before a restart";
  const auto head = ask(master.port(), "HEAD", "/events", {}, "Accept: text/event-stream\r\n");
  EXPECT_EQ(head.status, 200);
  EXPECT_FALSE(head.fields.contains("content-length"));
  for (const auto* wrong :
       {"/events?after=1", "/events?since=x", "/events?since=", "/events?since"})
    EXPECT_EQ(get(master.port(), wrong).status, 400) << wrong;
}

TEST(Events, EndForASlowReaderWithTheReason) {
  FakeSet set(2);
  const std::string searchd = "ha_ping_interval = 0\n ha_strategy = roundrobin\n";
  Master master(searchd + " network_timeout = 60s", set.table());
  const auto wrong = searchd + std::string(400, 'w') + " = 1";
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(master.reload(wrong, set.table()));
  HttpClient reader(master.port(), 4096);
  ASSERT_TRUE(reader.send("GET /events HTTP/1.1\r\nHost: k\r\nAccept: text/event-stream\r\n\r\n"));
  ASSERT_TRUE(eventually([&] { return master.count("event_streams") == 1; }));
  // A mirror is ready again after a second: the reader has not taken a piece for that long.
  set[0].react(always(json(R"({"error":"disk is full"})", 500)));
  ASSERT_TRUE(reaches(master, 0, "dead"));
  set[0].react(always(nothing_found()));
  ASSERT_TRUE(reaches(master, 0, "ready"));
  const auto got = reader.rest();
  EXPECT_TRUE(got.ends_with("event: end\ndata: {\"reason\":\"the client reads too slowly\"}\n\n"))
      << got.size()
      << " bytes: " << got.substr(got.size() - std::min<std::size_t>(got.size(), 200));
  EXPECT_FALSE(reader.was_reset());
  EXPECT_EQ(master.count("event_streams"), 0);
}

TEST(Events, TellOfReloadsAndOfThoseThatFailed) {
  FakeSet set(1);
  Master master("ha_ping_interval = 0", set.table());
  ASSERT_TRUE(master.reload("ha_ping_interval = 0", set.table()));
  EXPECT_TRUE(eventually(
      [&] { return get(master.port(), "/events").body.contains(R"("event":"reloaded")"); }));
  master.reload("no_such_key = 0", set.table());
  EXPECT_TRUE(eventually([&] {
    const auto body = get(master.port(), "/events").body;
    return body.contains(R"("event":"reload_failed")") && body.contains("no_such_key");
  }));
}

}  // namespace
}  // namespace karmad::test
