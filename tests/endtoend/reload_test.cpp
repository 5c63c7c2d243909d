// SIGHUP reads the configuration again; only the changed settings have an effect on clients.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/support/cluster.hpp"
#include "tests/support/fake_mirror.hpp"
#include "tests/support/load.hpp"

namespace karmad::test {
namespace {

Reaction answer(const std::string&) {
  return nothing_found();
}

std::string table(const std::string& name, const std::string& line, const std::string& more = "") {
  return fmt::format("table {} {{\n type = distributed\n agent = {}\n {}\n}}\n", name, line, more);
}

std::string query(std::string_view name) {
  return fmt::format(R"({{"table":"{}","query":{{"match_all":{{}}}}}})", name);
}

/// Of the first shard of a table.
double of_mirror(const Master& master, int of_table, int mirror, const std::string& what) {
  return master.number(fmt::format("/tables/{}/shards/0/mirrors/{}/{}", of_table, mirror, what));
}

const std::string kCalm = "ha_ping_interval = 0";

TEST(Reload, AddsAndRemovesTables) {
  const FakeMirror mirror(answer);
  Master master(kCalm, table("t", mirror.address()));
  EXPECT_EQ(master.search(query("u")).status, 404);
  ASSERT_TRUE(master.reload(kCalm, table("t", mirror.address()) + table("u", mirror.address())));
  EXPECT_TRUE(eventually([&] { return master.search(query("u")).status == 200; }));
  EXPECT_EQ(master.search(query("t")).status, 200);
  ASSERT_TRUE(master.reload(kCalm, table("u", mirror.address())));
  EXPECT_TRUE(eventually([&] { return master.search(query("t")).status == 404; }));
  EXPECT_EQ(master.search(query("u")).status, 200);
}

TEST(Reload, ChangesAMirrorSetAndItsStrategy) {
  const FakeMirror old(answer);
  const FakeMirror fresh(answer);
  Master master(kCalm, table("t", old.address()));
  EXPECT_EQ(master.search(query("t")).status, 200);
  const auto line = old.address() + "|" + fresh.address();
  ASSERT_TRUE(master.reload(kCalm, table("t", line, "ha_strategy = roundrobin")));
  EXPECT_TRUE(
      eventually([&] { return master.word("/tables/0/shards/0/strategy") == "roundrobin"; }));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(master.search(query("t")).status, 200);
  EXPECT_EQ(old.requests(), 6u);
  EXPECT_EQ(fresh.requests(), 5u);
  EXPECT_EQ(of_mirror(master, 0, 0, "periods/15/succeeded_queries"), 6) << "the host's history";
}

// As Manticore does on a reload
TEST(Reload, KeepsStatisticsOfAgentsAndWeightsOfSetsThatDidNotChange) {
  const FakeMirror fast(answer);
  const FakeMirror slow([](const std::string&) { return slowly(60ms); });
  const ClosedPort gone;
  const auto line = fast.address() + "|" + slow.address();
  const std::string searchd =
      kCalm + "\n ha_strategy = nodeads\n karma_compound = 0\n ha_period_karma = 1s";
  Master master(searchd, table("t", line) + table("dead", gone.address()));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(master.search(query("dead")).status, 502);
  {
    const Load load(master.port(), 6, expecting_200(query("t")));
    ASSERT_TRUE(eventually([&] { return of_mirror(master, 0, 1, "weight") < 0.4; }));
  }
  const auto attempts = of_mirror(master, 0, 0, "since_start/attempts");
  EXPECT_GT(attempts, 0);
  ASSERT_TRUE(
      master.reload(searchd, table("t", line) + table("more", line, "ha_strategy = random") +
                                 table("dead", gone.address(), "agent_query_timeout = 7s")));
  EXPECT_EQ(master.word("/tables/1/name"), "more");
  EXPECT_LT(of_mirror(master, 0, 1, "weight"), 0.45);
  EXPECT_EQ(of_mirror(master, 0, 0, "since_start/attempts"), attempts);
  EXPECT_EQ(of_mirror(master, 1, 1, "weight"), 0.5) << "a new set starts evenly";
  EXPECT_EQ(of_mirror(master, 1, 0, "since_start/attempts"), 0);
  EXPECT_EQ(of_mirror(master, 2, 0, "errors_in_a_row"), 5);
  EXPECT_EQ(of_mirror(master, 2, 0, "periods/15/connect_failures"), 5);
  EXPECT_EQ(of_mirror(master, 2, 0, "since_start/connect_failures"), 5);
}

TEST(Reload, KeepsTheStateOfAMirrorWhenAnotherOneIsAdded) {
  const FakeMirror fast(answer);
  const FakeMirror slow([](const std::string&) { return slowly(60ms); });
  const FakeMirror fresh(answer);
  const auto line = fast.address() + "|" + slow.address();
  const std::string searchd = kCalm + "\n ha_strategy = nodeads\n ha_period_karma = 1s";
  Master master(searchd, table("t", line));
  {
    const Load load(master.port(), 6, expecting_200(query("t")));
    ASSERT_TRUE(eventually([&] { return of_mirror(master, 0, 1, "weight") < 0.2; }));
  }
  const auto attempts = of_mirror(master, 0, 1, "since_start/attempts");
  const auto weight = of_mirror(master, 0, 1, "weight");
  ASSERT_TRUE(master.reload(searchd, table("t", line + "|" + fresh.address())));
  ASSERT_TRUE(eventually([&] { return of_mirror(master, 0, 2, "weight") > 0; }));
  EXPECT_LE(of_mirror(master, 0, 1, "weight"), weight);
  EXPECT_EQ(of_mirror(master, 0, 1, "since_start/attempts"), attempts);
}

// A mirror has asked for a pause: a reload of other limits keeps the pause.
TEST(Reload, OfALimitKeepsThePauseThatAMirrorAskedFor) {
  const FakeMirror fine(answer);
  const FakeMirror fresh(answer);
  const FakeMirror busy([](const std::string&) {
    return Reaction{
        "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 100\r\nContent-Length: 2"
        "\r\n\r\n{}"};
  });
  const auto line = fine.address() + "|" + busy.address();
  const auto lines = table("t", line, "ha_strategy = roundrobin");
  Master master(kCalm, lines);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(master.search(query("t")).status, 200);
  const auto before = busy.requests();
  EXPECT_GE(before, 1u);
  ASSERT_TRUE(master.reload(kCalm + "\n retry_budget_percent = 30", lines));
  ASSERT_TRUE(
      master.reload(kCalm, table("t", line + "|" + fresh.address(), "ha_strategy = roundrobin")));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(master.search(query("t")).status, 200);
  EXPECT_EQ(busy.requests(), before);
}

// HA-004: the order is that of the process, not of a configuration.
TEST(Reload, KeepsTheOrderOfRoundRobin) {
  std::vector<int> order;
  const auto noting = [&](int number) {
    return FakeMirror::React([&order, number](const std::string&) {
      order.push_back(number);
      return nothing_found();
    });
  };
  const FakeMirror first(noting(1));
  const FakeMirror second(noting(2));
  const FakeMirror third(noting(3));
  const std::string searchd = kCalm + "\n ha_strategy = roundrobin";
  const auto with = [&](const std::string& options) {
    return table("t", fmt::format("{}|{}{}|{}", first.address(), second.address(), options,
                                  third.address()));
  };
  Master master(searchd, with(""));
  const auto search = [&](int times) {
    for (int i = 0; i < times; ++i) EXPECT_EQ(master.search(query("t")).status, 200);
  };
  search(1);
  ASSERT_TRUE(master.reload(searchd + "\n dead_after = 7", with("")));
  search(1);
  ASSERT_TRUE(master.reload(searchd + "\n karma_compound = 1", with("")));
  search(2);
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3, 1}));
  ASSERT_TRUE(master.reload(searchd, with("[weight=2]")));
  search(8);
  EXPECT_NE(order[4], 1) << "the first after a reload of a weight";
  EXPECT_LE(std::abs(std::ranges::count(order.begin() + 4, order.end(), 2) - 4), 1);
  ASSERT_TRUE(master.reload(searchd, with("")));
  search(3);
  for (std::size_t i = 12; i < order.size(); ++i) EXPECT_EQ(order[i], order[i - 1] % 3 + 1) << i;
}

