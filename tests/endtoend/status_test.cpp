// The status of agents shows what happened to them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>

#include "tests/support/cluster.hpp"
#include "tests/support/fake_mirror.hpp"
#include "tests/support/fake_set.hpp"

namespace karmad::test {
namespace {

FakeMirror::React reacting_with(const Reaction& reaction) {
  return [reaction](const std::string&) { return reaction; };
}

std::string status_table(const std::string& name, const std::string& line) {
  return fmt::format("table {} {{\n type = distributed\n agent = {}\n}}\n", name, line);
}

std::string status_query(std::string_view name) {
  return fmt::format(R"({{"table":"{}","query":{{"match_all":{{}}}}}})", name);
}

constexpr auto kAgents = "SHOW AGENT STATUS";

// Manticore shows another number.
TEST(Status, ElevenRefusedConnectionsShowAsElevenEverywhere) {
  const ClosedPort refused;
  const Master master("ha_ping_interval = 0", status_table("t", refused.address()));
  for (int i = 0; i < 11; ++i) EXPECT_EQ(master.search(status_query("t")).status, 502);
  for (const auto periods : {1, 5, 15})
    EXPECT_EQ(master.count(fmt::format("ag_0_{}periods_connect_failures", periods), kAgents), 11);
  EXPECT_EQ(master.count("ag_0_errorsarow", kAgents), 11);
  EXPECT_EQ(master.status("ag_0_1periods_msecsperquery", kAgents), "n/a");
  EXPECT_EQ(master.status("ag_0_hostname", kAgents), refused.address());
  EXPECT_EQ(master.status("ag_0_ping", kAgents), "no");
  const auto one = fmt::format("SHOW AGENT '{}' STATUS", refused.address());
  EXPECT_EQ(master.count("agent_errorsarow", one), 11);
  EXPECT_EQ(master.count("ag_t_1_1_connect_failures"), 11);
  EXPECT_EQ(master.count("ag_t_1_1_succeeded_queries"), 0);
  const std::string mirror = "/tables/0/shards/0/mirrors/0/";
  for (const auto what :
       {"errors_in_a_row", "periods/1/connect_failures", "periods/15/connect_failures",
        "since_start/connect_failures", "since_start/attempts"})
    EXPECT_EQ(master.number(mirror + what), 11) << what;
  EXPECT_TRUE(eventually([&] { return master.word(mirror + "state") == "dead"; }));
  EXPECT_EQ(master.word(mirror + "last_error"), "Connection refused");
  EXPECT_TRUE(master.word(mirror + "last_error_at").starts_with("20"));
}

TEST(Status, MetricsAreWhatPrometheusReads) {
  const ClosedPort refused;
  const Master master("ha_ping_interval = 0", status_table("t", refused.address()));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(master.search(status_query("t")).status, 502);
  HttpClient client(master.port());
  const auto answer = client.request("GET", "/metrics");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->fields.at("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_NE(answer->body.find("\nkarmad_queries_total 3\n"), std::string::npos) << answer->body;
  EXPECT_NE(answer->body.find(fmt::format("karmad_mirror_connect_failures_total{{table=\"t\",shard="
                                          "\"1\",mirror=\"1\",agent=\"{}\"}} 3\n",
                                          refused.address())),
            std::string::npos)
      << answer->body;
  if (std::system("command -v promtool >/dev/null") != 0)
    GTEST_SKIP() << "promtool (Debian's package prometheus) is not here";
  auto* lint = ::popen("promtool check metrics 2>&1", "w");
  ASSERT_NE(lint, nullptr);
  std::fwrite(answer->body.data(), 1, answer->body.size(), lint);
  EXPECT_EQ(::pclose(lint), 0) << answer->body;
}

constexpr const char* kCounters[] = {
    "query_timeouts", "connect_timeouts",    "connect_failures", "network_errors",   "wrong_query",
    "wrong_replies",  "unexpected_closings", "warnings",         "succeeded_queries"};

struct Habit {
  std::string counter;
  Reaction reaction;
  int errors_in_a_row;
};

TEST(Status, EveryKindOfErrorHasItsOwnCounter) {
  const auto warning =
      json(R"({"took":0,"timed_out":false,"warning":{"reason":"w"},"hits":{"total":0,)"
           R"("total_relation":"eq","hits":[]}})");
  const auto timed_out =
      json(R"({"took":0,"timed_out":true,"hits":{"total":0,"total_relation":"eq","hits":[]}})");
  const Habit habits[] = {
      {"query_timeouts", silence(), 3},
      {"network_errors", {.bytes = "", .then = Reaction::Then::reset}, 3},
      {"network_errors", {.bytes = "HTTP/1.1 200 OK\r\n", .then = Reaction::Then::reset}, 3},
      {"unexpected_closings", {.bytes = "", .then = Reaction::Then::close}, 3},
      {"unexpected_closings",
       {.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{", .then = Reaction::Then::close},
       3},
      {"wrong_replies", json(R"({"error":"internal error"})", 500), 3},
      {"wrong_replies", json("busy", 503), 3},
      {"wrong_replies", json("slower", 429), 3},
      {"wrong_replies", json("<html>"), 3},
      {"wrong_replies", refused(410, "X-Sub-Status: 1022\r\n"), 3},
      {"wrong_replies", refused(403, "X-Sub-Status: 1008\r\n"), 3},
      {"wrong_replies", {.bytes = "SSH-2.0-OpenSSH\r\n\r\n"}, 3},
      {"warnings", warning, 0},
      {"succeeded_queries", nothing_found(), 0},
  };
  for (const auto& habit : habits) {
    const FakeMirror mirror(reacting_with(habit.reaction));
    // Only a mirror that never answers times out, even on a busy machine; and no period ends.
    const auto longest = habit.counter == "query_timeouts" ? "60ms" : "1m";
    const Master master(fmt::format("ha_ping_interval = 0\n agent_query_timeout = {}\n"
                                    "agent_connect_timeout = 1m\n request_timeout = 2m\n"
                                    "overload_max_retries = 0\n ha_period_karma = 1d",
                                    longest),
                        status_table("t", mirror.address()));
    for (int i = 0; i < 3; ++i) master.search(status_query("t"));
    const auto trace = habit.counter + ": " + habit.reaction.bytes;
    for (const std::string counter : kCounters) {
      const int expected = counter == habit.counter ? 3 : 0;
      EXPECT_EQ(master.count("ag_0_1periods_" + counter, kAgents), expected) << counter << trace;
      EXPECT_EQ(master.count("ag_t_1_1_" + counter), expected) << counter << trace;
      EXPECT_EQ(master.number("/tables/0/shards/0/mirrors/0/periods/5/" + counter), expected)
          << counter << trace;
    }
    EXPECT_EQ(master.count("ag_0_errorsarow", kAgents), habit.errors_in_a_row) << trace;
    const bool timed = habit.counter == "succeeded_queries";
    EXPECT_EQ(master.status("ag_0_1periods_msecsperquery", kAgents) != "n/a", timed) << trace;
  }
}

TEST(Status, AConnectionThatIsNotAcceptedInTimeIsAConnectTimeout) {
  const FullPort full;
  const Master master("ha_ping_interval = 0\n agent_connect_timeout = 100ms",
                      status_table("t", full.address()));
  EXPECT_EQ(master.search(status_query("t")).status, 504);
  EXPECT_EQ(master.count("ag_0_1periods_connect_timeouts", kAgents), 1);
  EXPECT_EQ(master.count("ag_0_1periods_query_timeouts", kAgents), 0);
  EXPECT_EQ(master.count("ag_0_errorsarow", kAgents), 1);
}

// HA-025: pings count as outcomes, never as latency.
TEST(Status, PingsAreSuccessesAndErrorsButNoQueries) {
  const FakeMirror mirror(reacting_with(nothing_found()));
  const ClosedPort gone;
  const Master master("ha_ping_interval = 20ms",
                      status_table("t", mirror.address()) + status_table("u", gone.address()));
  EXPECT_TRUE(
      eventually([&] { return master.count("ag_0_1periods_succeeded_queries", kAgents) > 3; }));
  EXPECT_TRUE(
      eventually([&] { return master.count("ag_1_1periods_connect_failures", kAgents) > 3; }));
  EXPECT_GT(master.count("ag_1_errorsarow", kAgents), 3);
  EXPECT_EQ(master.status("ag_0_1periods_msecsperquery", kAgents), "n/a");
  EXPECT_NE(master.status("ag_0_pingtripmsec", kAgents), "n/a");
  EXPECT_EQ(master.status("ag_0_ping", kAgents), "yes");
  EXPECT_EQ(master.count("ag_t_1_1_succeeded_queries"), 0) << "pings belong to no table";
  EXPECT_EQ(master.count("ag_u_1_1_connect_failures"), 0);
}

TEST(Status, TablesThatNameTheSameHostShareItsNumbers) {
  const FakeMirror mirror(reacting_with(nothing_found()));
  const Master master("ha_ping_interval = 0", status_table("t", mirror.address() + ":a") +
                                                  status_table("u", mirror.address() + ":b"));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(master.search(status_query("t")).status, 200);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(master.search(status_query("u")).status, 200);
  EXPECT_EQ(master.count("ag_0_references", kAgents), 2);
  EXPECT_EQ(master.status("ag_1_hostname", kAgents), "");
  EXPECT_EQ(master.count("ag_0_1periods_succeeded_queries", kAgents), 7);
  EXPECT_EQ(master.count("ag_t_1_1_succeeded_queries"), 3);
  EXPECT_EQ(master.count("ag_u_1_1_succeeded_queries"), 4);
  for (const int of_table : {0, 1})
    EXPECT_EQ(
        master.number(fmt::format("/tables/{}/shards/0/mirrors/0/periods/1/queries", of_table)), 7);
}

TEST(Status, LatenciesAreThoseOfTheMirror) {
  const FakeMirror mirror(reacting_with(slowly(30ms)));
  const Master master("ha_ping_interval = 0", status_table("t", mirror.address()));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(master.search(status_query("t")).status, 200);
  const std::string of_mirror = "/tables/0/shards/0/mirrors/0/";
  for (const auto what :
       {"latency_ms/mean", "latency_ms/p50", "latency_ms/p99", "periods/1/query_ms_mean"}) {
    EXPECT_GE(master.number(of_mirror + what), 29) << what;  // quantiles are off by 3.2 %
    EXPECT_LT(master.number(of_mirror + what), 1000) << what;
  }
  EXPECT_GE(std::atof(master.status("ag_0_1periods_msecsperquery", kAgents).c_str()), 30);
}

TEST(Ready, IsSaidWhenEveryShardHasALiveMirrorElseWhichHasNoneAndWhy) {
  const FakeMirror mirror(reacting_with(nothing_found()));
  const ClosedPort gone;
  const Master one("ha_ping_interval = 20ms",
                   status_table("t", mirror.address() + "|" + gone.address()));
  EXPECT_TRUE(eventually([&] { return get(one.port(), "/readyz").status == 200; }));
  const Master two("ha_ping_interval = 20ms",
                   status_table("t", mirror.address()) + status_table("u", gone.address()));
  const auto missing = fmt::format(
      R"([{{"table":"u","shard":1,"required":true,"mirrors":[{{"agent":"{}","why":"Connection refused"}}]}}])",
      gone.address());
  EXPECT_TRUE(eventually([&] {
    return get(two.port(), "/readyz").body.find(missing) != std::string::npos;
  })) << get(two.port(), "/readyz").body;
  EXPECT_EQ(get(two.port(), "/readyz").status, 503);
}

TEST(Status, ShowsTheLinesAndTheStateOfAgents) {  // HA-024
  FakeMirror mirror(reacting_with(Reaction{"", Reaction::Then::close}));
  const FakeMirror kept(reacting_with(nothing_found()));
  const ClosedPort copy;
  const Master master(
      "ha_ping_interval = 0\n workers = 1",
      fmt::format("table t {{\n type = distributed\n partial_results = deny\n agent = {}\n"
                  " agent_persistent = localhost:{}\n agent_blackhole = {}|{}:b\n}}\n",
                  mirror.address(), kept.port(), copy.address(), kept.address()));
  EXPECT_EQ(master.status("ag_0_has_perspool", kAgents), "no");
  EXPECT_EQ(master.status("ag_1_has_perspool", kAgents), "yes");
  const std::string of_table = "SHOW AGENT t STATUS";
  EXPECT_EQ(master.status("dstindex_3mirror2_is_blackhole", of_table), "1") << "one black hole";
  EXPECT_EQ(master.status("dstindex_4_is_ha", of_table), "");
  EXPECT_EQ(
      master.status("agent_hostname", fmt::format("SHOW AGENT 'LOCALHOST:{}' STATUS", kept.port())),
      fmt::format("localhost:{}", kept.port()))
      << "names of hosts have no case";

  const auto error = [&] { return master.word("/tables/0/shards/0/mirrors/0/last_error"); };
  master.search(status_query("t"));
  EXPECT_NE(error(), "");
  mirror.react(reacting_with(nothing_found()));
  EXPECT_EQ(master.search(status_query("t")).status, 200);
  EXPECT_EQ(error(), "") << "an error that is over says nothing of an agent that is well";
}

TEST(Status, AttemptsAreInFlightUntilTheyEnd) {
  const FakeMirror mirror(reacting_with(silence()));
  const Master master("ha_ping_interval = 0\n agent_query_timeout = 30s\n request_timeout = 30s",
                      status_table("t", mirror.address()));
  const auto in_flight = [&] { return master.number("/tables/0/shards/0/mirrors/0/in_flight"); };
  {
    HttpClient client(master.port());
    const auto body = status_query("t");
    ASSERT_TRUE(
        client.send(fmt::format("POST /search HTTP/1.1\r\nHost: x\r\n"
                                "Content-Length: {}\r\n\r\n{}",
                                body.size(), body)));
    EXPECT_TRUE(eventually([&] { return in_flight() == 1; }));
    EXPECT_NE(master.status("ag_0_lastquery", kAgents), "n/a") << "which is under way";
    EXPECT_EQ(master.status("ag_0_lastanswer", kAgents), "n/a");
  }
  EXPECT_TRUE(eventually([&] { return in_flight() == 0; })) << "the client has left";
  EXPECT_EQ(master.count("ag_0_errorsarow", kAgents), 0) << "which is not the mirror's fault";
}

}  // namespace
}  // namespace karmad::test
