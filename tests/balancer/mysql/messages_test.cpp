#include "balancer/mysql/messages.hpp"

#include <gtest/gtest.h>

namespace karmad::mysql {
namespace {

using namespace capability;
using namespace std::string_literals;

TEST(MysqlErrors, AreCutBetweenCharacters) {
  const auto sent = [](std::string text) {
    std::string out;
    Writer packets(out);
    write_error(packets, {1105, "HY000", std::move(text)});
    return out.substr(kPacketHeader + 9);  // behind the mark, the code and the state
  };
  EXPECT_EQ(sent("short"), "short");
  EXPECT_EQ(sent(std::string(511, 'x')).size(), 511U);
  EXPECT_EQ(sent(std::string(512, 'x')).size(), 511U);
  EXPECT_EQ(sent(std::string(509, 'x') + "\u20ac"), std::string(509, 'x'));
  EXPECT_EQ(sent(std::string(508, 'x') + "\u20ac\u20ac"), std::string(508, 'x') + "\u20ac");
}

TEST(MysqlErrors, OfThePipelineKeepTheirWholeTextForTheLog) {
  EXPECT_EQ(error_of_answer(502, std::string(3000, 'x')).text.size(), 3000U);
}

TEST(Login, ProvesAPasswordOrNoneOrWaitsForASalt) {
  using enum Login::Proof;
  EXPECT_EQ(proof_in(""), none);
  EXPECT_EQ(proof_in("\0"s), nothing);
  EXPECT_EQ(proof_in("\0\0"s), password);
  EXPECT_EQ(proof_in("secret"), password);
}

TEST(Login, IsReadOfAChangeOfTheUser) {
  constexpr auto kUsual = kSecureConnection | kPluginAuth;
  const struct {
    std::uint32_t capabilities;
    std::string payload;
    std::string login;  ///< `unreadable`, or user, database and plugin
  } cases[] = {
      {kUsual, "eve\0\3abcshop\0\x2d\0plugin\0\1x"s, "eve shop plugin"},
      {kUsual, "eve\0\0\0"s, "eve  "},
      {kUsual, "eve\0\0"s, "eve  "},
      {kUsual, "\0\0shop\0\x2d\0"s, " shop "},
      {kSecureConnection, "eve\0\0shop\0\x2d\0plugin"s, "eve shop "},
      {0, "eve\0password\0shop\0"s, "eve shop "},
      {kUsual, "eve"s, "unreadable"},
      {kUsual, ""s, "unreadable"},
      {kUsual, "eve\0\5abc"s, "unreadable"},
      {kUsual, "eve\0\0shop"s, "unreadable"},
      {kUsual, "eve\0\0shop\0\x2d"s, "unreadable"},
      {kUsual, "eve\0\0shop\0\x2d\0plugin"s, "unreadable"},
      {0, "eve\0password"s, "unreadable"},
  };
  for (const auto& c : cases) {
    const auto login = read_change_user(c.payload, c.capabilities);
    EXPECT_EQ(login ? login->user + ' ' + login->database + ' ' + login->plugin : "unreadable",
              c.login)
        << c.payload;
  }
}

TEST(MysqlGreeting, OffersNeitherCompressionNorTlsNorFiles) {
  constexpr std::uint32_t kLocalFiles = 1U << 7;
  constexpr std::uint32_t kZstd = 1U << 26;
  EXPECT_EQ(kOffered & (kCompress | kLocalFiles | kTls | kZstd), 0U);
}

}  // namespace
}  // namespace karmad::mysql
