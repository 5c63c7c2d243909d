#include "agent/transport/http/field_values.hpp"

#include <gtest/gtest.h>

#include <string>

namespace karmad {
namespace {

std::string offer_in(const std::string& fields, const std::string& version = "1.1") {
  const auto bytes = "GET /x HTTP/" + version + "\r\nHost: a\r\n" + fields + "\r\n";
  RequestHead head;
  const auto state = parse_request_head(bytes, HeadLimits{}, head);
  if (!state || *state != HeadState::complete) return "(no request)";
  return std::string(offered_upgrade(head));
}

bool is_accepted(const std::string& fields, std::string_view offered) {
  const auto bytes = "HTTP/1.1 101 X\r\n" + fields + "\r\n";
  ResponseHead head;
  const auto state = parse_response_head(bytes, HeadLimits{}, /*to_head=*/false, head);
  return state && *state == HeadState::complete && accepts_offer(head, offered);
}

TEST(OfferedUpgrade, IsTheFieldThatConnectionNames) {
  EXPECT_EQ(offer_in("Connection: Upgrade\r\nUpgrade: websocket\r\n"), "websocket");
  EXPECT_EQ(offer_in("UPGRADE: SSH/2.0, chat\r\nconnection: keep-alive,  uPgRaDe\r\n"),
            "SSH/2.0, chat");
  EXPECT_EQ(offer_in("Connection: close\r\nConnection: upgrade\r\nUpgrade: x\r\n"), "x");
}

TEST(OfferedUpgrade, IsNoneWithoutBothFieldsOrWithTwoOrOfAnOldClient) {
  EXPECT_EQ(offer_in(""), "");
  EXPECT_EQ(offer_in("Connection: Upgrade\r\n"), "");
  EXPECT_EQ(offer_in("Connection: Upgrade\r\nUpgrade:  \r\n"), "");
  EXPECT_EQ(offer_in("Upgrade: websocket\r\n"), "");
  EXPECT_EQ(offer_in("Connection: Upgrade-Insecure\r\nUpgrade: websocket\r\n"), "");
  EXPECT_EQ(offer_in("Connection: Upgrade\r\nUpgrade: a\r\nUpgrade: h2c\r\n"), "");
  EXPECT_EQ(offer_in("Connection: Upgrade\r\nUpgrade: websocket\r\n", "1.0"), "");
}

TEST(OfferedUpgrade, IsNoneIfRequestsCouldFollowUnread) {
  for (const std::string protocol :
       {"h2c", "H2C", "h2", "HTTP/2.0", "TLS/1.0", "websocket, h2c", ",h2c ,", "TLS/1.0, HTTP/1.1"})
    EXPECT_EQ(offer_in("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: " + protocol + "\r\n"), "")
        << protocol;
}

TEST(AcceptsOffer, IfTheAgentNamesAnOfferedProtocolAndNoOther) {
  EXPECT_TRUE(is_accepted("Upgrade: WebSocket\r\nConnection: Upgrade\r\n", "websocket"));
  EXPECT_TRUE(is_accepted("Upgrade: b\r\n", "a, b"));
  EXPECT_FALSE(is_accepted("Upgrade: c\r\n", "a, b"));
  EXPECT_FALSE(is_accepted("Upgrade: a, c\r\n", "a, b"));
  EXPECT_FALSE(is_accepted("Connection: Upgrade\r\n", "a"));
  EXPECT_FALSE(is_accepted("Upgrade: a\r\n", ""));
}

}  // namespace
}  // namespace karmad
