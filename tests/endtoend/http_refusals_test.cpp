#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/cluster.hpp"
#include "tests/support/fake_mirror.hpp"

namespace karmad::test {
namespace {

constexpr auto kOneShard = "table t {{\n type = distributed\n agent = {0}:t\n}}\n";
constexpr auto kTables =
    "table t {{\n type = distributed\n agent = {0}:t\n}}\n"
    "table two {{\n type = distributed\n agent = {0}:a\n agent = {0}:b\n}}\n";

class Refusals : public testing::Test {
 protected:
  explicit Refusals(const std::string& searchd = "network_timeout = 20s\n")
      : master("workers = 1\n max_packet_size = 64k\n ha_ping_interval = 0\n" + searchd,
               fmt::format(kTables, mirror.address())) {}

  /// Refused requests did not reach an agent, and no connection stays open.
  void expect_untouched() {
    EXPECT_EQ(mirror.requests(), 0u);
    EXPECT_TRUE(eventually([&] { return master.count("connections_open") == 1; }));
    EXPECT_EQ(get(master.port(), "/healthz").status, 200);
  }
  static void expect_error(const Response& answer, int status) {
    EXPECT_EQ(answer.status, status);
    EXPECT_TRUE(answer.body.starts_with(R"({"error":)")) << answer.body;
    EXPECT_TRUE(answer.body.ends_with("}")) << answer.body;
    const auto type = answer.fields.find("content-type");
    ASSERT_NE(type, answer.fields.end());
    EXPECT_TRUE(type->second.starts_with("application/json"));
  }

  /// A request that a second reader might see where the first one sees a body.
  static std::string search_behind() {
    return "POST /search HTTP/1.1\r\nHost: h\r\nContent-Length: 13\r\n\r\n{\"table\":\"t\"}";
  }

