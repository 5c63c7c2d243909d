#include "agent/dialect/merge/hmac_sha256.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <string>

#include "agent/dialect/merge/scroll_pages.hpp"

namespace karmad {
namespace {

std::string code(std::string_view key, std::string_view text) {
  return fmt::format("{:02x}", fmt::join(hmac_sha256(key, text), ""));
}

TEST(HmacSha256, IsThatOfRfc4231) {
  EXPECT_EQ(code(std::string(20, '\x0b'), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(code("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(code(std::string(20, '\xaa'), std::string(50, '\xdd')),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
  EXPECT_EQ(
      code(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First"),
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

/// The lengths at which the padding needs another block. From `openssl dgst -sha256 -hmac key`.
TEST(HmacSha256, TakesTextsOfAnyLength) {
  EXPECT_EQ(code("key", std::string(0, 'a')),
            "5d5d139563c95b5967b9bd9a8c9b233a9dedb45072794cd232dc1b74832607d0");
  EXPECT_EQ(code("key", std::string(55, 'a')),
            "5c753ac4cf15a28e7b5a045ba8ce75e02545a313f326021d770912f768fb53ef");
  EXPECT_EQ(code("key", std::string(56, 'a')),
            "e9613a403652aa5873dba8b56f223826236e87559a8d8ac63190613796d2319a");
  EXPECT_EQ(code("key", std::string(63, 'a')),
            "c5531cccae97b1a3e84ffd19fb9468e928c41d6acb9279cf4bac4aaf314196ae");
  EXPECT_EQ(code("key", std::string(64, 'a')),
            "77207571ea4243ad8e0f220679a62f9033b6d2f59f8d44517d8e9c4857b96fa0");
  EXPECT_EQ(code("key", std::string(65, 'a')),
            "4361807d77bd8d84a0ec7bc26ddb24e62e4ab3c65196d1c63ef12db96ce974d0");
  EXPECT_EQ(code("key", std::string(119, 'a')),
            "4ffbedd6a1157e63e62d3fa284549bcfe39fb98dbb77ac48a89120aed5747d6b");
  EXPECT_EQ(code("key", std::string(120, 'a')),
            "d1cd515a6389be4c26cf09c03af5b128fe8fcc95992b8e2bae38bef7e54b3ef1");
  EXPECT_EQ(code("key", std::string(1000, 'a')),
            "db636adca1d68c3ad2b38a24933870131c45f55262bf8f07b0c9bdc728ee5fb9");
}

TEST(Base64, IsThatOfRfc4648) {
  const std::pair<std::string_view, std::string_view> cases[] = {{"", ""},
                                                                 {"f", "Zg=="},
                                                                 {"fo", "Zm8="},
                                                                 {"foo", "Zm9v"},
                                                                 {"foob", "Zm9vYg=="},
                                                                 {"fooba", "Zm9vYmE="},
                                                                 {"foobar", "Zm9vYmFy"},
                                                                 {"\xff\xfe\xfb", "//77"}};
  for (const auto& [bytes, text] : cases) {
    EXPECT_EQ(base64_of(bytes), text);
    EXPECT_EQ(bytes_of_base64(text), bytes);
  }
}

TEST(Base64, RefusesOtherText) {
  for (const auto* text :
       {"Zg", "Zg=", "Zg=a", "=Zg=", "Z===", "====", "Zm9v\n", "Zm-v", "Zm9vZ g="})
    EXPECT_FALSE(bytes_of_base64(text)) << text;
}

}  // namespace
}  // namespace karmad
