#include "balancer/ingress/proxy_header.hpp"

#include <gtest/gtest.h>

#include <string>

namespace karmad {
namespace {

using namespace std::string_literals;

constexpr std::size_t kLongest = 4096;

/// A header of version 2: the signature, command and family, the length, then `rest`.
std::string version2_of(char command, char family, const std::string& rest) {
  std::string header = "\r\n\r\n\0\r\nQUIT\n"s;
  header += command;
  header += family;
  header += static_cast<char>(rest.size() >> 8);
  header += static_cast<char>(rest.size() & 0xff);
  return header + rest;
}

const std::string kInet4 = "\xcb\x00\x71\x2a\x0a\x00\x00\x01\x9c\x40\x01\xbb"s;
const std::string kInet6 = "\x20\x01\x0d\xb8"s + std::string(11, '\0') + "\x07" +
                           std::string(16, '\x01') + "\x30\x39\x00\x50"s;

struct GoodHeader {
  std::string bytes;
  std::string client;  // empty: the peer itself
  std::uint16_t port = 0;
};

std::vector<GoodHeader> good_headers() {
  return {
      {"PROXY TCP4 203.0.113.42 10.0.0.1 40000 443\r\n", "203.0.113.42", 40000},
      {"PROXY TCP4 0.0.0.0 255.255.255.255 0 65535\r\n", "0.0.0.0", 0},
      {"PROXY TCP6 2001:db8::7 ::1 12345 80\r\n", "2001:db8::7", 12345},
      {"PROXY TCP6 ffff:f00f:ffff:ffff:ffff:ffff:ffff:ffff "
       "ffff:f00f:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n",
       "ffff:f00f:ffff:ffff:ffff:ffff:ffff:ffff", 65535},
      {"PROXY UNKNOWN\r\n", "", 0},
      {"PROXY UNKNOWN whatever there is: 1 2 3\r\n", "", 0},
      {version2_of('\x21', '\x11', kInet4), "203.0.113.42", 40000},
      {version2_of('\x21', '\x12', kInet4), "203.0.113.42", 40000},
      {version2_of('\x21', '\x11', kInet4 + "\x04\x00\x03"s + "abc"), "203.0.113.42", 40000},
      {version2_of('\x21', '\x21', kInet6), "2001:db8::7", 12345},
      {version2_of('\x21', '\x21', kInet6 + std::string(900, '\xee')), "2001:db8::7", 12345},
      {version2_of('\x21', '\x31', std::string(216, 'u')), "", 0},
      {version2_of('\x21', '\x00', ""), "", 0},
      {version2_of('\x21', '\x00', "tlvs"), "", 0},
      {version2_of('\x20', '\x00', ""), "", 0},
      {version2_of('\x20', '\x11', kInet4), "", 0},
      {version2_of('\x20', '\xff', "?"), "", 0},
  };
}

TEST(ProxyHeaders, TellTheClientAndWhereTheyEnd) {
  for (const auto& good : good_headers()) {
    for (const std::string behind : {"", "G", "GET / HTTP/1.1\r\n\r\n", "\r\n"}) {
      const auto header = read_proxy_header(good.bytes + behind, kLongest);
      ASSERT_TRUE(header) << good.bytes << ": " << header.error();
      ASSERT_TRUE(*header) << good.bytes;
      EXPECT_EQ((*header)->size, good.bytes.size()) << good.bytes;
      EXPECT_EQ((*header)->client ? text(*(*header)->client) : "", good.client) << good.bytes;
      EXPECT_EQ((*header)->port, good.port) << good.bytes;
    }
  }
}

TEST(ProxyHeaders, AreIncompleteUpToTheirLastByte) {
  for (const auto& good : good_headers())
    for (std::size_t size = 0; size < good.bytes.size(); ++size) {
      const auto header = read_proxy_header(good.bytes.substr(0, size), kLongest);
      ASSERT_TRUE(header) << size << " bytes of " << good.bytes << ": " << header.error();
      EXPECT_FALSE(*header) << size << " bytes of " << good.bytes;
    }
}

TEST(ProxyHeaders, AreNeverShorterThanWhatIsReadBeforeAnythingIsKnown) {
  for (const auto& good : good_headers()) EXPECT_GE(good.bytes.size(), kShortestProxyHeader);
}

TEST(ProxyHeaders, OtherBytesAreRefusedWithTheReason) {
  const std::pair<std::string, std::string> cases[] = {
      {"GET / HTTP/1.1\r\n", "it spoke HTTP"},
      {"\x16\x03\x01\x02\x00\x01\x00"s, "it spoke TLS (a ClientHello)"},
      {"x", "it began with 'x'"},
      {"PROXX ", "it began with 'PROXX '"},
      {"PROXY TCP5 1.2.3.4 1.2.3.4 1 2\r\n", "'TCP5' is none of TCP4, TCP6 and UNKNOWN"},
      {"PROXY \r\n", "'' is none of TCP4, TCP6 and UNKNOWN"},
      {"PROXY TCP4\r\n", "'' is no address of TCP4"},
      {"PROXY TCP4 1.2.3 1.2.3.4 1 2\r\n", "'1.2.3' is no address of TCP4"},
      {"PROXY TCP4 ::1 ::1 1 2\r\n", "'::1' is no address of TCP4"},
      {"PROXY TCP6 1.2.3.4 1.2.3.4 1 2\r\n", "'1.2.3.4' is no address of TCP6"},
      {"PROXY TCP4  1.2.3.4 1.2.3.4 1 2\r\n", "'' is no address of TCP4"},
      {"PROXY TCP4 1.2.3.4 1.2.3.4 1\r\n", "'1 ' are not two ports"},
      {"PROXY TCP4 1.2.3.4 1.2.3.4 65536 2\r\n", "'65536 2' are not two ports"},
      {"PROXY TCP4 1.2.3.4 1.2.3.4 01 2\r\n", "'01 2' are not two ports"},
      {"PROXY TCP4 1.2.3.4 1.2.3.4 -1 2\r\n", "'-1 2' are not two ports"},
      {"PROXY TCP4 1.2.3.4 1.2.3.4 1 2 3\r\n", "'1 2 3' are not two ports"},
      {"PROXY TCP4 1.2.3.4 1.2.3.4 5 6 \r\n", "'5 6 ' are not two ports"},
      {"PROXY TCP4 1.2.3.4 1.2.3.4 1 2\n", "the line of version 1 does not end in CR LF"},
      {"PROXY UNKNOWN\n", "the line of version 1 does not end in CR LF"},
      {"PROXY " + std::string(101, 'x'), "the line of version 1 is longer than 107 bytes"},
      {"PROXY UNKNOWN " + std::string(92, 'x') + "\r\n",
       "the line of version 1 is longer than 107 bytes"},
      {version2_of('\x11', '\x11', kInet4), "version 1 is not known"},
      {version2_of('\x22', '\x11', kInet4), "command 2 is not known"},
      {version2_of('\x21', '\x41', kInet4), "address family 0x41 is not known"},
      {version2_of('\x21', '\x13', kInet4), "address family 0x13 is not known"},
      {version2_of('\x21', '\x11', kInet4.substr(1)), "11 bytes are too few for its addresses"},
      {version2_of('\x21', '\x21', kInet4), "12 bytes are too few for its addresses"},
      {version2_of('\x21', '\x31', kInet6), "36 bytes are too few for its addresses"},
      {version2_of('\x21', '\x11', std::string(4081, 'x')),
       "it has 4097 bytes, more than max_header_size (4096)"},
      // Known by the first 16 bytes, whatever follows.
      {"\r\n\r\n\0\r\nQUIT\n\x20\x00\xff\xff"s,
       "it has 65551 bytes, more than max_header_size (4096)"},
  };
  for (const auto& [bytes, why] : cases) {
    const auto header = read_proxy_header(bytes, kLongest);
    ASSERT_FALSE(header) << bytes;
    EXPECT_EQ(header.error(), why) << bytes;
  }
}

}  // namespace
}  // namespace karmad
