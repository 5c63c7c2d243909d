// Clients behind proxies: the PROXY protocol, forwarded addresses; what agents are told of them;
// and web pages of other origins.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "tests/endtoend/mysql_master.hpp"
#include "tests/support/cluster.hpp"
#include "tests/support/fake_set.hpp"

namespace karmad::test {
namespace {

using namespace std::string_literals;

constexpr std::string_view kFromFirst = "PROXY TCP4 203.0.113.9 192.0.2.1 41000 80\r\n";
const std::string kFromSecond = "\r\n\r\n\0\r\nQUIT\n\x21\x21\x00\x28\x20\x01\x0d\xb8"s +
                                std::string(11, '\0') + "\x05" + std::string(16, '\0') +
                                "\xa0\x28\x00\x50"s + "\x04\x00\x01z"s;

std::string edge_table(const FakeMirror& mirror, std::string_view more = {}) {
  return fmt::format(
      "table w {{\n type = distributed\n dialect = http\n route = /w\n agent = {}\n {}\n}}\n"
      "table t {{\n type = distributed\n agent = {}\n {}\n}}\n",
      mirror.address(), more, mirror.address(), more);
}

std::string field_of(const std::string& request, const std::string& name) {
  const auto at = request.find("\r\n" + name + ": ");
  if (at == request.npos) return "(none)";
  const auto begin = at + name.size() + 4;
  return request.substr(begin, request.find("\r\n", begin) - begin);
}

/// karmad with a listener for proxies, beside its own.
class BehindProxies : public testing::Test {
 protected:
  void start(const std::string& searchd = {}, std::string_view more_of_table = {},
             const std::string& network_timeout = "1s") {
    master.emplace("workers = 1\n ha_ping_interval = 0\n network_timeout = " + network_timeout +
                       "\n listen = 127.0.0.1:0:http,proxy\n " + searchd,
                   edge_table(mirror, more_of_table));
    const auto line = master->process().wait_for(":http,proxy");
    ASSERT_TRUE(line);
    port = port_in(line->substr(0, line->rfind(':')));
  }
  std::string last_seen() const { return mirror.seen().empty() ? "" : mirror.seen().back(); }

