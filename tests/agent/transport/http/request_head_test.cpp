#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "agent/transport/http/http_head.hpp"
#include "tests/agent/transport/request_cases.hpp"

namespace karmad {
namespace {

using namespace request_cases;
using namespace std::string_literals;

TEST(RequestHead, IsTakenApartIntoViewsOfTheBytes) {
  const std::string bytes =
      "POST /search?a=1&b=%20 HTTP/1.1\r\nHost: 127.0.0.1:9308\r\ncontent-type:application/json\r\n"
      "X-Empty:\r\nX-Blank: \t v w \t \r\nContent-Length: 12\r\n\r\n{\"body\": 1}";
  RequestHead head;
  ASSERT_EQ(parse_request_head(bytes, {}, head), HeadState::complete);
  EXPECT_EQ(head.method, "POST");
  EXPECT_EQ(head.target, "/search?a=1&b=%20");
  EXPECT_EQ(head.path, "/search");
  EXPECT_EQ(head.query, "a=1&b=%20");
  EXPECT_EQ(head.minor_version, 1u);
  EXPECT_EQ(head.field_count, 5u);
  EXPECT_EQ(head.find("Content-Type"), "application/json");
  EXPECT_EQ(head.find("x-empty"), "");
  EXPECT_EQ(head.find("x-blank"), "v w");
  EXPECT_EQ(head.find("x-absent"), "");
  EXPECT_EQ(head.framing, Framing::length);
  EXPECT_EQ(head.content_length, 12u);
  EXPECT_TRUE(head.keep_alive);
  EXPECT_FALSE(head.expect_continue);
  EXPECT_EQ(bytes.substr(head.size), "{\"body\": 1}");
  EXPECT_GE(head.target.data(), bytes.data());
  EXPECT_LT(head.target.data(), bytes.data() + bytes.size());
}

TEST(RequestHead, ReusedForTheNextRequestForgetsThePreviousOne) {
  RequestHead head;
  const auto first =
      with("Transfer-Encoding: chunked\r\nConnection: close, x\r\nExpect: 100-continue");
  ASSERT_EQ(parse_request_head(first, {}, head), HeadState::complete);
  ASSERT_TRUE(head.expect_continue && head.connection_names_fields && !head.keep_alive);
  const auto second = get("/");
  ASSERT_EQ(parse_request_head(second, {}, head), HeadState::complete);
  EXPECT_EQ(head.framing, Framing::none);
  EXPECT_EQ(head.content_length, 0u);
  EXPECT_EQ(head.field_count, 1u);
  EXPECT_TRUE(head.keep_alive);
  EXPECT_FALSE(head.expect_continue);
  EXPECT_FALSE(head.connection_names_fields);
}

TEST(RequestHead, EveryPrefixOfAValidOneIsIncomplete) {
  for (
      const auto& whole : {
          "\r\n\r\nPOST /s?q HTTP/1.1\r\nHost: [::1]:80\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n"s,
          "GET http://h.example:1/p HTTP/1.1\r\nHost: h.example:1\r\nA:b\r\n\r\n"s,
          "OPTIONS * HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"s,
      }) {
    for (std::size_t size = 0; size < whole.size(); ++size)
      EXPECT_EQ(verdict(whole.substr(0, size)), 1) << whole.substr(0, size);
    EXPECT_EQ(verdict(whole), 0);
  }
}

struct TargetCase {
  std::string target, path, query, method = "GET";
};

TEST(RequestHead, TargetFormsAreReducedToPathAndQuery) {
  const std::vector<TargetCase> cases{
      {"/", "/", ""},
      {"/a/b?x=/?y", "/a/b", "x=/?y"},
      {"/?", "/", ""},
      {"//a", "//a", ""},
      {"/q={!lucene}[a|b]^\"", "/q={!lucene}[a|b]^\"", ""},  // what clients of search engines send
      {"http://a", "/", ""},
      {"http://a?x", "/", "x"},
      {"HTTP://A/p?x", "/p", "x"},
      {"https://a/", "/", ""},
      {"*", "*", "", "OPTIONS"},
  };
  for (const auto& c : cases) {
    RequestHead head;
    const auto bytes = get(c.target, c.method);
    ASSERT_EQ(parse_request_head(bytes, {}, head), HeadState::complete) << c.target;
    EXPECT_EQ(head.path, c.path) << c.target;
    EXPECT_EQ(head.query, c.query) << c.target;
    EXPECT_EQ(head.target, c.target);
  }
}

TEST(RequestHead, BadTargetsAreRefused) {
  expect({
      {get("*"), 400},
      {get("a"), 400},
      {get("example.com:80"), 400},
      {get("ftp://a/"), 400},
      {get("http:///p"), 400},
      {get("http://u@a/"), 400},
      {get("http://a:x/"), 400},
      {get("http://b/"), 400},  // Host says a
      {get("/a#b"), 400},
      {get("/a\tb"), 400},
      {get("/a b"), 400},
      {get("/\xc3\xa4"), 400},
      {get("/\x7f"), 400},
      {get("/\0"s), 400},
      {get(""), 400},
      {get(" /"), 400},
      {"CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n", 501},
      {"CONNECT ", 501},
      {get("/" + std::string(8 << 10, 'x')), 414},
      {"GET /" + std::string(8 << 10, 'x'), 414},  // found before the rest has come
      {get("/" + std::string((8 << 10) - 1, 'x')), 0},
  });
}

TEST(RequestHead, MethodsAreTokensOfABoundedLength) {
  expect({
      {get("/", "get"), 0},  // routing knows methods
      {get("/", "PURGE"), 0},
      {get("/", std::string(32, 'M')), 0},
      {get("/", std::string(33, 'M')), 501},
      {std::string(33, 'M'), 501},
      {get("/", "G(T"), 400},
      {get("/", ""), 400},
      {"GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET\r\n", 400},
  });
}

TEST(RequestHead, OnlyVersions10And11AreSpoken) {
  const auto version = [](std::string_view v) {
    return "GET / " + std::string(v) + "\r\nHost: a\r\n\r\n";
  };
  expect({
      {version("HTTP/1.1"), 0},
      {version("HTTP/1.0"), 0},
      {version("HTTP/0.9"), 505},
      {version("HTTP/1.2"), 505},
      {version("HTTP/2.0"), 505},
      {version("HTTP/2"), 505},
      {version("HTTP/3"), 505},
      {version("http/1.1"), 400},
      {version("HTTP/1,1"), 400},
      {version("HTTP/1.1 "), 400},
      {version("HTTP/11"), 400},
      {version("HTTP/1.10"), 400},
      {version("HTTP/x"), 400},
      {version("HTTPS/1.1"), 400},
      {version(" HTTP/1.1"), 400},
      {"GET /\r\n", 400},
      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
  });
}

TEST(RequestHead, WhatIsNotHttpIsRefusedWithItsFirstBytes) {
  EXPECT_EQ(reason("\x16\x03\x01\x02"), "this is not HTTP: it begins with byte 0x16");
  expect({
      {"\x16\x03\x01", 400},
      {"\0\0\0\1"s, 400},  // the binary protocol of search daemons
      {"{\"table\"", 400},
      {"\xff", 400},
      {"\n", 400},
      {" GET", 400},
      {"SSH-2.0-OpenSSH_9.2\r\n", 400},
      {"GET / HTTQ", 400},
  });
}

TEST(RequestHead, AFewEmptyLinesBeforeItAreTolerated) {
  expect({
      {"\r\n" + get("/"), 0},
      {"\r\n\r\n\r\n\r\n" + get("/"), 0},
      {"\r\n\r\n\r\n\r\n\r\n" + get("/"), 400},
      {"\n" + get("/"), 400},
      {"\r\r\n" + get("/"), 400},
  });
}

TEST(RequestHead, NeedsExactlyOneValidHost) {
  const auto host = [](std::string_view value) {
    return "GET / HTTP/1.1\r\nHost: " + std::string(value) + "\r\n\r\n";
  };
  expect({
      {host("a.example.com"), 0},
      {host("a:9308"), 0},
      {host("10.0.0.1:80"), 0},
      {host("[::1]"), 0},
      {host("[fe80::1]:80"), 0},
      {host("a:"), 0},
      {host("under_score"), 0},
      {host(""), 400},
      {host("a b"), 400},
      {host("a,b"), 400},
      {host("a/b"), 400},
      {host("u@a"), 400},
      {host("a:65535"), 0},
      {host("a:65536"), 400},
      {host("a:999999"), 400},
      {host("a:8x"), 400},
      {host("a:-1"), 400},
      {host("a:80:80"), 400},
      {host(":80"), 400},
      {host("[::1"), 400},
      {host("[]"), 400},
      {host("[::1]x"), 400},
      {host("[g::]"), 400},
      {host("\xc3\xa4"), 400},
      {host("a?"), 400},
      {host("a#"), 400},
      {host("a\\b"), 400},
      {"GET / HTTP/1.1\r\n\r\n", 400},
      {"GET / HTTP/1.0\r\n\r\n", 0},
      {"GET http://a/ HTTP/1.1\r\n\r\n", 400},
      {"GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n", 400},
      {with("Host: a"), 400},
      {with("hOST: b"), 400},
  });
}

TEST(RequestHead, MalformedFieldLinesAreRefused) {
  expect({
      {with("nocolon"), 400},
      {with(": no name"), 400},
      {with("a b: c"), 400},
      {with("a\0b: c"s), 400},
      {with("\xc3\xa4: c"), 400},
      {with("a(b): c"), 400},
      {with("a: b\x01"), 400},
      {with("a: b\x7f long enough for a second word"), 400},
      {with("a: more than eight bytes \x1f then more"), 400},
      {with("a: b\tc"), 0},
      {with("a: \xc3\xa4 \xff obs-text is opaque"), 0},
      {with("a!#$%&'*+-.^_`|~09: :"), 0},
  });
}

TEST(RequestHead, SizeAndNumberOfFieldsAreBounded) {
  std::string many;
  for (int i = 0; i < 99; ++i) many += "a: b\r\n";
  EXPECT_EQ(verdict("GET / HTTP/1.1\r\nHost: a\r\n" + many + "\r\n"), 0);
  EXPECT_EQ(verdict("GET / HTTP/1.1\r\nHost: a\r\n" + many + "c"), 431);  // at its first byte
  EXPECT_EQ(verdict("GET / HTTP/1.1\r\nHost: a\r\n" + many + many, {.fields = 100000}), 431);
  EXPECT_EQ(verdict("GET / HTTP/1.1\r\nHost: a\r\n" + many, {.fields = 5}), 431);

  const auto small = get("/");
  EXPECT_EQ(verdict(small, {.size = small.size()}), 0);
  EXPECT_EQ(verdict(small + "the body does not count", {.size = small.size()}), 0);
  EXPECT_EQ(verdict(small, {.size = small.size() - 1}), 431);
  EXPECT_EQ(verdict(with("a: " + std::string(16 << 10, 'x'))), 431);
  EXPECT_EQ(verdict("GET / HTTP/1.1\r\na: " + std::string(16 << 10, 'x')), 431);
  EXPECT_EQ(verdict("GET / HTTP/1.1\r\n" + std::string(16 << 10, 'x')), 431);

  std::string options = "Connection: a";
  for (int i = 1; i < 32; ++i) options += ",a";
  EXPECT_EQ(verdict(with(options)), 0);
  EXPECT_EQ(verdict(with(options + ",a")), 431);
}

TEST(RequestHead, ReasonsNameTheValueAndStayShortAndPrintable) {
  EXPECT_EQ(reason(with("Content-Length: -1")), "Content-Length is '-1', not a number");
  EXPECT_EQ(reason(with("Transfer-Encoding: gzip")),
            "Transfer-Encoding is 'gzip', only chunked is understood");
  EXPECT_EQ(reason(with("X-A : b")), "a blank after the header name 'X-A'");
  EXPECT_EQ(reason(get("/\x80")), "byte 0x80 in the target: it must be %-encoded");
  EXPECT_EQ(reason("PRI * HTTP/2.0\r\n\r\n"),
            "HTTP/2 is not supported, only HTTP/1.1 and HTTP/1.0");
  const auto bad_host = reason(with("Expect: \xff" + std::string(5000, 'x')));
  EXPECT_LT(bad_host.size(), 120u);
  EXPECT_NE(bad_host.find("'?xxx"), std::string::npos) << bad_host;
}

}  // namespace
}  // namespace karmad
