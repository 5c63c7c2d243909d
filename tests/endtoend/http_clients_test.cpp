#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <functional>
#include <list>
#include <optional>

#include "tests/support/cluster.hpp"
#include "tests/support/fake_mirror.hpp"

namespace karmad::test {
namespace {

const Reaction kNever{"", Reaction::Then::hang};
constexpr std::string_view kClientQuery = R"({"table":"t"})";
const std::string kRequest =
    "POST /search HTTP/1.1\r\nHost: h\r\nContent-Length: 13\r\n\r\n" + std::string(kClientQuery);

std::string one_table(const FakeMirror& mirror) {
  return fmt::format("table t {{\n type = distributed\n agent = {}:t\n}}\n", mirror.address());
}

bool idle_agents(const Master& master) {
  const auto agents = get(master.port(), "/agents").body;
  return agents.contains(R"("in_flight":0)") && !agents.contains(R"("in_flight":1)") &&
         !agents.contains(R"("in_flight":2)");
}

using Leave = std::function<void(std::optional<HttpClient>&)>;
const std::pair<const char*, Leave> kWaysToLeave[] = {
    {"closes", [](auto& client) { client.reset(); }},
    {"resets", [](auto& client) { client->reset(); }},
};

TEST(AClientWhoLeaves, EndsItsAttempts) {
  FakeMirror a([](const std::string&) { return kNever; });
  FakeMirror b([](const std::string&) { return kNever; });
  Master master("agent_query_timeout = 1h\n request_timeout = 1h\n ha_ping_interval = 0",
                fmt::format("table t {{\n type = distributed\n agent = {}:t\n agent = {}:t\n}}\n",
                            a.address(), b.address()));
  const auto open = [&] { return a.open_connections() + b.open_connections(); };
  int left = 0;
  for (const auto& [name, leave] : kWaysToLeave) {
    SCOPED_TRACE(name);
    std::optional<HttpClient> client(master.port());
    ASSERT_TRUE(client->send(kRequest));
    ++left;
    ASSERT_TRUE(eventually([&] { return a.requests() + b.requests() == 2u * left; }));
    EXPECT_EQ(open(), 2u);
    EXPECT_FALSE(idle_agents(master));
    leave(client);
    EXPECT_TRUE(eventually([&] { return open() == 0; }));
    EXPECT_TRUE(eventually([&] { return idle_agents(master); }));
  }
  EXPECT_EQ(master.count("clients_left"), left);
  EXPECT_EQ(master.count("agent_retry"), 0);  // no query waits for another try
  const auto blamed =
      master.count("agent_errorsarow", fmt::format("SHOW AGENT '{}' STATUS", a.address()));
  EXPECT_EQ(blamed, 0);  // and no mirror is blamed
}

// No read is outstanding then: the bytes of the further request stay unread until its turn.
TEST(AClientWhoLeaves, EndsItsAttemptAlsoWithAFurtherRequestUnread) {
  FakeMirror mirror([](const std::string&) { return kNever; });
  Master master("agent_query_timeout = 1h\n request_timeout = 1h\n ha_ping_interval = 0",
                one_table(mirror));
  int left = 0;
  for (const bool together : {true, false})
    for (const auto& [name, leave] : kWaysToLeave) {
      SCOPED_TRACE(fmt::format("{}, {}", name, together ? "together" : "one after the other"));
      std::optional<HttpClient> client(master.port());
      ASSERT_TRUE(client->send(together ? kRequest + kRequest : kRequest));
      ++left;
      ASSERT_TRUE(eventually([&] { return mirror.requests() == static_cast<unsigned>(left); }));
      if (!together) {
        // Twice, so that one of them comes when the watch has begun.
        ASSERT_TRUE(client->send(kRequest));
        ASSERT_TRUE(client->send(kRequest));
      }
      EXPECT_EQ(mirror.open_connections(), 1u);
      leave(client);
      EXPECT_TRUE(eventually([&] { return mirror.open_connections() == 0; }));
      EXPECT_TRUE(eventually([&] { return idle_agents(master); }));
    }
  EXPECT_EQ(master.count("clients_left"), left);
  EXPECT_EQ(mirror.requests(), static_cast<unsigned>(left));
}

TEST(AClientWhoEndsItsHalf, GetsItsAnswer) {
  FakeMirror mirror([](const std::string&) { return Reaction{nothing_found()}; });
  Master master("ha_ping_interval = 0", one_table(mirror));
  HttpClient client(master.port());
  ASSERT_TRUE(client.send(kRequest + kRequest));
  client.finish();
  for (int request = 0; request < 2; ++request) {
    const auto answer = client.receive();
    ASSERT_TRUE(answer) << request;
    EXPECT_EQ(answer->status, 200) << request;
  }
  EXPECT_TRUE(client.closed(5s));
  EXPECT_EQ(master.count("clients_left"), 0);
}

// It looks like one that has left, so it is sent an interim response, which HTTP/1.0 does not have.
TEST(AClientWhoEndsItsHalf, GetsAnAnswerThatTakesLong) {
  FakeMirror mirror([](const std::string&) { return Reaction{nothing_found()}; });
  mirror.hold();
  Master master("ha_ping_interval = 0\n agent_query_timeout = 1h\n request_timeout = 1h",
                one_table(mirror));
  HttpClient client(master.port());
  HttpClient old(master.port());
  ASSERT_TRUE(client.send(kRequest));
  ASSERT_TRUE(
      old.send("POST /search HTTP/1.0\r\nContent-Length: 13\r\n\r\n" + std::string(kClientQuery)));
  client.finish();
  old.finish();
  constexpr std::string_view kInterim = "HTTP/1.1 100 Continue\r\n\r\n";
  ASSERT_TRUE(client.has(kInterim.size(), 10s));
  EXPECT_FALSE(old.has(1, 0ms));
  mirror.release();
  const auto all = client.rest(10s);
  EXPECT_TRUE(all.starts_with(std::string(kInterim) + "HTTP/1.1 200 ")) << all;
  EXPECT_TRUE(old.rest(10s).starts_with("HTTP/1.1 200 "));
  EXPECT_EQ(master.count("clients_left"), 0);
}

TEST(AClientWhoLeaves, InThePauseBeforeARetryEndsTheQuery) {
  FakeMirror mirror([](const std::string&) { return Reaction{"", Reaction::Then::close}; });
  Master master(
      "agent_retry_delay = 1h\n request_timeout = 2h\n agent_retry_count = 5\n"
      "ha_ping_interval = 0",
      one_table(mirror));
  {
    HttpClient client(master.port());
    ASSERT_TRUE(client.send(kRequest));
    ASSERT_TRUE(eventually([&] { return mirror.requests() == 1; }));
  }
  EXPECT_TRUE(eventually([&] { return master.count("clients_left") == 1; }));
  EXPECT_TRUE(eventually([&] { return master.count("connections_open") == 1; }));
}

TEST(SlowReaders, OfLargeAnswersAreServedAndBlockNoOtherClient) {
  const std::string large = R"({"x":")" + std::string(8'000'000, 'x') + "\"}";
  FakeMirror mirror([&](const std::string& request) {
    return request.contains("large") ? json(large) : json("{}");
  });
  Master master("workers = 1\n network_timeout = 60s", one_table(mirror));
  std::list<HttpClient> readers;
  for (int i = 0; i < 4; ++i) {
    auto& reader = readers.emplace_back(master.port(), 4096);
    ASSERT_TRUE(
        reader.send("POST /search HTTP/1.1\r\nHost: h\r\nContent-Length: 23\r\n\r\n"
                    R"({"table":"t","large":1})"));
  }
  ASSERT_TRUE(eventually([&] { return mirror.requests() == 4; }));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(master.search(std::string(kClientQuery)).status, 200);
  for (auto& reader : readers) {
    const auto answer = reader.receive();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 200);
    EXPECT_EQ(answer->body, large);
  }
}