  FakeMirror mirror{always(json("{}")), /*pings_too=*/true};
  std::optional<Master> master;
  int port = 0;
};

TEST_F(BehindProxies, TheClientIsTheOneOfThePROXYHeader) {
  start();
  for (const auto& [header, client] : {std::pair(std::string(kFromFirst), "203.0.113.9"),
                                       {kFromSecond, "2001:db8::5"},
                                       {"PROXY UNKNOWN\r\n", "127.0.0.1"}}) {
    HttpClient proxy(port);
    ASSERT_TRUE(proxy.send(header));
    for (int request = 0; request < 2; ++request) {
      EXPECT_EQ(proxy.request("GET", "/w/a")->status, 200) << client;
      EXPECT_EQ(field_of(last_seen(), "X-Forwarded-For"), client);
    }
  }
  EXPECT_EQ(master->count("proxy_headers_refused"), 0);
}

TEST_F(BehindProxies, TheHeaderMayComeInPiecesAndTogetherWithRequests) {
  start({}, {}, "1m");  // for some hundred round trips
  constexpr std::string_view kRequests =
      "GET /w/1 HTTP/1.1\r\nHost: a\r\n\r\nGET /w/2 HTTP/1.1\r\nHost: a\r\nConnection: "
      "close\r\n\r\n";
  for (const auto& header : {std::string(kFromFirst), kFromSecond}) {
    HttpClient at_once(port);
    ASSERT_TRUE(at_once.send(header + std::string(kRequests)));
    EXPECT_EQ(at_once.receive()->status, 200);
    EXPECT_EQ(at_once.receive()->status, 200);
    EXPECT_TRUE(at_once.closed());
    HttpClient in_bytes(port);
    for (const char byte : header + std::string(kRequests)) {
      ASSERT_TRUE(in_bytes.send(std::string_view(&byte, 1)));
      master->count("requests");  // a round trip, so that the bytes arrive one by one
    }
    EXPECT_EQ(in_bytes.receive()->status, 200);
    EXPECT_EQ(in_bytes.receive()->status, 200);
  }
}

TEST_F(BehindProxies, AConnectionWithoutAHeaderEndsWithOneLine) {
  start();
  const std::pair<std::string, std::string> cases[] = {
      {"GET /w HTTP/1.1\r\nHost: a\r\n\r\n", "no valid PROXY header: it spoke HTTP;"},
      {"PROXY TCP4 1.2.3.4 1.2.3.4 1 x\r\n", "no valid PROXY header: '1 x' are not two ports;"},
      {"PROXY TCP4 1.2", "no whole PROXY header came within network_timeout"},
      {"", "no whole PROXY header came within network_timeout"},
  };
  std::int64_t refused = 0;
  for (const auto& [bytes, why] : cases) {
    HttpClient client(port);
    ASSERT_TRUE(client.send(bytes));
    EXPECT_TRUE(client.closed() || client.was_reset()) << why;
    eventually([&] { return master->count("proxy_headers_refused") == refused + 1; });
    EXPECT_EQ(master->count("proxy_headers_refused"), ++refused) << why;
  }
  const auto line = master->process().wait_for("with ,proxy: no valid PROXY header: it spoke HTTP");
  ASSERT_TRUE(line);
  EXPECT_TRUE(
      line->contains(fmt::format("client 127.0.0.1 was disconnected from the listener "
                                 "127.0.0.1:{} with ,proxy: ",
                                 port)))
      << *line;
  EXPECT_EQ(mirror.requests(), 0u);
}

TEST_F(BehindProxies, ACheckThatOnlyConnectsIsNoMistake) {
  start();
  { HttpClient check(port); }
  HttpClient proxy(port);
  ASSERT_TRUE(proxy.send(kFromFirst));
  EXPECT_EQ(proxy.request("GET", "/w")->status, 200);
  EXPECT_EQ(master->count("proxy_headers_refused"), 0);
}

TEST_F(BehindProxies, OnlyTrustedProxiesMaySendAHeader) {
  start("trusted_proxies = 127.0.0.2, 198.51.100.0/24");
  HttpClient other(port);
  ASSERT_TRUE(other.send(kFromFirst));
  EXPECT_TRUE(other.closed() || other.was_reset());
  EXPECT_TRUE(master->process().wait_for("its address is not in trusted_proxies"));
  EXPECT_EQ(master->count("proxy_headers_refused"), 1);
  HttpClient trusted(port, 0, "127.0.0.2");
  ASSERT_TRUE(trusted.send(kFromFirst));
  EXPECT_EQ(trusted.request("GET", "/w")->status, 200);
  EXPECT_EQ(field_of(last_seen(), "X-Forwarded-For"), "203.0.113.9");
}

TEST_F(BehindProxies, RatesCountClientsAndNotTheirProxy) {
  start(
      "trusted_proxies = 127.0.0.1\n client_request_rate = 1/d\n client_request_burst = 1d\n"
      " ingress_request_exempt = 198.51.100.7");
  HttpClient proxy(master->port());
  const auto status_of = [&](const std::string& fields) {
    return proxy.request("GET", "/w", {}, fields)->status;
  };
  EXPECT_EQ(status_of("X-Forwarded-For: 203.0.113.1\r\n"), 200);
  EXPECT_EQ(status_of("X-Forwarded-For: 203.0.113.1\r\n"), 429);
  EXPECT_EQ(status_of("X-Forwarded-For: 8.8.8.8, 203.0.113.1\r\n"), 429) << "made up by the client";
  EXPECT_EQ(status_of("Forwarded: for=203.0.113.2\r\n"), 200);
  EXPECT_EQ(status_of("X-Forwarded-For: 198.51.100.7\r\n"), 200);
  EXPECT_EQ(status_of("X-Forwarded-For: 198.51.100.7\r\n"), 200) << "exempt";
  HttpClient proxied(port);
  ASSERT_TRUE(proxied.send(kFromFirst));
  EXPECT_EQ(proxied.request("GET", "/w")->status, 200);
  EXPECT_EQ(proxied.request("GET", "/w")->status, 429);
}

TEST_F(BehindProxies, AgentsGetTheWholeWayOfARequest) {
  start("trusted_proxies = 127.0.0.1");
  HttpClient proxy(master->port());
  proxy.request("GET", "/w", {},
                "X-Forwarded-For: 203.0.113.1\r\nX-Forwarded-For: 127.0.0.1\r\n"
                "X-Forwarded-Proto: https\r\nX-Forwarded-Host: shop.example\r\n"
                "Forwarded: for=203.0.113.1;proto=https\r\n");
  const auto seen = last_seen();
  EXPECT_EQ(field_of(seen, "X-Forwarded-For"), "203.0.113.1, 127.0.0.1, 127.0.0.1");
  EXPECT_EQ(field_of(seen, "X-Forwarded-Proto"), "https");
  EXPECT_EQ(field_of(seen, "X-Forwarded-Host"), "shop.example");
  EXPECT_EQ(field_of(seen, "Forwarded"),
            "for=203.0.113.1;proto=https, for=127.0.0.1;host=test;proto=http");
  EXPECT_EQ(field_of(seen, "Host"), mirror.address());
}

TEST_F(BehindProxies, TheHostIsKeptAndTheFieldsAreSentWhereTheTableSaysSo) {
  start("", "keep_host = yes\n forwarded_headers = 1");
  mirror.react(always(nothing_found()));
  ASSERT_EQ(master->search(R"({"table":"t"})", "Host: ignored\r\n").status, 400) << "two hosts";
  ASSERT_EQ(master->search(R"({"table":"t"})").status, 200);
  EXPECT_EQ(field_of(last_seen(), "Host"), "test");
  EXPECT_EQ(field_of(last_seen(), "X-Forwarded-For"), "127.0.0.1");
  ASSERT_TRUE(
      master->reload("workers = 1\n ha_ping_interval = 0\n forwarded_headers = 0\n"
                     " listen = 127.0.0.1:0:http,proxy",
                     edge_table(mirror)));
  ASSERT_EQ(ask(master->port(), "GET", "/w", {}, "X-Forwarded-For: 1.2.3.4\r\n").status, 200);
  EXPECT_EQ(field_of(last_seen(), "X-Forwarded-For"), "1.2.3.4") << "it is the client's own field";
  EXPECT_EQ(field_of(last_seen(), "X-Forwarded-Proto"), "(none)");
  EXPECT_EQ(field_of(last_seen(), "Host"), mirror.address());
}

TEST(BehindProxiesOfMysql, TheClientIsTheOneOfThePROXYHeader) {
  const FakeMirror mirror(rows_for_all());
  MysqlMaster karmad(mirror, "workers = 1", "mysql,proxy");
  MysqlClient first(karmad.port(), 0, "mysql_native_password", kFromFirst);
  ASSERT_EQ(first.welcome().error, 0);
  const auto own = first.query("SHOW PROCESSLIST");
  ASSERT_EQ(own.rows.size(), 1u);
  EXPECT_TRUE(own.rows[0].contains("|203.0.113.9:41000|")) << own.rows[0];
  MysqlClient second(karmad.port(), 0, "mysql_native_password", kFromSecond);
  ASSERT_EQ(second.welcome().error, 0);
  EXPECT_NE(second.query("KILL " + own.rows[0].substr(0, own.rows[0].find('|'))).error, 0)
      << "it is another client's";
  HttpClient without(karmad.port());
  ASSERT_TRUE(without.send("\x01\0\0\1\x1"s));
  EXPECT_TRUE(without.closed() || without.was_reset());
  EXPECT_EQ(karmad.master().count("proxy_headers_refused"), 1);
}

// A page may read answers only of a karmad that allows its origin, and errors too.
TEST(WebPagesOfOtherOrigins, GetTheFieldsThatTheirBrowserWants) {
  const FakeMirror mirror(
      [](const std::string& request) {
        if (request.contains("/quiet")) return json("{}");
        return Reaction{
            "HTTP/1.1 200 OK\r\nVary: Accept-Encoding\r\nAccess-Control-Allow-Origin: *\r\n"
            "Access-Control-Allow-Credentials: true\r\nContent-Length: 2\r\n\r\n{}"};
      },
      /*pings_too=*/true);
  const Master master(
      "workers = 1\n ha_ping_interval = 0\n allow_origin = https://shop.example, http://a:8080",
      edge_table(mirror));
  const std::string from = "Origin: https://shop.example\r\n";
  const auto field = [](const Response& response, const std::string& name) {
    const auto found = response.fields.find(name);
    return found == response.fields.end() ? std::string("(none)") : found->second;
  };
  auto answer = ask(master.port(), "GET", "/w", {}, from);
  EXPECT_EQ(field(answer, "access-control-allow-origin"), "https://shop.example");
  EXPECT_EQ(field(answer, "vary"), "Accept-Encoding, Origin");
  EXPECT_EQ(field(answer, "access-control-allow-credentials"), "(none)");
  answer = ask(master.port(), "GET", "/w", {}, "Origin: https://evil.example\r\n");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(field(answer, "access-control-allow-origin"), "(none)") << "not the agent's either";
  EXPECT_EQ(field(answer, "vary"), "Accept-Encoding, Origin");
  for (const auto& [method, target, body, status] :
       {std::tuple("POST", "/search", R"({"table":"none"})", 404),
        {"GET", "/nowhere", "", 404},
        {"GET", "/healthz", "", 200},
        {"GET", "/w/quiet", "", 200}}) {
    answer = ask(master.port(), method, target, body, from);
    EXPECT_EQ(answer.status, status) << target;
    EXPECT_EQ(field(answer, "access-control-allow-origin"), "https://shop.example") << target;
    EXPECT_EQ(field(answer, "vary"), "Origin") << target;
  }
}

TEST(WebPagesOfOtherOrigins, AreAnsweredBeforehandByKarmad) {
  const FakeMirror mirror(always(json("{}")), /*pings_too=*/true);
  const Master master("workers = 1\n ha_ping_interval = 0\n allow_origin = https://shop.example",
                      edge_table(mirror));
  HttpClient browser(master.port());
  const std::string asks =
      "Access-Control-Request-Method: POST\r\n"
      "Access-Control-Request-Headers: content-type,x-timeout-ms\r\n";
  auto answer = browser.request("OPTIONS", "/w/any", {}, "Origin: https://shop.example\r\n" + asks);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 204);
  EXPECT_EQ(answer->fields["access-control-allow-origin"], "https://shop.example");
  EXPECT_TRUE(answer->fields["access-control-allow-methods"].contains("POST"));
  EXPECT_EQ(answer->fields["access-control-allow-headers"], "content-type,x-timeout-ms");
  EXPECT_EQ(answer->fields["access-control-max-age"], "600");
  EXPECT_EQ(answer->fields["vary"], "Origin, Access-Control-Request-Headers");
  EXPECT_FALSE(answer->fields.contains("content-type"));
  answer = browser.request("OPTIONS", "/w/any", {}, "Origin: https://evil.example\r\n" + asks);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 403);
  EXPECT_FALSE(answer->fields.contains("access-control-allow-origin"));
  EXPECT_EQ(mirror.requests(), 0u);
  EXPECT_EQ(browser.request("OPTIONS", "/w/any")->status, 200) << "no preflight: it is passed on";
  EXPECT_EQ(mirror.requests(), 1u);
}

