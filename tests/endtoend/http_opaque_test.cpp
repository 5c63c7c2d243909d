#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/support/cluster.hpp"
#include "tests/support/fake_mirror.hpp"

namespace karmad::test {
namespace {

using Then = Reaction::Then;

Reaction ok(std::string_view fields = {}, std::string_view body = "fine", int status = 200) {
  return {fmt::format("HTTP/1.1 {} X\r\n{}Content-Length: {}\r\n\r\n{}", status, fields,
                      body.size(), body)};
}

std::string table(std::string_view name, std::string_view settings, std::string_view mirrors) {
  return fmt::format("table {} {{\n type = distributed\n dialect = http\n {}\n agent = {}\n}}\n",
                     name, settings, mirrors);
}

/// The lines of a head a mirror saw, in lower case.
std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}
bool has_line(const std::string& request, const std::string& line) {
  return lower(request).contains("\r\n" + lower(line) + "\r\n");
}

class Opaque : public testing::Test {
 protected:
  FakeMirror a{[](const std::string&) { return ok(); }, true};
  FakeMirror b{[](const std::string&) { return ok({}, "from b"); }};
  ClosedPort closed_port;
  static constexpr auto kSearchd = "workers = 1\n ha_strategy = roundrobin\n ha_ping_interval = 0";
};

TEST_F(Opaque, PassesAnyMethodPathAndQueryString) {
  Master master(kSearchd, table("kept", "route = /kept", a.address()) +
                              table("moved", "route = /moved\n path = /inner/core", a.address()) +
                              table("bare", "route = /bare\n path = /", a.address()));
  const struct {
    std::string_view method;
    std::string_view target;
    std::string_view body;
    std::string_view line;
  } cases[] = {
      {"GET", "/kept", "", "GET /kept HTTP/1.1"},
      {"GET", "/kept/", "", "GET /kept/ HTTP/1.1"},
      {"GET", "/kept/a/b?q=1&r=%20x", "", "GET /kept/a/b?q=1&r=%20x HTTP/1.1"},
      {"GET", "/kept?q", "", "GET /kept?q HTTP/1.1"},
      {"GET", "/kept/%7E..x/%20{}|", "", "GET /kept/%7E..x/%20{}| HTTP/1.1"},
      {"POST", "/kept/x", "body", "POST /kept/x HTTP/1.1"},
      {"PUT", "/kept/x", "", "PUT /kept/x HTTP/1.1"},
      {"DELETE", "/kept/x", "", "DELETE /kept/x HTTP/1.1"},
      {"DELETE", "/kept/x", "why", "DELETE /kept/x HTTP/1.1"},
      {"PATCH", "/kept/x", "patch", "PATCH /kept/x HTTP/1.1"},
      {"OPTIONS", "/kept/x", "", "OPTIONS /kept/x HTTP/1.1"},
      {"PROPFIND", "/kept/x", "<x/>", "PROPFIND /kept/x HTTP/1.1"},
      {"GET", "/moved", "", "GET /inner/core HTTP/1.1"},
      {"GET", "/moved/select?q=1", "", "GET /inner/core/select?q=1 HTTP/1.1"},
      {"GET", "/bare", "", "GET / HTTP/1.1"},
      {"GET", "/bare/x?y", "", "GET /x?y HTTP/1.1"},
  };
  HttpClient client(master.port());
  for (const auto& c : cases) {
    SCOPED_TRACE(fmt::format("{} {}", c.method, c.target));
    const auto answer = client.request(c.method, c.target, c.body);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->body, "fine");
    const auto seen = a.seen().back();
    EXPECT_EQ(seen.substr(0, seen.find("\r\n")), c.line);
    EXPECT_EQ(seen.substr(seen.find("\r\n\r\n") + 4), c.body);
    const bool with_length = !c.body.empty() || c.method == "PUT";
    EXPECT_EQ(has_line(seen, fmt::format("content-length: {}", c.body.size())), with_length);
  }
  EXPECT_EQ(client.request("GET", "/keptx")->status, 404);  // no part of the route
  // A path with `..`, or one that servers read differently, could lead out of the route.
  const auto seen = a.requests();
  for (const auto* target :
       {"/moved/../x", "/moved/a/..", "/moved/%2e%2E/x", "/moved/./x", "/moved/..%2fadmin",
        "/moved/..;/admin", "/moved/..%5cadmin", "/moved/..\\admin", "/moved//admin",
        "/moved/%252e%252e/x", "/moved/a%00", "/moved/a%2fb"}) {
    const auto answer = client.request("GET", target);
    EXPECT_EQ(answer->status, 400) << target;
    EXPECT_TRUE(answer->body.ends_with(R"( is not passed on","status":400})")) << answer->body;
  }
  EXPECT_EQ(a.requests(), seen);
}

