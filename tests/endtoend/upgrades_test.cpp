// Connections that change their protocol, such as to WebSocket (`upgrades`).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/cluster.hpp"
#include "tests/support/fake_set.hpp"
#include "tests/support/tls.hpp"

namespace karmad::test {
namespace {

using Then = Reaction::Then;

constexpr std::string_view kOffer = "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n";
constexpr std::string_view kSwitched =
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

std::string asking(std::string_view target = "/w/live", std::string_view fields = kOffer) {
  return fmt::format("GET {} HTTP/1.1\r\nHost: a.example\r\n{}\r\n", target, fields);
}

/// Switches if the request asks for it, sends `first` and echoes.
Reaction switching(const std::string& request, std::string_view first = {}) {
  if (!request.contains("\r\nUpgrade: websocket\r\n") ||
      !request.contains("\r\nConnection: Upgrade\r\n"))
    return json(R"({"upgraded":false})");
  return {.bytes = std::string(kSwitched).append(first), .then = Then::echo};
}

std::string web(const std::string& agents, std::string_view more = "upgrades = yes") {
  return fmt::format(
      "table w {{\n type = distributed\n dialect = http\n route = /w\n agent = {}\n {}\n}}\n",
      agents, more);
}

/// Sends the request, and what follows it; whether the answer is 101.
bool switches(HttpClient& client, std::string_view behind = {}) {
  if (!client.send(asking().append(behind))) return false;
  const auto answer = client.receive();
  return answer && answer->status == 101;
}

struct Upgrades : testing::Test {
  static std::int64_t open_tunnels(const Master& master) { return master.count("tunnels_open"); }

