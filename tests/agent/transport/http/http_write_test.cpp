#include "agent/transport/http/http_write.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string>

namespace karmad {
namespace {

RequestHead parsed(std::string_view bytes) {
  RequestHead head;
  EXPECT_EQ(parse_request_head(bytes, {}, head), HeadState::complete);
  return head;
}

TEST(HttpWrite, RequestHeadSaysWhatItWasGiven) {
  const std::array<Field, 1> extra{{{"X-Timeout-Ms", "900"}}};
  std::string out = "before ";
  write_request_head(out, {.target = "/search",
                           .host = "10.0.0.1:9308",
                           .content_type = "application/json",
                           .content_length = 1234,
                           .extra = extra});
  EXPECT_EQ(out,
            "before POST /search HTTP/1.1\r\nHost: 10.0.0.1:9308\r\nContent-Type: "
            "application/json\r\nContent-Length: 1234\r\nX-Timeout-Ms: 900\r\n\r\n");
}

TEST(HttpWrite, RequestWithoutBodyHasNoLength) {
  std::string out;
  write_request_head(out, {.method = "GET", .target = "/", .host = "a"});
  EXPECT_EQ(out, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
}

TEST(HttpWrite, ResponseHeadNamesTheConnectionOnlyWhenTheVersionDoesNotImplyIt) {
  std::string out;
  write_response_head(out, {.content_type = "text/plain", .content_length = 0});
  EXPECT_EQ(out, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 0\r\n\r\n");
  out.clear();
  write_response_head(out, {.status = 204, .keep_alive = false});
  EXPECT_EQ(out, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
  out.clear();
  write_response_head(out, {.status = 599, .client_minor_version = 0});
  EXPECT_EQ(out, "HTTP/1.1 599 Unknown\r\nConnection: keep-alive\r\n\r\n");
}

TEST(HttpWrite, AFieldCanBeWithheld) {
  const auto head = parsed(
      "GET / HTTP/1.1\r\nHost: a\r\nauthorization: x\r\nAccept: b\r\nAuthorization: y\r\n\r\n");
  std::string out;
  write_request_head(
      out, {.method = "GET", .host = "c", .passed_on = &head, .withheld = "Authorization"});
  EXPECT_EQ(out, "GET / HTTP/1.1\r\nHost: c\r\nAccept: b\r\n\r\n");
}

TEST(HttpWrite, OnlyEndToEndFieldsTravelOn) {
  const auto head = parsed(
      "POST / HTTP/1.1\r\nHost: a\r\nAccept: */*\r\nConnection: keep-alive, x-hop ,Y-Hop\r\n"
      "Connection: z-hop\r\nX-HOP: 1\r\ny-hop: 2\r\nZ-Hop: 3\r\nKeep-Alive: timeout=5\r\nTE: "
      "trailers\r\nTrailer: q\r\nUpgrade: h2c\r\nHTTP2-Settings: s\r\nProxy-Connection: close\r\n"
      "Proxy-Authorization: p\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n"
      "Authorization: secret\r\nCookie: c=1; d\r\n\r\n");
  std::string out;
  copy_end_to_end(head, out);
  EXPECT_EQ(out, "Accept: */*\r\nAuthorization: secret\r\nCookie: c=1; d\r\n");
  EXPECT_TRUE(is_hop_by_hop(head, "x-hop"));
  EXPECT_TRUE(is_hop_by_hop(head, "Content-Length"));
  EXPECT_FALSE(is_hop_by_hop(head, "hop"));
  EXPECT_FALSE(is_hop_by_hop(head, "Accept"));
  EXPECT_FALSE(is_hop_by_hop(parsed("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), "x-hop"));
}

TEST(HttpWrite, ReplacedFieldsAreNotPassedOn) {
  const auto head = parsed(
      "POST / HTTP/1.1\r\nHost: client\r\nContent-Type: a/b\r\nContent-Length: 3\r\n"
      "x-timeout-ms: 99999\r\nA: 1\r\nB: 2\r\n\r\n");
  std::string out;
  const std::array<Field, 1> extra{{{"X-Timeout-Ms", "5"}}};
  write_request_head(out,
                     {.host = "agent", .content_length = 3, .extra = extra, .passed_on = &head});
  EXPECT_EQ(out,
            "POST / HTTP/1.1\r\nHost: agent\r\nContent-Length: 3\r\nX-Timeout-Ms: 5\r\n"
            "Content-Type: a/b\r\nA: 1\r\nB: 2\r\n\r\n");
  out.clear();
  const std::array<NumberField, 2> numbers{{{"X-Timeout-MS", 40}, {"b", 0}}};
  const std::array<Field, 1> other{{{"C", "3"}}};
  write_request_head(out,
                     {.host = "agent", .numbers = numbers, .extra = other, .passed_on = &head});
  EXPECT_EQ(out,
            "POST / HTTP/1.1\r\nHost: agent\r\nX-Timeout-MS: 40\r\nb: 0\r\nC: 3\r\n"
            "Content-Type: a/b\r\nA: 1\r\n\r\n");
  out.clear();
  write_request_head(out, {.host = "agent", .content_type = "c/d", .passed_on = &head});
  EXPECT_EQ(out,
            "POST / HTTP/1.1\r\nHost: agent\r\nContent-Type: c/d\r\nx-timeout-ms: 99999\r\n"
            "A: 1\r\nB: 2\r\n\r\n");
}

TEST(HttpWrite, WhatIsWrittenIsWhatTheParserAccepts) {
  std::string out;
  write_request_head(out, {.method = "PUT",
                           .target = "/p?q=1",
                           .host = "[::1]:80",
                           .content_type = "a/b",
                           .content_length = 7});
  const auto head = parsed(out);
  EXPECT_EQ(head.method, "PUT");
  EXPECT_EQ(head.target, "/p?q=1");
  EXPECT_EQ(head.content_length, 7u);
  EXPECT_EQ(head.size, out.size());
}

TEST(HttpWrite, NumbersAreDecimal) {
  const NumberField numbers[] = {{"A", 0}, {"B", std::numeric_limits<std::uint64_t>::max()}};
  std::string out;
  write_request_head(out, {.host = "h", .numbers = numbers});
  EXPECT_NE(out.find("\r\nA: 0\r\nB: 18446744073709551615\r\n"), out.npos) << out;
}

TEST(HttpWrite, EveryStatusWeSendHasAPhrase) {
  for (const int status :
       {100, 200, 400, 404, 405, 408, 413, 414, 417, 429, 431, 500, 501, 502, 503, 504, 505})
    EXPECT_NE(reason_phrase(status), "Unknown") << status;
}

}  // namespace
}  // namespace karmad
