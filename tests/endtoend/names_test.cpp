// Names of agents while karmad runs: their addresses change, their name servers misbehave.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/cluster.hpp"
#include "tests/support/fake_mirror.hpp"
#include "tests/support/load.hpp"
#include "tests/support/name_server.hpp"

namespace karmad::test {
namespace {

using Mood = NameServer::Mood;

Reaction empty_answer(const std::string&) {
  return nothing_found();
}

const std::string kAnySearch = R"({"table":"t","query":{"match_all":{}}})";

std::string dns_searchd(const NameServer& server, const std::string& more = "dns_refresh = 200ms") {
  return fmt::format(
      "ha_ping_interval = 0\n dns_servers = {}\n dns_timeout = 100ms\n dns_tries = 1\n {}",
      server.address(), more);
}

std::string name_table(const std::string& lines) {
  return fmt::format("table t {{\n type = distributed\n {}\n}}\n", lines);
}

std::string name_events(const Master& master) {
  return get(master.port(), "/events").body;
}

/// The addresses of the mirrors of the first shard.
std::string mirror_addresses(const Master& master) {
  std::string all;
  for (int i = 0;; ++i) {
    const auto address = master.word(fmt::format("/tables/0/shards/0/mirrors/{}/address", i));
    if (address.empty()) return all;
    all += (i > 0 ? " " : "") + address;
  }
}

TEST(Names, AreLookedUpAgainAndOldConnectionsDrain) {
  FakeMirror old(empty_answer);
  FakeMirror fresh(empty_answer, "127.0.0.2", old.port());
  NameServer server;
  server.set("search.test", {"127.0.0.1"});
  Master master(dns_searchd(server), name_table(fmt::format("agent = search.test:{}", old.port())));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(master.search(kAnySearch).status, 200);
  EXPECT_TRUE(eventually([&] { return old.open_connections() > 0; }));
  old.hold();  // a busy connection
  std::thread busy([&] { EXPECT_EQ(master.search(kAnySearch).status, 200); });
  EXPECT_TRUE(eventually([&] { return old.busy() == 1; }));
  server.set("search.test", {"127.0.0.2"});
  EXPECT_TRUE(master.process().wait_for("its name has other addresses now"));
  EXPECT_EQ(master.search(kAnySearch).status, 200);
  EXPECT_EQ(fresh.requests(), 1u);
  const auto asked = old.requests();
  old.release();
  busy.join();
  EXPECT_TRUE(eventually([&] { return old.open_connections() == 0; })) << "idle or just finished";
  for (int i = 0; i < 5; ++i) EXPECT_EQ(master.search(kAnySearch).status, 200);
  EXPECT_EQ(old.requests(), asked);
}

TEST(Names, KeepTheirAddressesWhateverTheNameServerDoes) {
  FakeMirror mirror(empty_answer);
  NameServer server;
  server.set("search.test", {"127.0.0.1"});
  Master master(dns_searchd(server),
                name_table(fmt::format("agent = search.test:{}", mirror.port())));
  const Load load(master.port(), 2, expecting_200(kAnySearch));
  for (const auto mood : {Mood::silent, Mood::garbage, Mood::wrong_id, Mood::truncated, Mood::fails,
                          Mood::empty, Mood::broken}) {
    const auto failures = master.count("name search.test_source_failures");
    server.mood(mood);
    EXPECT_TRUE(eventually([&] {
      return master.count("name search.test_source_failures") > failures + 1;
    })) << static_cast<int>(mood);
    EXPECT_EQ(master.status("name search.test_source_failing"), "yes");
    server.mood(Mood::good);
    EXPECT_TRUE(
        eventually([&] { return master.status("name search.test_source_failing") == "no"; }));
  }
  EXPECT_TRUE(load.more(10));
  EXPECT_EQ(load.wrong(), "");
  const auto told = name_events(master);
  std::size_t failed = 0;
  for (auto at = told.find("source_failed"); at != told.npos;
       at = told.find("source_failed", at + 1))
    ++failed;
  EXPECT_EQ(failed, 7u) << "one event per change: " << told;
  EXPECT_TRUE(told.contains("name search.test: works again")) << told;
}

TEST(Names, DoNotWaitForASlowNameServer) {
  FakeMirror mirror(empty_answer);
  NameServer server;
  server.set("search.test", {"127.0.0.1"});
  Master master(
      dns_searchd(server, "dns_refresh = 100ms\n dns_timeout = 2s\n request_timeout = 1s"),
      name_table(fmt::format("agent = search.test:{}", mirror.port())));
  server.delay(1500ms);
  const auto questions = server.questions();
  const Load load(master.port(), 2, expecting_200(kAnySearch));
  EXPECT_TRUE(eventually([&] { return server.questions() > questions + 2; }));
  EXPECT_TRUE(load.more(100));
  EXPECT_EQ(load.wrong(), "");
}

TEST(Names, AreLookedUpAgainAfterAFailedConnect) {
  FakeMirror mirror(empty_answer, "127.0.0.2", ClosedPort().port());
  NameServer server;
  server.set("search.test", {"127.0.0.1"});
  Master master(dns_searchd(server, "dns_refresh = 0"),
                name_table(fmt::format("agent = search.test:{}", mirror.port())));
  EXPECT_NE(master.search(kAnySearch).status, 200);
  const auto questions = server.questions();
  for (int i = 0; i < 20; ++i) EXPECT_NE(master.search(kAnySearch).status, 200);
  EXPECT_LE(server.questions(), questions + 6) << "at most once a second";
  server.set("search.test", {"127.0.0.2"});
  EXPECT_TRUE(eventually([&] { return master.search(kAnySearch).status == 200; }));
}

TEST(Names, OfThisMachineNeedNoNameServer) {
  FakeMirror mirror(empty_answer);
  NameServer server;
  server.mood(Mood::silent);
  Master master(dns_searchd(server),
                name_table(fmt::format("agent = localhost:{}", mirror.port())));
  EXPECT_EQ(master.search(kAnySearch).status, 200);
}

TEST(Names, ThatAreUnknownAtTheStartAreLookedUpUntilTheyAreKnown) {
  FakeMirror mirror(empty_answer);
  NameServer server;
  Master master(dns_searchd(server),
                name_table(fmt::format("agent = late.test:{}", mirror.port())));
  const auto refused = master.search(kAnySearch);
  EXPECT_NE(refused.status, 200);
  EXPECT_TRUE(refused.body.contains("cannot look up the name 'late.test'")) << refused.body;
  server.set("late.test", {"127.0.0.1"});
  EXPECT_TRUE(eventually([&] { return master.search(kAnySearch).status == 200; }));
  EXPECT_EQ(master.count("name late.test_source_mirrors"), 1);
}

TEST(ResolveAll, MakesEveryAddressAMirror) {
  FakeMirror first(empty_answer);
  FakeMirror second(empty_answer, "127.0.0.2", first.port());
  FakeMirror third(empty_answer, "127.0.0.3", first.port());
  NameServer server;
  server.set("all.test", {"127.0.0.2", "127.0.0.1"});
  Master master(dns_searchd(server), name_table(fmt::format("ha_strategy = roundrobin\n"
                                                            " agent = all.test:{}[resolve=all]",
                                                            first.port())));
  const auto port = first.port();
  EXPECT_EQ(mirror_addresses(master), fmt::format("127.0.0.1:{0} 127.0.0.2:{0}", port));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(master.search(kAnySearch).status, 200);
  EXPECT_EQ(first.requests(), 5u);
  EXPECT_EQ(second.requests(), 5u);
  const Load load(master.port(), 2, expecting_200(kAnySearch));
  server.set("all.test", {"127.0.0.3", "127.0.0.1"});
  EXPECT_TRUE(eventually([&] { return third.requests() > 0; }));
  EXPECT_TRUE(eventually([&] { return second.open_connections() == 0; }));
  EXPECT_EQ(mirror_addresses(master), fmt::format("127.0.0.1:{0} 127.0.0.3:{0}", port));
  EXPECT_TRUE(load.more(100));
  EXPECT_EQ(load.wrong(), "");
  EXPECT_TRUE(name_events(master).contains("1 new (127.0.0.3")) << name_events(master);
}

TEST(ResolveAll, UsesTheFirst64AddressesOfAHugeAnswer) {
  FakeMirror mirror(empty_answer);
  NameServer server;
  std::vector<std::string> many;
  for (int i = 200; i > 0; --i) many.push_back(fmt::format("127.0.1.{}", i));
  server.set("all.test", many);  // does not fit in a packet: comes over TCP
  Master master(dns_searchd(server, "resolve = all"),
                name_table(fmt::format("agent = all.test:{}", mirror.port())));
  const auto all = mirror_addresses(master);
  EXPECT_EQ(std::ranges::count(all, ' '), 63) << all;
  EXPECT_TRUE(all.starts_with(fmt::format("127.0.1.1:{} ", mirror.port()))) << all;
  EXPECT_TRUE(
      name_events(master).contains("200 mirrors of a shard were found; the first 64 are used"))
      << name_events(master);
}

TEST(Srv, GivesPortsWeightsAndStandBys) {
  FakeMirror heavy(empty_answer);
  FakeMirror light(empty_answer);
  FakeMirror stand_by(empty_answer);
  NameServer server;
  server.set("host.test", {"127.0.0.1"});
  const auto port = [](const FakeMirror& mirror) { return static_cast<unsigned>(mirror.port()); };
  server.set_srv("_search._tcp.test", {{10, 30, port(heavy), "host.test"},
                                       {10, 10, port(light), "host.test"},
                                       {20, 10, port(stand_by), "host.test"}});
  Master master(dns_searchd(server), name_table("agent = _search._tcp.test:t"));
  for (int i = 0; i < 200; ++i) EXPECT_EQ(master.search(kAnySearch).status, 200);
  EXPECT_GT(heavy.requests(), 2 * light.requests());
  EXPECT_GT(light.requests(), 0u);
  EXPECT_EQ(stand_by.requests(), 0u);
  server.set_srv("_search._tcp.test", {{20, 10, port(stand_by), "host.test"}});
  EXPECT_TRUE(eventually([&] {
    EXPECT_EQ(master.search(kAnySearch).status, 200);
    return stand_by.requests() > 0;
  }));
  server.set_srv("_search._tcp.test", {{0, 0, 0, ""}});  // there is no such service
  EXPECT_TRUE(eventually([&] { return name_events(master).contains("srv _search._tcp.test"); }));
  EXPECT_EQ(master.search(kAnySearch).status, 200) << "the last answer is kept";
}

TEST(ResolveAll, RefusesAddressesThatNoServerHasAndThatOfKarmad) {
  FakeMirror mirror(empty_answer);
  NameServer server;
  server.set("all.test", {"127.0.0.1"});
  server.set("host.test", {"127.0.0.1"});
  const auto port = static_cast<unsigned>(mirror.port());
  server.set_srv("_search._tcp.test", {{10, 10, port, "host.test"}});
  Master master(
      dns_searchd(server, fmt::format("dns_refresh = 200ms\n listen = 127.0.0.3:{}", port)),
      fmt::format("table t {{\n type = distributed\n agent = all.test:{}[resolve=all]\n}}\n"
                  "table srv {{\n type = distributed\n agent = _search._tcp.test\n}}\n",
                  port));
  const auto refuses = [&](const std::string& why) {
    EXPECT_TRUE(eventually([&] { return name_events(master).contains(why); }))
        << why << " in " << name_events(master);
    EXPECT_EQ(mirror_addresses(master), mirror.address());
  };
  for (const auto& [address, kind] : {std::pair("0.0.0.0", "unspecified"),
                                      {"224.0.0.251", "multicast"},
                                      {"255.255.255.255", "broadcast"}}) {
    server.set("all.test", {"127.0.0.1", address});
    refuses(
        fmt::format("name all.test: no server has the {} address {} of the answer", kind, address));
  }
  server.set("all.test", {"127.0.0.1", "127.0.0.3"});
  refuses(fmt::format("name all.test: 127.0.0.3:{} is karmad itself", port));
  server.set_srv("_search._tcp.test", {{10, 10, port, "host.test"}, {10, 10, 0, "host.test"}});
  refuses("srv _search._tcp.test: its target host.test has port 0");
  server.set_srv("_search._tcp.test", {{10, 10, port, "host.test"}});
  server.set("host.test", {"0.0.0.0"});
  refuses("srv _search._tcp.test: its target host.test: no server has the unspecified address");
  EXPECT_EQ(master.status("srv _search._tcp.test_source_failing"), "yes");
  EXPECT_EQ(master.search(R"({"table":"srv","query":{"match_all":{}}})").status, 200);
}

TEST(ResolveAll, RefusesAReloadWithANameOfKarmad) {
  const FakeMirror mirror(empty_answer);
  NameServer server;
  server.set("own.test", {"127.0.0.1", "127.0.0.2"});
  const auto line = [](const std::string& address, int port) {
    return name_table(fmt::format("agent = {}|own.test:{}[resolve=all]", address, port));
  };
  Master master(dns_searchd(server), name_table("agent = " + mirror.address()));
  const auto last_has_failed = [&](std::string_view answer) {
    return eventually([&] { return master.status("config_last_reload_failed") == answer; });
  };
  const auto is_refused = [&] {
    ASSERT_TRUE(master.reload(dns_searchd(server), line(mirror.address(), master.port())));
    EXPECT_TRUE(last_has_failed("yes"));
    EXPECT_EQ(mirror_addresses(master), mirror.address());
    EXPECT_TRUE(master.process().output().contains(
        fmt::format("127.0.0.1:{} is karmad itself", master.port())));
  };
  is_refused();
  is_refused();  // though the answer is known now
  ASSERT_TRUE(master.reload(dns_searchd(server), line("127.0.0.3:1", mirror.port())));
  EXPECT_TRUE(last_has_failed("no"));
}

TEST(Names, AreLookedUpAtAReload) {
  FakeMirror old(empty_answer);
  FakeMirror fresh(empty_answer, "127.0.0.2", old.port());
  NameServer server;
  server.set("search.test", {"127.0.0.1"});
  // One worker: each has connections of its own.
  const auto config = dns_searchd(server, "dns_refresh = 0\n workers = 1");
  const auto tables = name_table(fmt::format("agent = search.test:{}", old.port()));
  Master master(config, tables);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(master.search(kAnySearch).status, 200);
  const auto connections = old.connections();
  ASSERT_TRUE(master.reload(config, tables));
  EXPECT_EQ(master.search(kAnySearch).status, 200);
  EXPECT_EQ(old.connections(), connections) << "a reload closes no connection to the same address";
  server.set("search.test", {"127.0.0.2"});
  ASSERT_TRUE(master.reload(config, tables));
  EXPECT_TRUE(eventually([&] {
    EXPECT_EQ(master.search(kAnySearch).status, 200);
    return fresh.requests() > 0;
  }));
}

TEST(Names, AReloadDuringALookUpOrAFailedOneIsNotLost) {
  FakeMirror old(empty_answer);
  FakeMirror fresh(empty_answer, "127.0.0.2", old.port());
  FakeMirror newest(empty_answer, "127.0.0.3", old.port());
  NameServer server;
  server.set("search.test", {"127.0.0.1"});
  const auto config =
      fmt::format("ha_ping_interval = 0\n dns_servers = {}\n dns_timeout = 10s\n dns_refresh = 0",
                  server.address());
  const auto tables = name_table(fmt::format("agent = search.test:{}", old.port()));
  Master master(config, tables);
  const auto comes_to = [&](FakeMirror& mirror) {
    return eventually([&] {
      EXPECT_EQ(master.search(kAnySearch).status, 200);
      return mirror.requests() > 0;
    });
  };
  EXPECT_TRUE(comes_to(old));
  const auto questions = server.questions();
  server.delay(1s);  // the first look-up has its answer and waits to send it
  ASSERT_TRUE(master.reload(config, tables));
  EXPECT_TRUE(eventually([&] { return server.questions() > questions; }));
  server.set("search.test", {"127.0.0.2"});
  ASSERT_TRUE(master.reload(config, tables));
  server.delay(0ms);
  EXPECT_TRUE(comes_to(fresh));
  server.mood(Mood::fails);
  server.set("search.test", {"127.0.0.3"});
  ASSERT_TRUE(master.reload(config, tables));
  EXPECT_TRUE(eventually([&] { return master.count("name search.test_source_failures") > 0; }));
  server.mood(Mood::good);
  EXPECT_TRUE(comes_to(newest));
}

}  // namespace
}  // namespace karmad::test