// Twice as fast as promised, and much slower than the system could hold answers for it.
TEST(SlowReaders, ThatReadSteadilyGetTheWholeAnswer) {
  const std::string large = R"({"x":")" + std::string(4'000'000, 'x') + "\"}";
  FakeMirror mirror([&](const std::string&) { return json(large); });
  for (const auto* more : {"reply_buffer_size = 64K", "reply_buffer_size = 16M"}) {
    Master master(fmt::format("workers = 1\n network_timeout = 200ms\n {}", more),
                  one_table(mirror));
    HttpClient reader(master.port());
    ASSERT_TRUE(reader.send(kRequest));
    std::size_t had = 0;
    for (auto due = std::chrono::steady_clock::now(); had < large.size(); due += 25ms) {
      ASSERT_TRUE(eventually([&] { return std::chrono::steady_clock::now() >= due; }));
      const auto got = reader.drop(std::min<std::size_t>(16 << 10, large.size() - had));
      if (got == 0) break;
      had += got;
    }
    EXPECT_GE(had, large.size());
    EXPECT_EQ(master.count("slow_clients"), 0);
  }
}

TEST(SlowReaders, ThatStopReadingAreDisconnectedAfterTheNetworkTimeout) {
  const std::string large = R"({"x":")" + std::string(20'000'000, 'x') + "\"}";
  FakeMirror mirror([&](const std::string&) { return json(large); });
  Master master("workers = 1\n network_timeout = 300ms", one_table(mirror));
  HttpClient reader(master.port(), 4096);
  ASSERT_TRUE(reader.send(kRequest));
  // The timeout does not depend on the size of the answer, but on the time without progress.
  EXPECT_TRUE(eventually([&] { return master.count("slow_clients") == 1; }));
  EXPECT_TRUE(eventually([&] { return master.count("connections_open") == 1; }));
  EXPECT_LT(reader.rest().size(), large.size());
}