TEST(Reload, OfABrokenFileChangesNothingAndReportsThePlace) {
  const FakeMirror mirror(answer);
  Master master(kCalm, table("t", mirror.address()));
  EXPECT_EQ(master.search(query("t")).status, 200);
  ASSERT_TRUE(master.reload(kCalm + "\n agent_query_timeuot = 3s",
                            table("t", "127.0.0.1:99999") + "table u {\n type = distributed\n}\n"));
  const auto told = master.process().output();
  // Line 1 is `searchd {`, line 2 `listen`, 3 the pings.
  EXPECT_NE(told.find("karmad.conf:4:2: "), std::string::npos) << told;
  EXPECT_NE(told.find("agent_query_timeout"), std::string::npos) << told;
  EXPECT_NE(told.find("karmad.conf:8:"), std::string::npos) << told;
  EXPECT_EQ(master.search(query("t")).status, 200);
  EXPECT_EQ(master.search(query("u")).status, 404);
  EXPECT_EQ(of_mirror(master, 0, 0, "since_start/attempts"), 2);
  // The parser does not know the strategies: the check of the topology finds an unknown one.
  ASSERT_TRUE(master.reload(kCalm, table("t", mirror.address(), "ha_strategy = karma")));
  EXPECT_NE(master.process().output().find("karmad.conf:8:"), std::string::npos);
  EXPECT_EQ(master.search(query("t")).status, 200);
  ASSERT_TRUE(master.reload(kCalm, table("u", mirror.address())));
  EXPECT_TRUE(eventually([&] { return master.search(query("u")).status == 200; }));
}

