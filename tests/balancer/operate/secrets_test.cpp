#include "balancer/operate/secrets.hpp"

#include <gtest/gtest.h>

#include <string>

namespace karmad {
namespace {

TEST(Credentials, BecomeAValueOfAuthorization) {
  EXPECT_EQ(parse_credentials("basic aladdin:open sesame\n"), "Basic YWxhZGRpbjpvcGVuIHNlc2FtZQ==");
  EXPECT_EQ(parse_credentials("  BASIC\tu:a:b"), "Basic dTphOmI=");
  EXPECT_EQ(parse_credentials("basic u:"), "Basic dTo=");
  EXPECT_EQ(parse_credentials("bearer t0.k-e_n~ \r\n\n"), "Bearer t0.k-e_n~");
  EXPECT_EQ(parse_credentials("ApiKey VnVhQ2ZHY0JDZGJrUW0tZTVhT3g=="),
            "ApiKey VnVhQ2ZHY0JDZGJrUW0tZTVhT3g==");
}

TEST(Credentials, AreRefusedWithTheirPlaceAndWithoutTheirText) {
  const struct {
    std::string_view text;
    unsigned line, column;
    std::string_view message;
  } cases[] = {
      {"", 1, 1, "write one line: basic USER:PASSWORD, bearer TOKEN or apikey TOKEN"},
      {"hunter2", 1, 1, "write one line: basic USER:PASSWORD, bearer TOKEN or apikey TOKEN"},
      {"basic hunter2", 1, 7, "expected USER:PASSWORD after basic"},
      {"basic :hunter2", 1, 7, "expected USER:PASSWORD after basic"},
      {"basic u:hun\x01ter2", 1, 12, "a user or password has no control characters"},
      {" bearer", 1, 8, "the token is missing"},
      {"bearer hun ter2", 1, 11, "a token has visible ASCII characters only"},
      {"apikey hunter2\n\nbasic a:hunter2", 3, 1,
       "write one line: basic USER:PASSWORD, bearer TOKEN or apikey TOKEN"},
  };
  for (const auto& c : cases) {
    const auto read = parse_credentials(c.text);
    ASSERT_FALSE(read) << c.text;
    EXPECT_EQ(read.error(), (SecretMistake{c.line, c.column, std::string(c.message)})) << c.text;
    EXPECT_FALSE(read.error().message.contains("hun")) << c.text;
  }
}

constexpr std::string_view kBcrypt = "$2y$05$Qaz1Wsx2Edc3Rfv4Tgb5YeZ0Zy3ZvKp1UO0sXh0mQ3b0l5nq2c3lC";

TEST(KnownUsers, AreLinesWithSlowHashes) {
  const auto users = parse_users("# staff\n\nann:" + std::string(kBcrypt) +
                                 "\r\n bob:$6$saltsalt$" + std::string(86, 'x') + "\n");
  ASSERT_TRUE(users) << users.error().message;
  ASSERT_EQ(users->size(), 2U);
  EXPECT_EQ((*users)[0], (KnownClient{"ann", std::string(kBcrypt)}));
  EXPECT_EQ((*users)[1].user, "bob");
  const struct {
    std::string text;
    unsigned line, column;
  } wrong[] = {
      {"", 1, 1},
      {"# nobody\n", 1, 1},
      {"ann", 1, 1},
      {"ann:secretsecretsecretsecret", 1, 5},
      {"\nann:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=", 2, 5},
      {"ann:$apr1$r31.....$HqJZimcKQFAMYayBlzkrA/", 1, 5},
      {"ann:" + std::string(kBcrypt) + "\nann:" + std::string(kBcrypt), 2, 1},
  };
  for (const auto& c : wrong) {
    const auto read = parse_users(c.text);
    ASSERT_FALSE(read) << c.text;
    EXPECT_EQ(read.error().line, c.line) << c.text;
    EXPECT_EQ(read.error().column, c.column) << c.text;
    EXPECT_FALSE(read.error().message.contains("secret")) << read.error().message;
  }
}

TEST(KnownTokens, AreHashedOrPlain) {
  const auto tokens = parse_tokens("a-token-of-somebody\n# x\nsha256:" + std::string(64, 'a'));
  ASSERT_TRUE(tokens) << tokens.error().message;
  ASSERT_EQ(tokens->size(), 2U);
  EXPECT_EQ((*tokens)[0].hash.size(), 32U);
  EXPECT_EQ((*tokens)[1].hash, std::string(32, '\xaa'));
  for (const auto* text : {"", "short", "sixteen and more with blanks", "sha256:abc", "sha256:zz"})
    EXPECT_FALSE(parse_tokens(text)) << text;
}

}  // namespace
}  // namespace karmad