TEST_F(Opaque, BodiesInChunksArriveWhole) {
  Master master(kSearchd, table("t", "route = /t", a.address()));
  HttpClient client(master.port());
  ASSERT_TRUE(
      client.send("POST /t HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n"
                  "Trailer: X\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\nX: y\r\n\r\n"));
  EXPECT_EQ(client.receive()->status, 200);
  EXPECT_TRUE(a.seen().back().ends_with("\r\n\r\nabcde"));
  EXPECT_TRUE(has_line(a.seen().back(), "content-length: 5"));
  EXPECT_FALSE(lower(a.seen().back()).contains("transfer-encoding"));
}

TEST_F(Opaque, EndToEndFieldsTravelAndHopByHopOnesStop) {
  Master master(kSearchd, table("t", "route = /t", a.address()));
  a.react([](const std::string&) {
    return ok(
        "Content-Type: text/x; charset=y\r\nETag: \"1\"\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n"
        "Cache-Control: no-cache\r\nX-Odd: \x80\xff\r\nLocation: /elsewhere\r\n"
        "Connection: X-Mine, keep-alive\r\nX-Mine: hop\r\nKeep-Alive: timeout=5\r\n"
        "Proxy-Authenticate: x\r\nUpgrade: h2c\r\nTrailer: a\r\n");
  });
  HttpClient client(master.port());
  const auto answer = client.request(
      "GET", "/t/x", {},
      "Accept: a/b\r\nAuthorization: Basic eDp5\r\nCookie: c=d\r\nIf-None-Match: \"1\"\r\n"
      "X-Twice: 1\r\nX-Twice: 2\r\nRange: bytes=0-1\r\nAccept-Encoding: gzip, br\r\n"
      "User-Agent: test\r\nX-Client: hop\r\nConnection: X-Client\r\nTE: trailers\r\n"
      "Keep-Alive: 5\r\nProxy-Connection: keep-alive\r\nUpgrade: websocket\r\n"
      "X-Request-Id: 7\r\n");
  ASSERT_TRUE(answer);
  const auto seen = a.seen().back();
  for (const auto* line :
       {"Accept: a/b", "Authorization: Basic eDp5", "Cookie: c=d", "If-None-Match: \"1\"",
        "X-Twice: 1", "X-Twice: 2", "Range: bytes=0-1", "Accept-Encoding: gzip, br",
        "User-Agent: test", "X-Forwarded-For: 127.0.0.1"})
    EXPECT_TRUE(has_line(seen, line)) << line << "\n" << seen;
  EXPECT_TRUE(has_line(seen, "Host: " + a.address()));
  for (const auto* name : {"connection:", "x-client", "te:", "keep-alive", "proxy-connection",
                           "upgrade", "transfer-encoding", "host: test"})
    EXPECT_FALSE(lower(seen).contains(std::string("\r\n") + name)) << name << "\n" << seen;
  const auto& fields = answer->fields;
  const std::map<std::string, std::string> expected{
      {"content-type", "text/x; charset=y"},
      {"etag", "\"1\""},
      {"set-cookie", "b=2"},
      {"cache-control", "no-cache"},
      {"x-odd", "\x80\xff"},
      {"location", "/elsewhere"},
      {"content-length", "4"},
      {"x-request-id", "7"},
  };
  EXPECT_EQ(fields, expected);  // and nothing else
}

TEST_F(Opaque, TellsTheClientsAddressAndNotWhatTheClientMakesUp) {
  Master master(kSearchd, table("t", "route = /t", a.address()));
  HttpClient client(master.port());
  client.request("GET", "/t", {},
                 "X-Forwarded-For: 10.1.1.1, 10.2.2.2\r\nx-forwarded-for: ::1\r\n"
                 "X-Forwarded-Proto: https\r\nX-Forwarded-Host: evil.example\r\n");
  const auto seen = a.seen().back();
  EXPECT_TRUE(has_line(seen, "X-Forwarded-For: 127.0.0.1")) << seen;
  EXPECT_TRUE(has_line(seen, "X-Forwarded-Proto: http")) << seen;
  EXPECT_TRUE(has_line(seen, "X-Forwarded-Host: test")) << seen;
  for (const auto* made_up : {"10.1.1.1", "::1", "https", "evil.example", "Forwarded:  "})
    EXPECT_FALSE(seen.contains(made_up)) << seen;
}