TEST(ClientConnections, ThatSendOnlyEmptyLinesHaveTheTimeOfThoseThatSendNothing) {
  FakeMirror mirror([](const std::string&) { return json("{}"); });
  Master master("workers = 1\n network_timeout = 300ms\n client_timeout = 60s", one_table(mirror));
  HttpClient client(master.port());
  ASSERT_TRUE(client.send("\r\n"));
  EXPECT_TRUE(eventually([&] { return master.count("connections_open") == 1; }));
}

TEST(Crowds, OfIdleAndSlowConnectionsDoNotStopOtherClients) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_max < 3000) GTEST_SKIP() << "only " << limit.rlim_max << " open files allowed";
  FakeMirror mirror([](const std::string&) { return json("{}"); });
  Master master("network_timeout = 3s\n client_timeout = 60s", one_table(mirror));
  std::list<HttpClient> idle;
  for (int i = 0; i < 2000; ++i) {
    auto& client = idle.emplace_back(master.port());
    ASSERT_TRUE(client.request("GET", "/healthz")) << i;
  }
  std::list<HttpClient> dripping;
  for (int i = 0; i < 200; ++i) {
    auto& client = dripping.emplace_back(master.port());
    ASSERT_TRUE(client.send(i % 2 == 0 ? "GET / HTTP/1.1\r\nHost: h\r\nX-"
                                       : "POST /search HTTP/1.1\r\nHost: h\r\n"
                                         "Content-Length: 1000\r\n\r\n{"));
  }
  EXPECT_TRUE(eventually([&] { return master.count("connections_open") == 2201; }));
  for (int i = 0; i < 50; ++i) {
    for (auto& client : dripping) client.send("a");
    EXPECT_EQ(master.search(std::string(kClientQuery)).status, 200);
  }
  EXPECT_TRUE(eventually([&] { return master.count("slow_clients") == 200; }));
  EXPECT_TRUE(eventually([&] { return master.count("connections_open") == 2001; }));
  for (auto& client : idle) ASSERT_EQ(client.request("GET", "/healthz")->status, 200);
  idle.clear();
  EXPECT_TRUE(eventually([&] { return master.count("connections_open") == 1; }));
}

}  // namespace
}  // namespace karmad::test