  FakeMirror mirror{[](const std::string& request) { return switching(request); },
                    /*pings_too=*/true};
  const std::string searchd = "workers = 1\n ha_ping_interval = 0";
};

TEST_F(Upgrades, BeyondTheirNumberAreRefusedAndOtherRequestsAreNot) {
  Master master(searchd + "\n max_tunnels = 2", web(mirror.address()));
  auto first = std::make_unique<HttpClient>(master.port());
  HttpClient second(master.port());
  HttpClient third(master.port());
  ASSERT_TRUE(switches(*first));
  ASSERT_TRUE(switches(second));
  ASSERT_TRUE(third.send(asking()));
  const auto refused = third.receive();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 503);
  EXPECT_TRUE(refused->body.contains("max_tunnels (2)")) << refused->body;
  EXPECT_EQ(mirror.requests(), 2u);
  ASSERT_TRUE(third.send(asking("/w/page", "")));
  EXPECT_TRUE(third.receive());
  EXPECT_EQ(master.count("tunnels_refused"), 1);
  first.reset();
  EXPECT_TRUE(eventually([&] { return open_tunnels(master) == 1; }));
  EXPECT_TRUE(switches(third));
  ASSERT_TRUE(master.reload(searchd + "\n max_tunnels = 0", web(mirror.address())));
  HttpClient fourth(master.port());
  EXPECT_FALSE(switches(fourth));
}

TEST_F(Upgrades, PassBytesBothWaysAndTheEndOfEachHalf) {
  mirror.react([](const std::string& request) {
    auto reaction = switching(request, "welcome");
    reaction.step = 1;
    return reaction;
  });
  Master master(searchd, web(mirror.address()));
  HttpClient client(master.port());
  ASSERT_TRUE(client.send(asking()));
  const auto answer = client.receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 101);
  EXPECT_EQ(answer->fields.at("connection"), "Upgrade");
  EXPECT_EQ(answer->fields.at("upgrade"), "websocket");
  EXPECT_EQ(answer->fields.at("sec-websocket-accept"), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  EXPECT_EQ(answer->fields.count("content-length"), 0u);
  EXPECT_EQ(client.take(7), "welcome");
  for (const auto& text :
       std::vector<std::string>{"a", "GET / HTTP/1.1\r\n\r\n", std::string(40'000, 'x')}) {
    ASSERT_TRUE(client.send(text));
    EXPECT_TRUE(client.take(text.size()) == text);
  }
  EXPECT_EQ(open_tunnels(master), 1);
  client.finish();
  EXPECT_EQ(client.rest(), "bye");
  EXPECT_FALSE(client.was_reset());
  EXPECT_TRUE(eventually([&] { return open_tunnels(master) == 0; }));
  EXPECT_EQ(master.count("upgrades"), 1);
  EXPECT_EQ(get(master.port(), "/w/next").status, 200);
  EXPECT_EQ(mirror.connections(), 2u) << "the connection is never used again";
}

TEST_F(Upgrades, LoseNoByteThatComesBeforeTheAnswer) {
  const Master master(searchd, web(mirror.address()));
  mirror.hold();
  const std::string behind(30'000, 'b');
  HttpClient client(master.port());
  ASSERT_TRUE(client.send(asking() + "first;" + behind));
  ASSERT_TRUE(eventually([&] { return mirror.busy() == 1; }));
  ASSERT_TRUE(client.send("second;"));
  mirror.release();
  EXPECT_EQ(client.receive()->status, 101);
  ASSERT_TRUE(client.send("third"));
  client.finish();
  EXPECT_TRUE(client.rest() == "first;" + behind + "second;thirdbye");
}

TEST_F(Upgrades, LoseNoByteBehindABodyThatStreams) {
  const Master master(searchd + "\n request_buffer_size = 16k",
                      web(mirror.address(), "upgrades = yes\n updates = any"));
  for (const std::size_t size : {1'000, 16'384, 16'385, 90'000}) {
    HttpClient client(master.port());
    ASSERT_TRUE(
        client.send(fmt::format("POST /w/live HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n{}\r\n",
                                size, kOffer) +
                    std::string(size, 'b') + "early;"));
    const auto answer = client.receive();
    ASSERT_TRUE(answer) << size;
    ASSERT_EQ(answer->status, 101) << size;
    ASSERT_TRUE(client.send("late"));
    client.finish();
    EXPECT_EQ(client.rest(), "early;latebye") << size;
  }
}

TEST_F(Upgrades, MayBeRefusedLikeAnyRequest) {
  mirror.react([](const std::string&) { return json(R"({"error":"no"})", 403); });
  const Master master(searchd, web(mirror.address()));
  HttpClient client(master.port());
  const auto refused = client.request("GET", "/w/live", {}, kOffer);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 403);
  EXPECT_EQ(refused->body, R"({"error":"no"})");
  EXPECT_EQ(refused->fields.count("upgrade"), 0u);
  mirror.react([](const std::string&) {
    return Reaction{
        "HTTP/1.1 426 Upgrade Required\r\nUpgrade: foo/2, websocket\r\nConnection: Upgrade\r\n"
        "Content-Length: 0\r\n\r\n"};
  });
  const auto demand = client.request("GET", "/w/live");
  ASSERT_TRUE(demand);
  EXPECT_EQ(demand->status, 426);
  EXPECT_EQ(demand->fields.at("upgrade"), "foo/2, websocket");
  mirror.react([](const std::string& request) { return switching(request); });
  EXPECT_EQ(client.request("GET", "/w/next")->body, R"({"upgraded":false})");
  EXPECT_TRUE(switches(client));
  EXPECT_EQ(mirror.connections(), 1u);
}

TEST_F(Upgrades, AreDroppedWithoutTheSetting) {
  const Master master(searchd, web(mirror.address(), ""));
  HttpClient client(master.port());
  EXPECT_EQ(client.request("GET", "/w/live", {}, kOffer)->body, R"({"upgraded":false})");
  EXPECT_FALSE(mirror.seen().back().contains("pgrade")) << mirror.seen().back();
  EXPECT_EQ(master.count("upgrades"), 0);
}

TEST_F(Upgrades, ThatWereNotAskedForAreTheMirrorsMistake) {
  mirror.react([](const std::string&) { return Reaction{std::string(kSwitched), Then::echo}; });
  Master master(searchd, web(mirror.address()));
  const auto ask_with = [&](std::string_view fields, std::string_view method = "GET") {
    return ask(master.port(), method, "/w/live", {}, fields).status;
  };
  EXPECT_EQ(ask_with(""), 502);
  EXPECT_EQ(ask_with("Connection: Upgrade\r\nUpgrade: chat\r\n"), 502) << "another protocol";
  EXPECT_EQ(ask_with("Connection: Upgrade\r\nUpgrade: websocket, h2c\r\n"), 502) << "of requests";
  EXPECT_EQ(ask_with("Upgrade: websocket\r\n"), 502) << "Connection does not name it";
  EXPECT_EQ(ask_with(kOffer, "HEAD"), 502);
  EXPECT_EQ(master.count("upgrades"), 0);
  EXPECT_EQ(master.count("ag_w_1_1_wrong_replies"), 5);
}

TEST_F(Upgrades, AreTriedAtAnotherMirrorUntilOneAnswers) {
  const ClosedPort dead;
  const FakeMirror rude(
      [](const std::string&) {
        return Reaction{"", Then::close};
      },
      /*pings_too=*/true);
  const Master master(
      searchd + "\n ha_strategy = roundrobin",
      web(fmt::format("127.0.0.1:{}|{}|{}", dead.port(), rude.address(), mirror.address())));
  for (int i = 0; i < 3; ++i) {
    HttpClient client(master.port());
    EXPECT_TRUE(switches(client));
    ASSERT_TRUE(client.send("x"));
    EXPECT_TRUE(client.has(1));
  }
  EXPECT_GT(rude.requests(), 0u);
  EXPECT_EQ(master.count("upgrades"), 3);
  EXPECT_EQ(master.count("queries_failed"), 0);
}

TEST_F(Upgrades, EndWithEitherSide) {
  Master master(searchd, web(mirror.address()));
  for (const bool by_client : {true, false}) {
    HttpClient client(master.port());
    ASSERT_TRUE(switches(client));
    ASSERT_TRUE(client.send("x"));
    ASSERT_TRUE(client.has(1));
    if (by_client) {
      client.reset();
    } else {
      mirror.close_all();
      client.rest();
    }
    EXPECT_TRUE(eventually([&] { return mirror.open_connections() == 0; }));
  }
  EXPECT_TRUE(eventually([&] { return open_tunnels(master) == 0; }));
  EXPECT_EQ(master.count("queries_failed"), 0);
}

TEST_F(Upgrades, HoldBackASideThatSendsFasterThanTheOtherReads) {
  Master master(searchd, web(mirror.address()));
  HttpClient client(master.port());
  ASSERT_TRUE(switches(client));
  const auto before = master.process().most_memory();
  std::string all;
  while (all.size() < 60'000'000) all += fmt::format("{} ", all.size());
  const std::jthread sender([&] {
    client.send(all);
    client.finish();
  });
  ASSERT_TRUE(eventually([&] { return master.count("bytes_in") > 1'000'000; }));
  EXPECT_TRUE(client.rest() == all + "bye");
  if (kTrueSize) {
    EXPECT_LT(master.process().most_memory() - before, 4'000'000);
  }
}

TEST_F(Upgrades, OfHedgedRequestsGoOnWithTheMirrorThatAnswersFirst) {
  FakeMirror slow([](const std::string& request) { return switching(request, "slow;"); },
                  /*pings_too=*/true);
  slow.hold();
  const Master master(searchd, web(mirror.address() + "|" + slow.address(),
                                   "upgrades = yes\n hedge = 5ms\n ha_strategy = roundrobin"));
  std::vector<std::unique_ptr<HttpClient>> clients;
  for (int i = 0; i < 6; ++i) {
    auto& client = *clients.emplace_back(std::make_unique<HttpClient>(master.port()));
    ASSERT_TRUE(switches(client, "early"));
    EXPECT_EQ(client.take(5), "early");
  }
  EXPECT_GE(master.count("hedges_won"), 1);
  slow.release();
  for (const auto& client : clients) {
    ASSERT_TRUE(client->send("late"));
    EXPECT_EQ(client->take(4), "late");
  }
  EXPECT_EQ(open_tunnels(master), 6);
  EXPECT_TRUE(eventually([&] { return slow.open_connections() == 0; }));
}

TEST_F(Upgrades, AreCutWhenNothingComesForStreamTimeoutAndNotBefore) {
  const Master master(searchd +
                          "\n stream_timeout = 700ms\n agent_query_timeout = 300ms\n"
                          " request_timeout = 300ms",
                      web(mirror.address()));
  HttpClient client(master.port());
  const auto began = std::chrono::steady_clock::now();
  ASSERT_TRUE(switches(client));
  EXPECT_EQ(client.rest(), "");
  EXPECT_GE(std::chrono::steady_clock::now() - began, 600ms);
  EXPECT_EQ(master.count("tunnels_timed_out"), 1);
  EXPECT_TRUE(eventually([&] { return mirror.open_connections() == 0; }));
}

TEST_F(Upgrades, HoldNeitherTicketsNorSlotsNorCountAsSlow) {
  const Master master(searchd + "\n max_in_flight = 1\n search_tickets = 1\n ingress_tickets = 1",
                      web(mirror.address()));
  HttpClient client(master.port());
  ASSERT_TRUE(switches(client));
  EXPECT_EQ(get(master.port(), "/w/other").status, 200);
  EXPECT_EQ(open_tunnels(master), 1);
  EXPECT_EQ(master.number("/tables/0/shards/0/mirrors/0/in_flight"), 0);
  EXPECT_EQ(master.count("ag_w_1_1_succeeded_queries"), 2);
  EXPECT_TRUE(get(master.port(), "/metrics")
                  .body.contains(R"(responses_total{table="w",dialect="http",code="101"} 1)"));
}

TEST_F(Upgrades, SurviveAReloadWithoutTheirTable) {
  Master master(searchd, web(mirror.address()));
  HttpClient client(master.port());
  ASSERT_TRUE(switches(client));
  const FakeMirror other(always(json("{}")), /*pings_too=*/true);
  ASSERT_TRUE(master.reload(searchd, web(other.address(), "")));
  EXPECT_EQ(get(master.port(), "/w/x").body, "{}");
  ASSERT_TRUE(client.send("still here"));
  client.finish();
  EXPECT_EQ(client.rest(), "still herebye");
}

TEST_F(Upgrades, EndAtTheLatestWithShutdownTimeout) {
  for (const std::string longest : {"300ms", "50s"}) {
    Master master(searchd + "\n shutdown_linger = 0\n shutdown_timeout = " + longest,
                  web(mirror.address()));
    HttpClient client(master.port());
    ASSERT_TRUE(switches(client));
    master.process().signal(SIGTERM);
    ASSERT_TRUE(master.process().wait_for("stopping"));
    if (longest == "50s") {
      ASSERT_TRUE(client.send("x"));
      EXPECT_TRUE(client.has(1));
      client.finish();
    }
    EXPECT_EQ(client.rest(), longest == "50s" ? "xbye" : "");
    EXPECT_EQ(master.process().wait(), 0);
  }
}

TEST_F(Upgrades, GoThroughTlsOnBothSides) {
  const TempDir dir;
  const Authority authority(dir.path());
  const auto certificate = authority.issue("c.pem", "DNS:search.example,IP:127.0.0.1");
  Master inner(fmt::format("listen = 127.0.0.1:0:https\n workers = 1\n ha_ping_interval = 0\n "
                           "tls_certificate = {}",
                           certificate),
               web(mirror.address()));
  const auto line = inner.process().wait_for(":https");
  ASSERT_TRUE(line);
  const auto port = std::stoi(line->substr(line->find("127.0.0.1:") + 10));
  const std::string text(100'000, 't');
  const Master outer(
      searchd,
      web(fmt::format("127.0.0.1:{}", port),
          fmt::format("upgrades = yes\n agent_tls = yes\n agent_tls_ca = {}", authority.root())));
  HttpClient client(outer.port());
  ASSERT_TRUE(switches(client, text));
  ASSERT_TRUE(client.send("end"));
  client.finish();
  EXPECT_TRUE(client.rest() == text + "endbye");
  TlsConnection direct(port, {.root = authority.root(), .name = "search.example"});
  ASSERT_EQ(direct.failure(), "");
  ASSERT_TRUE(direct.send(asking() + text));
  const auto came = direct.take(kSwitched.size() + text.size());
  EXPECT_TRUE(came.starts_with("HTTP/1.1 101 "));
  EXPECT_TRUE(came.ends_with(text));
  EXPECT_EQ(inner.count("upgrades"), 2);
}

}  // namespace
}  // namespace karmad::test
