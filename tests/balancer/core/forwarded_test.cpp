#include "balancer/core/forwarded.hpp"

#include <gtest/gtest.h>

#include <string>

#include "balancer/core/request_fields.hpp"
#include "config/settings/units.hpp"

namespace karmad {
namespace {

/// The head of a request with these lines.
class HeadOf {
 public:
  explicit HeadOf(const std::string& fields, const std::string& method = "GET")
      : bytes_(method + " / HTTP/1.1\r\nHost: shop.example:8080\r\n" + fields + "\r\n") {
    EXPECT_EQ(parse_request_head(bytes_, {}, head_), HeadState::complete) << bytes_;
  }
  const Head& operator*() const { return head_; }

 private:
  std::string bytes_;
  RequestHead head_;
};

AddressRanges trusted_ones() {
  return parse_ranges("10.0.0.0/8, 2001:db8:1::/48").value();
}

TEST(ClientsBehindProxies, AreTheLastAddressOfNoTrustedProxy) {
  const std::pair<std::string, std::string> cases[] = {
      {"", ""},
      {"X-Forwarded-For: 203.0.113.5\r\n", "203.0.113.5"},
      {"X-Forwarded-For: 203.0.113.5, 10.1.1.1\r\n", "203.0.113.5"},
      {"X-Forwarded-For: 127.0.0.1, 203.0.113.5,10.1.1.1 , 10.2.2.2\r\n", "203.0.113.5"},
      {"X-Forwarded-For: 127.0.0.1\r\nx-forwarded-for: 203.0.113.5\r\n", "203.0.113.5"},
      {"X-Forwarded-For: 10.1.1.1, 10.2.2.2\r\n", "10.1.1.1"},
      {"X-Forwarded-For: 2001:db8:7::9\r\n", "2001:db8:7::9"},
      {"X-Forwarded-For: [2001:db8:7::9]:4711, 2001:db8:1::1\r\n", "2001:db8:7::9"},
      {"X-Forwarded-For: 203.0.113.5:55555, 10.1.1.1:80\r\n", "203.0.113.5"},
      {"X-Forwarded-For: ::ffff:203.0.113.5\r\n", "203.0.113.5"},
      {"X-Forwarded-For: ,, 203.0.113.5, ,\r\n", "203.0.113.5"},
      // Behind what is no address nothing counts.
      {"X-Forwarded-For: 203.0.113.5, unknown, 10.1.1.1\r\n", "10.1.1.1"},
      {"X-Forwarded-For: 203.0.113.5, junk\r\n", ""},
      {"X-Forwarded-For: unknown\r\n", ""},
      {"X-Forwarded-For: 1.2.3.4\"\r\n", ""},
      {"Forwarded: for=203.0.113.5\r\n", "203.0.113.5"},
      {"Forwarded: for=192.0.2.1, For=203.0.113.5;proto=https;by=10.1.1.1 , for=10.9.9.9\r\n",
       "203.0.113.5"},
      {"Forwarded: proto=http;for=\"[2001:db8:7::9]:4711\"\r\n", "2001:db8:7::9"},
      {"Forwarded: for=\"203.0.113.5:80\";host=\"a,b;c\"\r\nForwarded: for=10.1.1.1\r\n",
       "203.0.113.5"},
      {"Forwarded: for=203.0.113.5, for=_hidden, for=10.1.1.1\r\n", "10.1.1.1"},
      {"Forwarded: for=203.0.113.5, by=10.1.1.1\r\n", ""},
      {"Forwarded: for=203.0.113.5;host=\"open\r\n", ""},
      // A quote that the client has left open hides nothing that its proxy has added.
      {"X-Forwarded-For: \", 203.0.113.9\r\n", "203.0.113.9"},
      {"X-Forwarded-For: a\"b\r\nX-Forwarded-For: 203.0.113.9,10.4.4.4\r\n", "203.0.113.9"},
      {"Forwarded: for=\"x\r\nForwarded: for=203.0.113.9, for=10.4.4.4\r\n", "203.0.113.9"},
      // A proxy that writes the one may pass on the other, which its client has made up.
      {"Forwarded: for=127.0.0.1\r\nX-Forwarded-For: 203.0.113.5\r\n", "203.0.113.5"},
  };
  for (const auto& [fields, client] : cases) {
    const HeadOf head(fields);
    const auto found = forwarded_client(*head, trusted_ones());
    EXPECT_EQ(found ? text(*found) : "", client) << fields;
  }
}

TEST(ClientsBehindProxies, AreBelievedOfTrustedPeersOnly) {
  EXPECT_TRUE(is_trusted(trusted_ones(), parse_address("10.255.0.1")));
  EXPECT_FALSE(is_trusted(trusted_ones(), parse_address("11.0.0.1")));
  EXPECT_TRUE(is_trusted(trusted_ones(), std::nullopt)) << "a unix socket";
  EXPECT_FALSE(is_trusted({}, std::nullopt));
  EXPECT_FALSE(is_trusted({}, parse_address("10.0.0.1")));
}

struct ForwardedCase {
  std::string fields;
  ForwardedBy by;
  std::string addresses;
  std::string proto;
  std::string host;
  std::string forwarded;
};

TEST(FieldsForAgents, HaveWhatTrustedPeersSentAndReplaceWhatOthersSent) {
  const std::string told =
      "X-Forwarded-For: 203.0.113.5\r\nX-Forwarded-For: 10.1.1.1\r\nX-Forwarded-Proto: https\r\n"
      "X-Forwarded-Host: shop.example\r\n";
  const ForwardedCase cases[] = {
      {"", {.peer = "198.51.100.1"}, "198.51.100.1", "http", "shop.example:8080", ""},
      {"",
       {.peer = "198.51.100.1", .proto = "https"},
       "198.51.100.1",
       "https",
       "shop.example:8080",
       ""},
      {"", {.peer = ""}, "unknown", "http", "shop.example:8080", ""},
      {told, {.peer = "198.51.100.1"}, "198.51.100.1", "http", "shop.example:8080", ""},
      {told,
       {.peer = "10.9.9.9", .trusted = true},
       "203.0.113.5, 10.1.1.1, 10.9.9.9",
       "https",
       "shop.example",
       ""},
      {told, {.peer = "", .trusted = true}, "203.0.113.5, 10.1.1.1", "https", "shop.example", ""},
      {"Forwarded: for=127.0.0.1\r\n",
       {.peer = "198.51.100.1"},
       "198.51.100.1",
       "http",
       "shop.example:8080",
       "for=198.51.100.1;host=\"shop.example:8080\";proto=http"},
      {"Forwarded: for=203.0.113.5;proto=https\r\n",
       {.peer = "2001:db8:1::1", .trusted = true},
       "2001:db8:1::1",
       "http",
       "shop.example:8080",
       "for=203.0.113.5;proto=https, "
       "for=\"[2001:db8:1::1]\";host=\"shop.example:8080\";proto=http"},
      {"Forwarded: for=\"open\r\n",
       {.peer = "10.9.9.9", .trusted = true},
       "10.9.9.9",
       "http",
       "shop.example:8080",
       "for=10.9.9.9;host=\"shop.example:8080\";proto=http"},
  };
  for (const auto& c : cases) {
    const HeadOf head(c.fields);
    const ForwardedFields made(*head, c.by);
    EXPECT_EQ(made.addresses, c.addresses) << c.fields;
    EXPECT_EQ(made.proto, c.proto) << c.fields;
    EXPECT_EQ(made.host, c.host) << c.fields;
    EXPECT_EQ(made.forwarded, c.forwarded) << c.fields;
  }
}

TEST(WebPages, OfListedOriginsMayReadAnswersAndOthersNot) {
  const auto listed = parse_origins("https://shop.example, http://localhost:3000").value();
  const std::pair<std::string, std::string> cases[] = {
      {"", ""},
      {"Origin: https://shop.example\r\n", "https://shop.example"},
      {"Origin: http://localhost:3000\r\n", "http://localhost:3000"},
      {"Origin: https://shop.example.evil.example\r\n", ""},
      {"Origin: https://evil.example/https://shop.example\r\n", ""},
      {"Origin: http://shop.example\r\n", ""},
      {"Origin: https://shop.example:444\r\n", ""},
      {"Origin: null\r\n", ""},
  };
  for (const auto& [fields, origin] : cases) {
    const HeadOf head(fields);
    EXPECT_EQ(cors_request("GET", *head, listed).origin, origin) << fields;
    EXPECT_EQ(cors_request("GET", *head, Origins{.any = true}).origin, "*") << fields;
  }
}

TEST(WebPages, AskBeforehandWithAnOriginAndAMethodAndNoBody) {
  const Origins any{.any = true};
  const std::string ask = "Access-Control-Request-Method: POST\r\n";
  const std::string from = "Origin: http://a\r\n";
  const std::string names = "Access-Control-Request-Headers: content-type, x-karmad-trace\r\n";
  const HeadOf whole(from + ask + names, "OPTIONS");
  const auto request = cors_request("OPTIONS", *whole, any);
  EXPECT_TRUE(request.is_preflight);
  EXPECT_EQ(request.headers, "content-type, x-karmad-trace");
  EXPECT_FALSE(cors_request("GET", *whole, any).is_preflight);
  EXPECT_FALSE(cors_request("OPTIONS", *HeadOf(ask, "OPTIONS"), any).is_preflight);
  EXPECT_FALSE(cors_request("OPTIONS", *HeadOf(from, "OPTIONS"), any).is_preflight);
  EXPECT_FALSE(
      cors_request("OPTIONS", *HeadOf(from + ask + "Content-Length: 5\r\n", "OPTIONS"), any)
          .is_preflight);
  const HeadOf large(
      from + ask + "Access-Control-Request-Headers: " + std::string(5000, 'x') + "\r\n", "OPTIONS");
  EXPECT_EQ(cors_request("OPTIONS", *large, any).headers, "");
  const auto refused = cors_request("OPTIONS", *whole, parse_origins("http://b").value());
  EXPECT_TRUE(refused.is_preflight);
  EXPECT_EQ(refused.origin, "");
  EXPECT_EQ(refused.headers, "");
}

}  // namespace
}  // namespace karmad
