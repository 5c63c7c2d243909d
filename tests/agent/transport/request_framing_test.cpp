#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "agent/transport/http/http_head.hpp"
#include "tests/agent/transport/request_cases.hpp"

namespace karmad {
namespace {

using namespace request_cases;
using namespace std::string_literals;

// Requests that two readers could split differently; none of them may pass.
TEST(RequestFraming, SmugglingIsRefused) {
  expect({
      {with("Content-Length: 5\r\nTransfer-Encoding: chunked"), 400},
      {with("Transfer-Encoding: chunked\r\nContent-Length: 5"), 400},
      {with("Transfer-Encoding: chunked\r\nContent-Length: 0"), 400},
      {with("Transfer-Encoding: chunked\r\ntransfer-encoding: chunked"), 400},
      {with("Transfer-Encoding: chunked\r\nTransfer-Encoding: x"), 400},
      {with("Transfer-Encoding: identity\r\nTransfer-Encoding: chunked"), 400},
      {with("Transfer-Encoding: x"), 501},
      {with("Transfer-Encoding: gzip, chunked"), 501},
      {with("Transfer-Encoding: identity"), 501},
      {with("Transfer-Encoding: chunked, chunked"), 501},
      {with("Transfer-Encoding: chunked,"), 501},
      {with("Transfer-Encoding: xchunked"), 501},
      {with("Transfer-Encoding: chunke"), 501},
      {with("Transfer-Encoding:"), 400},
      {with("Transfer-Encoding: \"chunked\""), 400},
      {with("Transfer-Encoding: chunked;q=1"), 400},
      {with("Transfer-Encoding: \x0b"
            "chunked"),
       400},
      {with("Transfer-Encoding: chunked\x0c"), 400},
      {with("Transfer-Encoding: chunked\0"s), 400},
      {with("Transfer-Encoding: chunked\xff"), 400},
      {with("Transfer-Encoding : chunked"), 400},
      {with("Transfer-Encoding\t: chunked"), 400},
      {with("Transfer-Encoding:\r\n chunked"), 400},
      {with("X: y\r\n Transfer-Encoding: chunked"), 400},
      {with("X: y\r\n\tfolded"), 400},
      {with("X: y\rTransfer-Encoding: chunked"), 400},
      {with("X: y\nTransfer-Encoding: chunked"), 400},
      {with("X: y\r\r\nZ: z"), 400},
      {"POST / HTTP/1.1\r\n Host: a\r\n\r\n", 400},
      {"POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
      {with("Content-Length: 5\r\nContent-Length: 5"), 400},
      {with("Content-Length: 5\r\nContent-Length: 6"), 400},
      {with("Content-Length: 5, 5"), 400},
      {with("Content-Length: 5,6"), 400},
      {with("Content-Length: +5"), 400},
      {with("Content-Length: -5"), 400},
      {with("Content-Length: -0"), 400},
      {with("Content-Length: 0x5"), 400},
      {with("Content-Length: 5e1"), 400},
      {with("Content-Length: 5.0"), 400},
      {with("Content-Length: 5 5"), 400},
      {with("Content-Length: '5'"), 400},
      {with("Content-Length:"), 400},
      {with("Content-Length: 5\0"s), 400},
      {with("Content-Length: \xd9\xa5"), 400},
      {with("Content-Length : 5"), 400},
      {with("Content-Length"), 400},
      {with("Content-Length: 18446744073709551616"), 413},
      {with("Content-Length: 99999999999999999999999999"), 413},
  });
}

struct FramingCase {
  std::string lines;
  Framing framing;
  std::uint64_t length;
};

TEST(RequestFraming, FramingIsWhatTheFieldsSayOrNone) {
  const std::vector<FramingCase> cases{
      {"X: y", Framing::none, 0},
      {"Content-Length: 0", Framing::length, 0},
      {"CONTENT-LENGTH:\t 00012 \t", Framing::length, 12},
      {"Content-Length: 18446744073709551615", Framing::length, 18446744073709551615u},
      {"transfer-encoding: Chunked ", Framing::chunked, 0},
      {"Transfer_Encoding: chunked", Framing::none, 0},  // another name
  };
  for (const auto& c : cases) {
    RequestHead head;
    const auto bytes = with(c.lines);
    ASSERT_EQ(parse_request_head(bytes, {}, head), HeadState::complete) << c.lines;
    EXPECT_EQ(head.framing, c.framing) << c.lines;
    EXPECT_EQ(head.content_length, c.length) << c.lines;
  }
}

struct PersistenceCase {
  unsigned minor;
  std::string lines;
  bool keep_alive;
};

TEST(RequestFraming, ConnectionPersistsByVersionAndConnection) {
  const std::vector<PersistenceCase> cases{
      {1, "X: y", true},
      {1, "Connection: close", false},
      {1, "connection: x , CLOSE", false},
      {1, "Connection: keep-alive\r\nConnection: close", false},
      {1, "Connection: closed", true},
      {1, "Proxy-Connection: close", true},
      {0, "X: y", false},
      {0, "Connection: Keep-Alive", true},
      {0, "Connection: keep-alive, close", false},
  };
  for (const auto& c : cases) {
    RequestHead head;
    const auto bytes =
        "GET / HTTP/1." + std::to_string(c.minor) + "\r\nHost: a\r\n" + c.lines + "\r\n\r\n";
    ASSERT_EQ(parse_request_head(bytes, {}, head), HeadState::complete) << c.lines;
    EXPECT_EQ(head.keep_alive, c.keep_alive) << bytes;
  }
}

struct ExpectCase {
  unsigned minor;
  std::string lines;
  int verdict;
  bool expect_continue;
};

TEST(RequestFraming, ExpectIs100ContinueOrRefused) {
  const std::vector<ExpectCase> cases{
      {1, "Content-Length: 5\r\nExpect: 100-Continue", 0, true},
      {1, "Transfer-Encoding: chunked\r\nExpect: 100-continue", 0, true},
      {1, "Content-Length: 0\r\nExpect: 100-continue", 0, false},  // nothing will follow
      {1, "Expect: 100-continue", 0, false},
      {1, "Content-Length: 5\r\nExpect: 200-ok", 417, false},
      {1, "Content-Length: 5\r\nExpect: 100-continue, x", 417, false},
      {1, "Content-Length: 5\r\nExpect:", 417, false},
      {0, "Content-Length: 5\r\nExpect: 100-continue", 0, false},  // RFC 9110 section 10.1.1
  };
  for (const auto& c : cases) {
    RequestHead head;
    const auto bytes =
        "POST / HTTP/1." + std::to_string(c.minor) + "\r\nHost: a\r\n" + c.lines + "\r\n\r\n";
    const auto state = parse_request_head(bytes, {}, head);
    ASSERT_EQ(state ? 0 : state.error().status, c.verdict) << c.lines;
    EXPECT_EQ(state && head.expect_continue, c.expect_continue) << c.lines;
  }
}

}  // namespace
}  // namespace karmad