TEST(WebPagesOfOtherOrigins, AreNotToldAnythingUnlessOneIsAllowed) {
  const FakeMirror mirror(always(json("{}")), /*pings_too=*/true);
  Master master("workers = 1\n ha_ping_interval = 0", edge_table(mirror));
  auto answer = ask(master.port(), "GET", "/w", {}, "Origin: https://shop.example\r\n");
  for (const auto& [name, value] : answer.fields) {
    EXPECT_FALSE(name.starts_with("access-control")) << name;
    EXPECT_NE(name, "vary");
  }
  ASSERT_TRUE(
      master.reload("workers = 1\n ha_ping_interval = 0\n allow_origin = *", edge_table(mirror)));
  answer = ask(master.port(), "GET", "/w", {}, "Origin: https://shop.example\r\n");
  EXPECT_EQ(answer.fields["access-control-allow-origin"], "*");
  HttpClient broken(master.port());
  ASSERT_TRUE(broken.send("nonsense\r\n\r\n"));
  EXPECT_EQ(broken.receive()->fields["access-control-allow-origin"], "*");
}

// More of them than an answer has fields.
TEST(WebPagesOfOtherOrigins, GetAFewOfTheChallengesOfAMirror) {
  std::string challenges;
  for (int i = 0; i < 60; ++i)
    challenges += fmt::format("WWW-Authenticate: Basic realm=\"{}\"\r\n", i);
  const FakeMirror mirror(
      [&](const std::string&) {
        return Reaction{"HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n" + challenges +
                        "\r\n{}"};
      },
      /*pings_too=*/true);
  Master master(
      "workers = 1\n ha_ping_interval = 0\n allow_origin = *",
      fmt::format("table t {{\n type = distributed\n agent = {}\n}}\n", mirror.address()));
  const auto answer =
      ask(master.port(), "POST", "/search", R"({"table":"t"})", "Origin: https://shop.example\r\n");
  EXPECT_EQ(answer.status, 401);
  EXPECT_TRUE(answer.fields.contains("www-authenticate"));
  EXPECT_EQ(get(master.port(), "/healthz").status, 200);
}