  FakeMirror mirror{[](const std::string&) { return json("{}"); }};
  Master master;
};

/// Requests after which the start of the next one is unknown: answered and closed.
TEST_F(Refusals, EveryFormOfABadHeadIsRefusedWithAReasonAndTheConnectionClosed) {
  const std::string post = "POST /search HTTP/1.1\r\nHost: h\r\n";
  const std::string get_healthz = "GET /healthz HTTP/1.1\r\n";
  const std::string big(20'000, 'x');
  std::string many;
  for (int i = 0; i < 120; ++i) many += fmt::format("X-{}: y\r\n", i);
  const std::pair<std::string, int> cases[] = {
      // Two readers could see two different bodies.
      {post + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {post + "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n", 400},
      {post + "Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcde", 400},
      {post + "Content-Length: 4\r\nContent-Length: 4\r\n\r\nabcd", 400},
      {post + "Content-Length: 4, 4\r\n\r\nabcd", 400},
      {post + "Content-Length: +4\r\n\r\nabcd", 400},
      {post + "Content-Length: -4\r\n\r\nabcd", 400},
      {post + "Content-Length: 0x4\r\n\r\nabcd", 400},
      {post + "Content-Length: 4 4\r\n\r\nabcd", 400},
      {post + "Content-Length:\r\n\r\n", 400},
      {post + "Content-Length : 4\r\n\r\nabcd", 400},
      {post + "Content-Length: 4\n\r\nabcd", 400},
      {post + "Content-Length: 99999999999999999999999\r\n\r\n", 413},
      {post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {post + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", 501},
      {post + "Transfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n", 501},
      {post + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501},
      {post + "Transfer-Encoding: gzip\r\n\r\n", 501},
      {post + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 501},
      {post + "Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n", 400},
      {post + "Transfer-Encoding: chunked;q=1\r\n\r\n0\r\n\r\n", 400},
      {post + "Transfer-Encoding:\vchunked\r\n\r\n0\r\n\r\n", 400},
      {post + "Transfer-Encoding\t: chunked\r\n\r\n0\r\n\r\n", 400},
      {post + "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n", 400},
      {post + " Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {"POST /search HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {post + "Transfer-Encoding: chunked\r\n\r\nx\r\n", 400},
      {post + "Transfer-Encoding: chunked\r\n\r\n-1\r\n", 400},
      {post + "Transfer-Encoding: chunked\r\n\r\n0x3\r\nabc\r\n0\r\n\r\n", 400},
      {post + "Transfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n", 400},
      {post + "Transfer-Encoding: chunked\r\n\r\n3\nabc\n0\n\n", 400},
      {post + "Transfer-Encoding: chunked\r\n\r\n3;" + std::string(300, 'e') + "\r\nabc\r\n", 400},
      {post + "Transfer-Encoding: chunked\r\n\r\n0\r\nContent Length: 3\r\n\r\n", 400},
      {post + "Transfer-Encoding: chunked\r\n\r\n10000000000000000\r\n", 400},
      // The host is ambiguous.
      {get_healthz + "\r\n", 400},
      {get_healthz + "Host: a\r\nHost: a\r\n\r\n", 400},
      {get_healthz + "Host:\r\n\r\n", 400},
      {get_healthz + "Host: a b\r\n\r\n", 400},
      {get_healthz + "Host: a,b\r\n\r\n", 400},
      {get_healthz + "Host: a/b\r\n\r\n", 400},
      {get_healthz + "Host: user@a\r\n\r\n", 400},
      {get_healthz + "Host: a:port\r\n\r\n", 400},
      {"GET http://a/healthz HTTP/1.1\r\nHost: b\r\n\r\n", 400},
      {"GET http://user@a/healthz HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      // Not what it should look like.
      {get_healthz + "Host: a\r\nX: a\r\n folded\r\n\r\n", 400},
      {get_healthz + "Host: a\r\nNo colon\r\n\r\n", 400},
      {get_healthz + "Host: a\r\n: no name\r\n\r\n", 400},
      {get_healthz + "Host: a\r\nX: a\rb\r\n\r\n", 400},
      {get_healthz + std::string("Host: a\r\nX: a\0b\r\n\r\n", 19), 400},
      {"GET  /healthz HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET /healthz  HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET /healthz\r\nHost: a\r\n\r\n", 400},
      {"GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET healthz HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET /#x HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET /\x80 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"G(T /healthz HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400},  // a TLS hello
      {"\x01\x02\x03\x04", 400},
      {"SSH-2.0-OpenSSH_9.2\r\n", 400},
      {"\r\n\r\n\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      // Too much, or not done here.
      {"GET /" + std::string(9000, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n", 414},
      {get_healthz + "Host: a\r\nX: " + big + "\r\n\r\n", 431},
      {get_healthz + "Host: a\r\n" + many + "\r\n", 431},
      {post + "Content-Length: 1000000000\r\n\r\n", 413},  // refused before any of it comes
      {post + "Content-Length: 65537\r\n\r\n", 413},
      {post + "Transfer-Encoding: chunked\r\n\r\n10001\r\n", 413},
      {post + "Transfer-Encoding: chunked\r\n\r\nffff\r\n" + std::string(65535, 'a') +
           "\r\n2\r\nbb\r\n0\r\n\r\n",
       413},
      {post + "Expect: 200-ok\r\nContent-Length: 4\r\n\r\nabcd", 417},
      {"CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n", 501},
      {std::string(40, 'M') + " / HTTP/1.1\r\nHost: a\r\n\r\n", 501},
      {"GET /healthz HTTP/2.0\r\nHost: a\r\n\r\n", 505},
      {"GET /healthz HTTP/1.2\r\nHost: a\r\n\r\n", 505},
      {"GET /healthz HTTP/0.9\r\n\r\n", 505},
  };
  const auto before = master.count("bad_requests");
  for (const auto& [bytes, status] : cases) {
    SCOPED_TRACE(bytes.substr(0, 200));
    HttpClient client(master.port());
    client.send(bytes + search_behind());
    const auto answer = client.receive();
    ASSERT_TRUE(answer);
    expect_error(*answer, status);
    EXPECT_EQ(answer->fields.at("connection"), "close");
    EXPECT_EQ(client.rest(), "");  // what stood behind was not taken for a request
  }
  EXPECT_EQ(master.count("bad_requests"), before + std::ssize(cases));
  expect_untouched();
}

TEST_F(Refusals, OfACompleteHeadCountAsRequests) {
  const std::string post = "POST /search HTTP/1.1\r\nHost: a\r\n";
  const struct {
    std::string_view rest;
    int status;
    int requests;
  } cases[] = {
      {"Content-Length: 65538\r\n\r\n", 413, 1},
      {"Transfer-Encoding: chunked\r\n\r\n10002\r\n", 413, 1},
      {"Transfer-Encoding: chunked\r\n\r\nno size\r\n", 400, 1},
      {"Content-Length: x\r\n\r\n", 400, 0},
  };
  for (const auto& [rest, status, requests] : cases) {
    const auto before = master.count("requests");
    HttpClient client(master.port());
    client.send(post + std::string(rest));
    const auto answer = client.receive();
    ASSERT_TRUE(answer) << rest;
    EXPECT_EQ(answer->status, status) << rest;
    EXPECT_EQ(master.count("requests"), before + requests + 1) << rest;
  }
}

TEST_F(Refusals, UnknownPathsAreRefusedOnAConnectionThatStaysOpen) {
  HttpClient client(master.port());
  const struct {
    std::string_view method;
    std::string_view target;
    std::string_view body;
    int status;
    std::string_view allow;
  } cases[] = {
      {"GET", "/nothing", "", 404, ""},
      {"GET", "/healthz/", "", 404, ""},
      {"POST", "/search", R"({"table":"nosuch"})", 404, ""},
      {"POST", "/sql", "query=SELECT+*+FROM+nosuch", 404, ""},
      {"GET", "/search", "", 405, "POST"},
      {"PUT", "/json/search", "{}", 405, "POST"},
      {"DELETE", "/sql", "", 405, "GET, POST"},
      {"POST", "/healthz", "", 405, "GET, HEAD"},
      {"PROPFIND", "/agents", "", 405, "GET, HEAD"},
      {"POST", "/sql?mode=raw", "DROP TABLE t", 400, ""},
      {"POST", "/cli", "\x01\x02", 400, ""},
      // Invalid or empty JSON.
      {"POST", "/search", "", 400, ""},
      {"POST", "/search", "{", 400, ""},
      {"POST", "/search", "[]", 400, ""},
      {"POST", "/search", "null", 400, ""},
      {"POST", "/search", "\"t\"", 400, ""},
      {"POST", "/search", "{}", 400, ""},
      {"POST", "/search", R"({"table":5})", 400, ""},
      {"POST", "/search", R"({"table":{}})", 400, ""},
      {"POST", "/search", R"({"table":["t"]})", 400, ""},
      {"POST", "/search", R"({"table":""})", 400, ""},
      {"POST", "/search", R"({"table":"t,nosuch"})", 404, ""},
      {"POST", "/search", R"({"table":"t"} x)", 400, ""},
      {"POST", "/search", R"({"table":"t")", 400, ""},
      {"POST", "/search", R"({"table":"t","limit":01})", 400, ""},
      {"POST", "/search", "{\"table\":\"t\xff\"}", 400, ""},
      // Of the right shape, with invalid values.
      {"POST", "/search", R"({"table":"two","limit":"x"})", 400, ""},
      {"POST", "/search", R"({"table":"two","limit":-1})", 400, ""},
      {"POST", "/search", R"({"table":"two","offset":1.5})", 400, ""},
      {"POST", "/search", R"({"table":"two","sort":7})", 400, ""},
      {"POST", "/search", R"({"table":"two","sort":[{"a":"up"}]})", 400, ""},
      {"POST", "/search", R"({"table":"two","aggs":[]})", 400, ""},
      {"POST", "/search", R"({"table":"two","limit":1e999})", 400, ""},
  };
  const auto before = master.count("requests");
  for (const auto& c : cases) {
    SCOPED_TRACE(fmt::format("{} {} {}", c.method, c.target, c.body));
    auto answer = client.request(c.method, c.target, c.body);
    ASSERT_TRUE(answer);
    expect_error(*answer, c.status);
    EXPECT_EQ(answer->fields["allow"], c.allow);
    EXPECT_FALSE(answer->fields.contains("connection"));
  }
  EXPECT_EQ(master.count("requests"), before + std::ssize(cases) + 1);
  EXPECT_EQ(mirror.requests(), 0u);
}

TEST_F(Refusals, AtPathsOfElasticsearchHaveItsForm) {
  HttpClient client(master.port());
  const struct {
    std::string_view method;
    std::string_view target;
    std::string_view fields;
    int status;
    std::string_view type;
  } cases[] = {
      {"DELETE", "/t/_search", "", 405, "Error"},
      {"GET", "/two/_doc/1", "", 405, "Error"},
      {"POST", "/t/_bulk", "Content-Encoding: gzip\r\n", 400, "parse_exception"},
      {"POST", "/_msearch", "Content-Encoding: br\r\n", 415, "Error"},
      {"POST", "/t/_bulk", "X-Read-Preference: secondary\r\n", 400, "parse_exception"},
      {"GET", "/_cat/indices", "", 404, "no_handler_found"},
      {"GET", "/t/_mapping", "", 404, "no_handler_found"},
      {"GET", "/nosuch/_search", "", 404, "index_not_found_exception"},
      {"GET", "/nosuch/_count/", "", 404, "index_not_found_exception"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(fmt::format("{} {} {}", c.method, c.target, c.fields));
    const auto answer = client.request(c.method, c.target, "{}", c.fields);
    ASSERT_TRUE(answer);
    expect_error(*answer, c.status);
    EXPECT_TRUE(
        answer->body.starts_with(fmt::format(R"({{"error":{{"type":"{}","reason":")", c.type)))
        << answer->body;
    EXPECT_TRUE(answer->body.ends_with(fmt::format(R"("}},"status":{}}})", c.status)))
        << answer->body;
  }
  const auto too_long = client.request("POST", "/t/_count", std::string(70'000, ' '));
  ASSERT_TRUE(too_long);
  EXPECT_TRUE(too_long->body.ends_with(R"("},"status":413})")) << too_long->body;
}

TEST_F(Refusals, AByteOrderMarkIsNoMistake) {
  expect_error(post(master.port(), "/search", "\xEF\xBB\xBF{\"table\":\"nosuch\"}"), 404);
}

/// Requests that one parser reads as a search of table t, and another parser differently.
TEST_F(Refusals, WhatEnginesReadDifferentlyIsNotPassedOn) {
  const struct {
    std::string_view target;
    std::string_view body;
  } cases[] = {
      {"/sql", "SELECT id, 5 -- 3 AS y FROM t; DELETE FROM t WHERE id>0; SELECT 1"},
      {"/sql?mode=raw", "query=SELECT+id+%23+FROM+t;DELETE+FROM+t%0a+FROM+t"},
      {"/sql", "query=SELECT+id+FROM+t&query=DELETE+FROM+t"},
      {"/sql?query=DELETE+FROM+t", "query=SELECT+id+FROM+t"},
      {"/cli", "select id /* **/ from t /* */; delete from t"},
      {"/cli_json", "select id, \"; delete from t; select \" from t"},
      {"/cli_json", "/*! delete */ select id from t"},
      {"/search", R"({"TABLE":"secret","table":"t"})"},
      {"/search", R"({"table":"t","Index":"secret"})"},
      {"/search", R"({"table":"t","query":{"match":{"x":"\u0041"}},"t\u0061BLE":"secret"})"},
      {"/search", R"({"table":"secret","table":"t"})"},
      {"/insert", R"({"TABLE":"secret","table":"t","id":1,"doc":{}})"},
      {"/update", R"({"index":"t","table":"t","index":"secret","id":1,"doc":{}})"},
      {"/bulk", R"({"insert":{"Table":"secret","table":"t","id":1,"doc":{}}})"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.body);
    expect_error(post(master.port(), c.target, c.body), 400);
  }
  expect_untouched();
}

TEST_F(Refusals, OptionsReturnsTheMethodsOfAPath) {  // RFC 9110 section 9.3.7
  HttpClient client(master.port());
  for (const auto& [target, methods] :
       {std::pair("*", "GET, HEAD, POST, OPTIONS"), std::pair("/search", "POST"),
        std::pair("/healthz", "GET, HEAD"), std::pair("/sql", "GET, POST")}) {
    auto answer = client.request("OPTIONS", target);
    ASSERT_TRUE(answer) << target;
    EXPECT_EQ(answer->status, 204) << target;
    EXPECT_EQ(answer->fields["allow"], methods);
  }
  EXPECT_EQ(client.request("OPTIONS", "/nothing")->status, 404);
}

TEST_F(Refusals, AnswersAboutKarmadIgnoreFieldsAboutMirrors) {
  HttpClient client(master.port());
  for (const auto* path : {"/healthz", "/agents", "/status", "/metrics", "/hello", "/admission"})
    EXPECT_EQ(client
                  .request("GET", std::string(path) + "?read_preference=nonsense", {},
                           "X-Read-Preference: nonsense\r\nX-Hedge: x\r\nX-Partial-Results: y\r\n")
                  ->status,
              200)
        << path;
}

TEST_F(Refusals, DeepJsonIsAnErrorWhereverItStands) {
  HttpClient client(master.port());
  const std::string open(30'000, '[');
  std::string objects;
  for (int i = 0; i < 9'000; ++i) objects += R"({"a":)";
  for (const auto& body : {
           open,
           open + std::string(30'000, ']'),
           objects,
           R"({"table":"t","query":)" + open,
           R"({"query":)" + open + std::string(30'000, ']') + R"(,"table":"t"})",
           R"({"table":"two","query":)" + open + std::string(30'000, ']') + "}",
           R"({"table":"two","aggs":)" + objects,
       }) {
    SCOPED_TRACE(body.substr(0, 40));
    const auto answer = client.request("POST", "/search", body);
    ASSERT_TRUE(answer);
    expect_error(*answer, 400);
  }
  EXPECT_EQ(mirror.requests(), 0u);
}

TEST(DeepJson, HundredThousandBracketsAreAnErrorAndNoCrash) {
  FakeMirror mirror([](const std::string&) { return json("{}"); });
  Master master("", fmt::format(kTables, mirror.address()));
  const std::string open(100'000, '[');
  for (const auto* table : {"t", "two"}) {
    EXPECT_EQ(master.search(open).status, 400);
    EXPECT_EQ(master.search(fmt::format(R"({{"query":{},"table":"{}"}})", open, table)).status,
              400);
    EXPECT_EQ(post(master.port(), "/sql", "query=SELECT " + std::string(100'000, '(')).status, 400);
  }
  EXPECT_EQ(mirror.requests(), 0u);
}

TEST_F(Refusals, HalfRequestsAndSilenceLeaveNothingBehind) {
  const std::string request =
      "POST /search HTTP/1.1\r\nHost: h\r\nContent-Length: 13\r\n\r\n{\"table\":\"t\"}";
  for (std::size_t cut = 0; cut < request.size(); cut += 3)
    for (const bool hard : {false, true}) {
      HttpClient client(master.port());
      ASSERT_TRUE(client.send(request.substr(0, cut)));
      if (hard) {
        client.reset();
      } else {
        client.finish();
        EXPECT_TRUE(client.closed());
      }
    }
  expect_untouched();
}

class SlowSenders : public Refusals {
 protected:
  SlowSenders() : Refusals("network_timeout = 150ms\n client_timeout = 300ms\n") {}
};

TEST_F(SlowSenders, GetAnErrorThatTheyWereTooSlow) {
  const auto slow = master.count("slow_clients");
  const std::string_view cases[] = {
      "G",
      "GET /healthz HTTP/1.1\r\nHost: h\r\n",
      "POST /search HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n",
      "POST /search HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nabcd",
      "POST /search HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
      "POST /search HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n",
      "POST /search HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
  };
  for (const auto bytes : cases) {
    SCOPED_TRACE(bytes);
    HttpClient client(master.port());
    ASSERT_TRUE(client.send(bytes));
    const auto answer = client.receive();
    ASSERT_TRUE(answer);
    expect_error(*answer, 408);
    EXPECT_TRUE(client.closed());
  }
  EXPECT_EQ(master.count("slow_clients"), slow + std::ssize(cases));
  expect_untouched();
}

TEST_F(SlowSenders, GetNoMoreTimeBySendingSingleBytes) {
  HttpClient client(master.port());
  ASSERT_TRUE(client.send("GET /healthz HTTP/1.1\r\nHost: h\r\nX: "));
  const bool gave_up = eventually([&] { return !client.send("x") || client.closed(0ms); });
  EXPECT_TRUE(gave_up || client.receive());
  expect_untouched();
}

TEST_F(SlowSenders, WithoutAnyByteAreClosedWithoutAnAnswer) {
  const auto slow = master.count("slow_clients");
  HttpClient silent(master.port());
  EXPECT_EQ(silent.rest(), "");
  HttpClient kept(master.port());  // client_timeout between requests
  EXPECT_EQ(kept.request("GET", "/healthz")->status, 200);
  EXPECT_EQ(kept.rest(), "");
  EXPECT_EQ(master.count("slow_clients"), slow);  // being idle is no offence
  expect_untouched();
}

TEST_F(SlowSenders, AreDisconnectedAfterARefusalAndNotCountedAsSlow) {
  const auto slow = master.count("slow_clients");
  HttpClient bad(master.port());
  ASSERT_TRUE(bad.send("nonsense\r\n\r\n"));
  EXPECT_EQ(bad.receive()->status, 400);
  EXPECT_TRUE(eventually([&] { return master.count("connections_open") == 1; }));
  EXPECT_EQ(master.count("slow_clients"), slow);
  EXPECT_EQ(master.count("bad_requests"), 1);
}

TEST(MaxConnections, OneMoreIsRefusedAndLaterAccepted) {
  FakeMirror mirror([](const std::string&) { return json("{}"); });
  Master master("max_connections = 3\n workers = 1", fmt::format(kOneShard, mirror.address()));
  {
    HttpClient a(master.port());
    HttpClient b(master.port());
    HttpClient c(master.port());
    for (auto* client : {&a, &b, &c}) ASSERT_TRUE(client->request("GET", "/healthz"));
    for (int i = 0; i < 5; ++i) {
      HttpClient d(master.port());
      auto answer = d.receive();
      ASSERT_TRUE(answer);
      EXPECT_EQ(answer->status, 429);
      EXPECT_TRUE(answer->body.starts_with(R"({"error":)"));
      EXPECT_EQ(answer->fields["retry-after"], "1");
      EXPECT_EQ(answer->fields["connection"], "close");
      EXPECT_TRUE(d.closed());
    }
    EXPECT_EQ(a.request("GET", "/healthz")->status, 200);  // open connections stay
    EXPECT_EQ(b.request("POST", "/sql?mode=raw", "SHOW STATUS LIKE 'maxed_out'")
                  ->body.contains(R"("Value":"5")"),
              true);
  }
  EXPECT_TRUE(eventually([&] { return get(master.port(), "/healthz").status == 200; }));
}

}  // namespace
}  // namespace karmad::test
