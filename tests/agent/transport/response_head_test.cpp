#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "agent/transport/http/http_head.hpp"
#include "tests/agent/transport/exact_bytes.hpp"

namespace karmad {
namespace {

using namespace std::string_literals;

struct Case {
  std::string bytes;
  Framing framing;
  std::uint64_t length = 0;
  bool keep_alive = true;
  bool to_head = false;
};

TEST(ResponseHead, FramingFollowsRequestStatusAndFields) {
  const std::vector<Case> cases{
      {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", Framing::length, 5},
      {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", Framing::length, 0},
      {"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", Framing::chunked},
      {"HTTP/1.1 200 OK\r\n\r\n", Framing::until_close, 0, false},
      {"HTTP/1.0 200 OK\r\n\r\n", Framing::until_close, 0, false},
      {"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\n", Framing::length, 5, false},
      {"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\n", Framing::length,
       5},
      {"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\n", Framing::length, 5,
       false},
      {"HTTP/1.1 500\r\nContent-Length: 5\r\n\r\n", Framing::length, 5},  // no reason, no space
      {"HTTP/1.1 503 \r\ncontent-length:5\r\n\r\n", Framing::length, 5},
      {"HTTP/1.1 204 No Content\r\n\r\n", Framing::none},
      {"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", Framing::none},
      {"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", Framing::none, 5, false},
      {"HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n", Framing::none, 0, false},
      {"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", Framing::none, 5},
      {"HTTP/1.1 100 Continue\r\n\r\n", Framing::none},
      {"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", Framing::none},
      {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", Framing::none, 5, true, true},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", Framing::none, 0, true, true},
      {"HTTP/1.1 200 OK\r\n\r\n", Framing::none, 0, true, true},
  };
  for (const auto& c : cases) {
    ResponseHead head;
    const ExactBytes bytes{c.bytes};
    ASSERT_EQ(parse_response_head(bytes, {}, c.to_head, head), HeadState::complete) << c.bytes;
    EXPECT_EQ(head.framing, c.framing) << c.bytes;
    EXPECT_EQ(head.content_length, c.length) << c.bytes;
    EXPECT_EQ(head.keep_alive, c.keep_alive) << c.bytes;
    EXPECT_EQ(head.size, c.bytes.size());
  }
}

TEST(ResponseHead, StatusAndReasonAreRead) {
  ResponseHead head;
  const std::string bytes = "HTTP/1.1 404 Not \xc3\xa4 Found\r\nA: b\r\n\r\nbody";
  ASSERT_EQ(parse_response_head(bytes, {}, false, head), HeadState::complete);
  EXPECT_EQ(head.status, 404);
  EXPECT_EQ(head.reason, "Not \xc3\xa4 Found");
  EXPECT_EQ(head.find("a"), "b");
  EXPECT_EQ(bytes.substr(head.size), "body");
}

TEST(ResponseHead, EveryPrefixOfAValidOneIsIncomplete) {
  for (const auto& whole :
       {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nServer: x y\r\n\r\n"s, "HTTP/1.0 500\r\n\r\n"s}) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
      ResponseHead head;
      const ExactBytes bytes{whole.substr(0, size)};
      EXPECT_EQ(parse_response_head(bytes, {}, false, head), HeadState::incomplete) << size;
    }
  }
}

TEST(ResponseHead, WhatIsAmbiguousOrNoHttpIsAWrongReply) {
  const std::vector<std::string> refused{
      "{\"hits\"",
      "\r\nHTTP/1.1 200 OK\r\n\r\n",  // left over from an answer before: out of step
      "HTTP/2.0 200 OK\r\n\r\n",
      "HTTP/1.2 200 OK\r\n\r\n",
      "http/1.1 200 OK\r\n\r\n",
      "HTTP/1.1  200 OK\r\n\r\n",
      "HTTP/1.1\t200 OK\r\n\r\n",
      "HTTP/1.1 20 OK\r\n\r\n",
      "HTTP/1.1 2000 OK\r\n\r\n",
      "HTTP/1.1 200OK\r\n\r\n",
      "HTTP/1.1 099 OK\r\n\r\n",
      "HTTP/1.1 600 OK\r\n\r\n",
      "HTTP/1.1 2x0 OK\r\n\r\n",
      "HTTP/1.1 -20 OK\r\n\r\n",
      "HTTP/1.1 200 O\x01K\r\n\r\n",
      "HTTP/1.1 200 OK\n\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
      "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
      "HTTP/1.1 200 OK\r\nA: b\r\n folded\r\n\r\n",
      "HTTP/1.1 200 OK\r\nA : b\r\n\r\n",
      "HTTP/1.1 200 OK\r\nA\r\n\r\n",
      "HTTP/1.1 200 OK\r\nA: " + std::string(16 << 10, 'x'),
  };
  for (const auto& text : refused) {
    ResponseHead head;
    const ExactBytes bytes{text};
    const auto state = parse_response_head(bytes, {}, false, head);
    ASSERT_FALSE(state) << text.substr(0, 80);
    EXPECT_EQ(state.error().status, 502);
    EXPECT_FALSE(state.error().reason.empty());
  }
}

}  // namespace
}  // namespace karmad