TEST_F(Opaque, HeadAndNotModifiedKeepTheirLengthAndHaveNoBody) {
  Master master(kSearchd, table("t", "route = /t", a.address()));
  HttpClient client(master.port());
  a.react([](const std::string& request) {
    if (request.starts_with("HEAD"))
      return Reaction{"HTTP/1.1 200 OK\r\nContent-Length: 123\r\n\r\n"};
    if (request.contains("/304"))
      return Reaction{"HTTP/1.1 304 X\r\nETag: \"e\"\r\nContent-Length: 77\r\n\r\n"};
    if (request.contains("/204")) return Reaction{"HTTP/1.1 204 X\r\n\r\n"};
    if (request.contains("/lying")) return Reaction{"HTTP/1.1 204 X\r\nContent-Length: 5\r\n\r\n"};
    return ok();
  });
  auto head = client.request("HEAD", "/t");
  EXPECT_EQ(head->fields["content-length"], "123");
  auto unmodified = client.request("GET", "/t/304");
  EXPECT_EQ(unmodified->status, 304);
  EXPECT_EQ(unmodified->fields["content-length"], "77");
  EXPECT_EQ(unmodified->fields["etag"], "\"e\"");
  for (const auto* path : {"/t/204", "/t/lying"}) {
    const auto none = client.request("GET", path);
    EXPECT_EQ(none->status, 204);
    EXPECT_FALSE(none->fields.contains("content-length")) << path;  // RFC 9110 section 8.6
  }
  EXPECT_EQ(client.request("GET", "/t")->body, "fine");  // nothing was left on the connection
}

TEST_F(Opaque, PassesCompressedAndBinaryBytesUntouched) {
  std::string bytes;
  for (int i = 0; i < 100'000; ++i) bytes.push_back(static_cast<char>(i * 31 % 256));
  a.react([&](const std::string&) { return ok("Content-Encoding: gzip\r\n", bytes); });
  Master master(kSearchd, table("t", "route = /t", a.address()));
  HttpClient client(master.port());
  auto answer = client.request("POST", "/t", bytes, "Content-Encoding: gzip\r\n");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->body, bytes);
  EXPECT_EQ(answer->fields["content-encoding"], "gzip");
  EXPECT_TRUE(a.seen().back().ends_with(bytes));
  EXPECT_TRUE(has_line(a.seen().back(), "Content-Encoding: gzip"));
}

TEST_F(Opaque, AnswersOfAnyStatusComeInTheAgentsOwnWords) {
  Master master(kSearchd, table("t", "route = /t", a.address()));
  HttpClient client(master.port());
  for (const int status :
       {200, 201, 206, 301, 400, 401, 404, 409, 410, 418, 422, 429, 500, 501, 503}) {
    a.react([&](const std::string&) {
      return ok("Retry-After: 7\r\nContent-Type: text/plain\r\n", fmt::format("it is {}", status),
                status);
    });
    auto answer = client.request("GET", "/t");
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, status);
    EXPECT_EQ(answer->body, fmt::format("it is {}", status));
    EXPECT_EQ(answer->fields["content-type"], "text/plain");
    EXPECT_EQ(answer->fields["retry-after"], "7");
  }
  // 4xx does not count as an error of the agent; 429 and 5xx do.
  const auto errors =
      master.count("agent_errorsarow", fmt::format("SHOW AGENT '{}' STATUS", a.address()));
  EXPECT_EQ(errors, 4);
}

TEST_F(Opaque, ReadsAreRetriedAtAnotherMirror) {
  a.react([](const std::string&) { return Reaction{"", Then::close}; });
  Master master(kSearchd, table("t", "route = /t\n updates = any\n reads = /t/find, /t/views/*",
                                a.address() + "|" + b.address()));
  HttpClient client(master.port());
  const struct {
    std::string_view method;
    std::string_view target;
    bool read;
  } cases[] = {
      {"GET", "/t/x", true},         {"HEAD", "/t/x", true},         {"POST", "/t/find", true},
      {"POST", "/t/find?q=1", true}, {"POST", "/t/views/a/b", true}, {"POST", "/t/x", false},
      {"POST", "/t/finder", false},  {"PUT", "/t/views", false},     {"DELETE", "/t/x", false},
      {"PATCH", "/t/x", false},      {"OPTIONS", "/t/x", true},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(fmt::format("{} {}", c.method, c.target));
    const auto seen_by_a = a.requests();
    int answered = 0;
    int failed = 0;
    for (int i = 0; i < 4; ++i) {
      const auto answer = client.request(c.method, c.target, "x");
      ASSERT_TRUE(answer);
      (answer->status == 200 ? answered : failed) += 1;
    }
    const auto asked_a = static_cast<int>(a.requests() - seen_by_a);
    EXPECT_GE(asked_a, 2);
    EXPECT_EQ(failed, c.read ? 0 : asked_a);  // sent once; its effect is unknown
  }
}