/// Whether the kernel will probe all connections of this end of a port (proc_pid_net(5): a timer of
/// kind 2), and there is one.
bool are_probed(int port, bool own_end) {
  std::ifstream connections("/proc/net/tcp");
  std::string line;
  std::getline(connections, line);
  bool found = false;
  while (std::getline(connections, line)) {
    std::istringstream words(line);
    std::string number, own, peer, state, queues, timer;
    words >> number >> own >> peer >> state >> queues >> timer;
    constexpr auto kEstablished = "01";
    const auto& end = own_end ? own : peer;
    if (state != kEstablished || !end.ends_with(fmt::format(":{:04X}", port))) continue;
    if (!timer.starts_with("02:")) return false;
    found = true;
  }
  return found;
}

TEST(PeersThatVanish, AreProbedByTheKernel) {
  const FakeMirror mirror(rows_for_all());
  MysqlMaster karmad(mirror, "workers = 1");
  HttpClient client(karmad.master().port());
  ASSERT_EQ(client.request("GET", "/healthz")->status, 200);
  MysqlClient reader(karmad.port());
  ASSERT_EQ(reader.query("SELECT id FROM t").error, 0);
  EXPECT_TRUE(eventually([&] { return are_probed(karmad.master().port(), /*own_end=*/true); }));
  EXPECT_TRUE(eventually([&] { return are_probed(karmad.port(), /*own_end=*/true); }));
  EXPECT_TRUE(eventually([&] { return are_probed(mirror.port(), /*own_end=*/false); }));
}

}  // namespace
}  // namespace karmad::test
