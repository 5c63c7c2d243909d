#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "agent/transport/http/http_head.hpp"
#include "tests/agent/transport/exact_bytes.hpp"

namespace karmad {
namespace {

using namespace std::string_literals;

struct Result {
  int status = 0;  // 0: no error
  bool done = false;
  std::string content;
  std::size_t used = 0;
  bool operator==(const Result&) const = default;
};

Result fed(std::string_view bytes, std::size_t piece, std::size_t limit = 1 << 20) {
  ChunkedBody body{limit};
  Result result;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    const ExactBytes part{bytes.substr(at, piece)};
    const auto used = body.put(part, result.content);
    if (!used) return {used.error().status, false, result.content, 0};
    result.used += *used;
  }
  result.done = body.done();
  return result;
}

Result fed(std::string_view bytes) {
  return fed(bytes, bytes.size() + 1);
}

TEST(ChunkedBody, ContentIsJoinedAndTheRestLeftAlone) {
  EXPECT_EQ(fed("5\r\nhello\r\n1\r\n \r\n005\r\nworld\r\n0\r\n\r\nGET /"),
            (Result{0, true, "hello world", 33}));
  EXPECT_EQ(fed("0\r\n\r\n"), (Result{0, true, "", 5}));
  EXPECT_EQ(fed("a\r\n0123456789\r\nA\r\n0123456789\r\n00\r\n\r\n").content,
            "01234567890123456789");
  EXPECT_EQ(fed("0000000000000001\r\nx\r\n0\r\n\r\n").content, "x");
  EXPECT_EQ(fed("2\r\n\r\n\r\n0\r\n\r\n").content, "\r\n");
}

TEST(ChunkedBody, ExtensionsAndTrailersAreSkipped) {
  EXPECT_EQ(fed("1;a=b;c=\"d;\xff\"\r\nx\r\n1 ;a\r\ny\r\n0;z\r\nX-Sum: 1\r\nEmpty:\r\n\r\n"),
            (Result{0, true, "xy", 52}));
}

TEST(ChunkedBody, ExtensionsAreReadByTheirGrammar) {  // RFC 9112 section 7.1.1
  for (const std::string extension :
       {"", ";a", " ; a", "\t;\ta", ";a;b", ";a=b", ";a = b", ";a=\"\"", ";a=\"b;\\\"\\\\ c\"",
        ";a=\"b\";c", ";a=\"b\" ;c=d", ";a ;b", ";!#$%&'*+-.^_`|~9=x", ";a=\"\\\xff\t\""})
    EXPECT_EQ(fed("1" + extension + "\r\nx\r\n0" + extension + "\r\n\r\n"),
              (Result{0, true, "x", 11 + 2 * extension.size()}))
        << extension;
  for (const std::string extension :
       {";",      "; ",        ";;a",         ";a;",           ";=b",       ";a=",
        ";a= ",   ";a=b=c",    ";a b",        ";a ",           ";a=b ",     ";a=b c",
        ";a=\"b", ";a=\"b\"c", ";a=\"b\" ",   ";a=\"b\\\"",    ";a=b\"c\"", ";a,b",
        ";a/b",   ";\"a\"",    ";a=\"\x7f\"", ";a=\"\\\x01\"", ";\xff",     ";a=(b)",
        ";a={b}", " a",        "=a"}) {
    EXPECT_EQ(fed("1" + extension + "\r\nx\r\n").status, 400) << extension;
    EXPECT_EQ(fed("1" + extension + "\r\nx\r\n", 1).status, 400) << extension;
  }
}

TEST(ChunkedBody, PiecesOfAnySizeGiveTheSameAsOne) {
  const std::string body =
      "5;ext=1\r\nhello\r\n1f\r\n0123456789abcdef0123456789abcde\r\n0\r\nA: b\r\nC: d\r\n\r\nrest";
  const auto whole = fed(body);
  ASSERT_TRUE(whole.done);
  for (std::size_t piece = 1; piece < body.size(); ++piece) EXPECT_EQ(fed(body, piece), whole);
}

TEST(ChunkedBody, EveryPrefixIsNotYetDone) {
  const std::string body = "5;e\r\nhello\r\n0\r\nA: b\r\n\r\n";
  for (std::size_t size = 0; size < body.size(); ++size) {
    const auto result = fed(body.substr(0, size));
    EXPECT_EQ(result.status, 0) << size;
    EXPECT_FALSE(result.done) << size;
  }
  EXPECT_TRUE(fed(body).done);
}

TEST(ChunkedBody, WhatTwoReadersCouldReadDifferentlyIsRefused) {
  const std::vector<std::string> refused{
      "\r\n",
      "x\r\n",
      " 5\r\n",
      "+5\r\n",
      "-5\r\n",
      "0x5\r\n",
      "5\n",
      "5 \r\n",
      "5\t\r\n",
      "5,\r\n",
      ";a\r\n",
      "5\rx",
      "5;a\nb\r\n",
      "5;a\rb\r\n",
      "5;a\0b\r\n"s,
      "5 5\r\n",
      "5\x0b\r\n",
      "2\r\nabc",
      "2\r\nab\n",
      "2\r\nab\rx",
      "2\r\nab0\r\n",
      "00000000000000005\r\n",
      "fffffffffffffffff\r\n",
      "0\r\n x: y\r\n",
      "0\r\n: y\r\n",
      "0\r\nno colon\r\n",
      "0\r\nnocolon\r\n",
      "0\r\na: b\n",
      "0\r\na: b\rx",
      "0\r\na: b\r\n folded\r\n",
      "0\r\na: \x01",
      "0\r\n\n",
      "0\r\n\rx",
      "0\n\n",
  };
  for (const auto& bytes : refused) EXPECT_EQ(fed(bytes).status, 400) << bytes;
}

TEST(ChunkedBody, ContentIsLimited) {
  EXPECT_EQ(fed("5\r\nhello\r\n0\r\n\r\n", 100, 5).content, "hello");
  EXPECT_EQ(fed("6\r\n", 100, 5).status, 413);  // before the content has come
  EXPECT_EQ(fed("3\r\nabc\r\n3\r\n", 100, 5).status, 413);
  EXPECT_EQ(fed("ffffffffffffffff\r\n").status, 413);
  EXPECT_EQ(fed("1\r\na\r\nffffffffffffffff\r\n").status, 413);
  EXPECT_EQ(fed("0\r\n\r\n", 100, 0).done, true);
}

TEST(ChunkedBody, ExtensionsAndTrailersAreLimited) {
  EXPECT_EQ(fed("1;" + std::string(255, 'a') + "\r\nx\r\n0\r\n\r\n").done, true);
  EXPECT_EQ(fed("1;" + std::string(256, 'a')).status, 400);
  EXPECT_EQ(fed("1" + std::string(300, ' ')).status, 400);
  std::string many;
  for (int i = 0; i < 65; ++i) many += "1;" + std::string(251, 'a') + "\r\nx\r\n";
  EXPECT_EQ(fed(many).status, 0);  // 65 * 252 bytes of extensions are less than 16 KiB
  EXPECT_EQ(fed(many + many).status, 400);

  EXPECT_EQ(fed("0\r\na: " + std::string(8000, 'x') + "\r\n\r\n").done, true);
  EXPECT_EQ(fed("0\r\na: " + std::string(9000, 'x')).status, 431);
  std::string fields = "0\r\n";
  for (int i = 0; i < 64; ++i) fields += "a: b\r\n";
  EXPECT_EQ(fed(fields + "\r\n").done, true);
  EXPECT_EQ(fed(fields + "a").status, 431);
}

}  // namespace
}  // namespace karmad