TEST_F(Opaque, UpdatesOfMirrorsThatAreAllAlikeAreRefusedUnlessTheTableAllowsThem) {
  const auto mirrors = a.address() + "|" + b.address();
  Master master(kSearchd,
                table("t", "route = /t\n reads = /t/find", mirrors) +
                    table("any", "route = /any\n updates = any", mirrors) +
                    table("one", "route = /one", a.address()) +
                    table("roles", "route = /roles\n ping_type = none",
                          a.address() + "[role=replica]|" + b.address() + "[role=primary]"));
  HttpClient client(master.port());
  for (const auto* method : {"PUT", "POST", "DELETE", "PATCH"}) {
    const auto refused = client.request(method, "/t/1", "x");
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->status, 403) << method;
    EXPECT_TRUE(refused->body.contains("updates = any")) << refused->body;
  }
  EXPECT_EQ(a.requests() + b.requests(), 0u);
  EXPECT_EQ(client.request("POST", "/t/find", "x")->status, 200);
  EXPECT_EQ(client.request("OPTIONS", "/t/1")->status, 200);
  EXPECT_EQ(client.request("PUT", "/one/1", "x")->status, 200);
  std::set<std::string> answers;
  for (int i = 0; i < 8; ++i) answers.insert(client.request("PUT", "/any/1", "x")->body);
  EXPECT_EQ(answers.size(), 2u) << "they pass updates on to each other";
  const auto before = a.requests();
  for (int i = 0; i < 8; ++i) EXPECT_EQ(client.request("PUT", "/roles/1", "x")->body, "from b");
  EXPECT_EQ(a.requests(), before);
}

TEST_F(Opaque, WhatWasNeverSentIsAlwaysRetried) {
  Master master(kSearchd, table("t", "route = /t\n updates = any",
                                closed_port.address() + "|" + b.address()));
  HttpClient client(master.port());
  for (int i = 0; i < 6; ++i) {
    const auto answer = client.request("POST", "/t/x", "x");
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->body, "from b");
  }
  EXPECT_EQ(b.requests(), 6u);
  EXPECT_GE(master.count("agent_retry"), 1);  // then it is left to the pings
}

TEST_F(Opaque, NoMirrorIsAnErrorThatNamesThemAll) {
  Master master(kSearchd, table("t", "route = /t\n agent_retry_count = 1",
                                closed_port.address() + "|127.0.0.1:1"));
  const auto answer = get(master.port(), "/t/x");
  EXPECT_EQ(answer.status, 502);
  EXPECT_TRUE(answer.body.contains(closed_port.address()));
  EXPECT_TRUE(answer.body.contains("agent 127.0.0.1:1:"));
  EXPECT_TRUE(answer.body.contains("table t"));
}

TEST_F(Opaque, TheLongestRouteWins) {
  Master master(kSearchd, table("all", "route = /", a.address()) +
                              table("deep", "route = /x/y", b.address()) +
                              table("mid", "route = /x\n path = /mid", a.address()));
  HttpClient client(master.port());
  const struct {
    std::string_view target;
    FakeMirror& mirror;
    std::string_view line;
  } cases[] = {
      {"/x/y", b, "GET /x/y "}, {"/x/y/z", b, "GET /x/y/z "}, {"/x/yz", a, "GET /mid/yz "},
      {"/x", a, "GET /mid "},   {"/xy", a, "GET /xy "},       {"/", a, "GET / "},
      {"/?q", a, "GET /?q "},
  };
  for (const auto& c : cases) {
    const auto before = c.mirror.requests();
    ASSERT_TRUE(client.request("GET", c.target)) << c.target;
    ASSERT_EQ(c.mirror.requests(), before + 1) << c.target;
    EXPECT_TRUE(c.mirror.seen().back().starts_with(c.line)) << c.mirror.seen().back();
  }
  // Endpoints of karmad are not routed.
  EXPECT_EQ(client.request("GET", "/healthz")->body, R"({"status":"ok"})");
  EXPECT_EQ(client.request("GET", "/search")->status, 405);
}

}  // namespace
}  // namespace karmad::test
