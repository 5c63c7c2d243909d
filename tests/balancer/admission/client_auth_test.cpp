#include "balancer/admission/client_auth.hpp"

#include <crypt.h>
#include <gtest/gtest.h>

#include <string>

#include "balancer/operate/secrets.hpp"
#include "balancer/rules/admission/verified_passwords.hpp"

namespace karmad {
namespace {

TEST(SentPasswords, AreReadAsRfc7617SaysAndNothingElse) {
  const auto sent = sent_password("basic  dXNlcjpwYTpzcw==");
  ASSERT_TRUE(sent);
  EXPECT_EQ(sent->user, "user");
  EXPECT_EQ(sent->password, "pa:ss");
  for (const auto* field :
       {"", "Basic", "Basic ", "Bearer dXNlcjpwYXNz", "Basicx dXNlcjpwYXNz", "Basic dXNlcg==",
        "Basic OnBhc3M=", "Basic dXNlcjpw=", "Basic dXNlcjoAcGFzcw==", "Basic !!!!"})
    EXPECT_FALSE(sent_password(field)) << field;
  EXPECT_EQ(sent_token("BEARER  abc "), "abc");
  EXPECT_EQ(sent_token("Basic abc"), "");
}

TEST(SlowHashes, AreComparedByCrypt) {
  for (const auto* prefix : {"$2b$", "$y$", "$6$"}) {
    char salt[CRYPT_GENSALT_OUTPUT_SIZE];
    ASSERT_NE(::crypt_gensalt_rn(prefix,
                                 prefix[1] == '6'   ? 1000
                                 : prefix[1] == 'y' ? 1
                                                    : 4,
                                 nullptr, 0, salt, sizeof salt),
              nullptr);
    crypt_data data{};
    const std::string hash = ::crypt_r("correct horse", salt, &data);
    EXPECT_TRUE(parse_users("ann:" + hash)) << hash;
    EXPECT_TRUE(matches_hash(hash, "correct horse")) << prefix;
    EXPECT_FALSE(matches_hash(hash, "correct horsf")) << prefix;
    EXPECT_FALSE(matches_hash(hash, "")) << prefix;
  }
  EXPECT_FALSE(matches_hash("*", "x")) << "crypt(3) fails with a text that starts so";
}

TEST(KnownTokens, AreFoundByTheirHash) {
  const auto known = parse_tokens(
      "the-first-token-of-two\n"
      "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");  // of `abc`
  ASSERT_TRUE(known);
  EXPECT_TRUE(is_known_token(*known, "the-first-token-of-two"));
  EXPECT_TRUE(is_known_token(*known, "abc"));
  EXPECT_FALSE(is_known_token(*known, "abd"));
  EXPECT_FALSE(is_known_token(*known, ""));
  EXPECT_FALSE(is_known_token({}, "abc"));
}

TEST(NativePasswords, AreProvedWithoutBeingSent) {
  // SHA1(SHA1("mirror-ball")), and the proof of a client for the salt of twenty `s`.
  const auto users = parse_users("ann:mysql_native:*5B11CA47D17DFD4BBF8220BBE9DB9EF8C3F79DC0");
  ASSERT_TRUE(users) << users.error().message;
  const auto& hash = users->front().hash;
  EXPECT_TRUE(is_of_mysql(users->front()));
  const std::string salt(20, 's');
  const std::string proof = {'\xd6', '\x72', '\x43', '\xee', '\x58', '\x7c', '\xe2',
                             '\x90', '\xda', '\x88', '\x58', '\x07', '\xa3', '\x64',
                             '\x4d', '\x7b', '\xf3', '\xcc', '\x6c', '\x77'};
  EXPECT_TRUE(proves_native(hash, salt, proof));
  EXPECT_FALSE(proves_native(hash, std::string(20, 't'), proof));
  EXPECT_FALSE(proves_native(hash, salt, ""));
  EXPECT_FALSE(proves_native(hash, salt, std::string(20, '\0')));
  EXPECT_FALSE(proves_native("", salt, proof));
  EXPECT_FALSE(parse_users("ann:mysql_native:*12"));
  EXPECT_FALSE(parse_users("ann:mysql_native:*" + std::string(40, 'x')));
}

TEST(VerifiedPasswords, AreForgottenInTheOrderInWhichTheyCame) {
  VerifiedPasswords verified;
  const auto key = [](std::string_view password) {
    return VerifiedPasswords::key_of("ann", "$2y$…", password);
  };
  for (const auto* password : {"a", "b", "a", "c"}) verified.add(key(password), 2);
  EXPECT_EQ(verified.size(), 2U);
  EXPECT_FALSE(verified.contains(key("a")));
  EXPECT_TRUE(verified.contains(key("b")));
  EXPECT_TRUE(verified.contains(key("c")));
  EXPECT_NE(key("b"), VerifiedPasswords::key_of("bob", "$2y$…", "b"));
  EXPECT_NE(key("b"), VerifiedPasswords::key_of("ann", "$2y$other", "b"))
      << "a changed hash makes what was verified void";
}

}  // namespace
}  // namespace karmad