// A new `listen` takes effect at the next start, so the file must also fit those that stay.
TEST(Reload, IsCheckedAtTheListenersThatStay) {
  const FakeMirror mirror(answer);
  const TempDir dir;
  const auto guarded = kCalm + "\n listen = 0.0.0.0:0:admin\n admin_token_file = " +
                       dir.file("token", "0123456789abcdef\n");
  Master master(guarded, table("t", mirror.address()));
  const auto refuses = [&](const std::string& searchd, const std::string& tables,
                           const std::string& why) {
    const auto refused = master.count("config_reload_failures");
    ASSERT_TRUE(master.reload(searchd, tables));
    EXPECT_TRUE(master.process().output().contains(why)) << master.process().output();
    EXPECT_EQ(master.count("config_reload_failures"), refused + 1);
  };
  refuses(kCalm, table("t", mirror.address()),
          "can be reached from other hosts: set admin_token_file, or listen on 127.0.0.1 or a unix "
          "socket (listen takes effect at the next start; until then its former lines count)");
  const auto own = fmt::format("127.0.0.1:{}", master.port());
  refuses(guarded, table("t", mirror.address() + "|" + own), own + " is karmad itself");
  EXPECT_EQ(master.search(query("t")).status, 200);
}

TEST(Reload, LetsQueriesInProgressSucceedAlsoInARemovedTable) {
  const FakeMirror mirror([](const std::string&) { return slowly(30ms); });
  const FakeMirror other(answer);
  const auto before = table("t", mirror.address()) + table("goes", mirror.address());
  const auto after =
      table("new", other.address()) + table("t", mirror.address() + "|" + other.address());
  const std::string searchd = "workers = 2\n ha_ping_interval = 50ms";
  Master master(searchd, before);
  ASSERT_TRUE(master.ready());
  Load load(master.port(), 4, expecting_200(query("t")));
  for (int i = 0; i < 3; ++i) {
    HttpClient client(master.port());
    const auto body = query("goes");
    const auto seen = mirror.requests();
    ASSERT_TRUE(client.send(fmt::format(
        "POST /search HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{}", body.size(), body)));
    EXPECT_TRUE(eventually([&] { return mirror.requests() > seen; }));
    ASSERT_TRUE(master.reload(searchd, after));
    const auto last = client.receive();
    ASSERT_TRUE(last);
    EXPECT_EQ(last->status, 200) << last->body;
    EXPECT_TRUE(load.more(20));
    ASSERT_TRUE(master.reload(searchd, before));
    EXPECT_TRUE(load.more(20));
    EXPECT_TRUE(eventually([&] { return master.search(body).status == 200; }));
  }
  load.stop();
  EXPECT_EQ(load.wrong(), "");
}

TEST(Reload, OfASettingThatNeedsARestartWarnsAndChangesNothing) {
  const FakeMirror mirror(answer);
  Master master("ha_period_karma = 5s\n workers = 1", table("t", mirror.address()));
  ASSERT_TRUE(master.reload("ha_period_karma = 7s\n workers = 2",
                            table("t", mirror.address()) + table("u", mirror.address())));
  const auto& told = master.process().output();
  EXPECT_NE(told.find("ha_period_karma takes effect at the next start"), std::string::npos);
  EXPECT_NE(told.find("workers takes effect at the next start"), std::string::npos);
  EXPECT_EQ(master.status("status_period_seconds", "SHOW AGENT STATUS"), "5");
  EXPECT_EQ(master.number("/period_s"), 5);
  EXPECT_EQ(master.search(query("u")).status, 200);
}

}  // namespace
}  // namespace karmad::test
