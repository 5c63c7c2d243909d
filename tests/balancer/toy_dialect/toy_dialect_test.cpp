#include <gtest/gtest.h>

#include <fmt/format.h>

#include <regex>

#include "balancer/endpoints/endpoints.hpp"
#include "tests/balancer/toy_dialect/running_server.hpp"
#include "tests/balancer/toy_dialect/toy.hpp"
#include "tests/config/written.hpp"
#include "tests/support/fake_mirror.hpp"
#include "tests/support/http_client.hpp"

namespace karmad {
namespace {

using test::FakeMirror;

/// Those of karmad and one more.
Dialects with_toy() {
  static const auto all = [] {
    std::vector<const DialectKind*> kinds(dialects().begin(), dialects().end());
    kinds.push_back(&test::kToy);
    return kinds;
  }();
  return all;
}

Lines problems_with(Dialects known, const std::string& text) {
  return lines(load("c", world({{"c", text}}), FileKind::any, judge_with(known)).problems);
}

std::string toy_table(std::string_view name, std::string_view lines) {
  return fmt::format("table {} {{\n type = distributed\n dialect = toy\n{}\n}}\n", name, lines);
}

/// A server that speaks it, too. Its tables: `two` has two shards, `one` a shard of two mirrors
/// that are alike, `plain` is one of karmad's own.
struct AToyDialect : ::testing::Test {
  test::BlockedSignals blocked;
  FakeMirror first{[](const std::string&) { return test::json(R"({"count":3})"); }};
  FakeMirror second{[](const std::string&) { return test::json(R"({"count":4})"); }};
  test::RunningServer server{
      toy_table("two", fmt::format(" agent = {}:east\n agent = {}:west", first.address(),
                                   second.address())) +
          toy_table("one", fmt::format(" agent = {}|{}:both", first.address(), second.address())) +
          fmt::format("table plain {{\n type = distributed\n agent = {}|{}:t\n}}\n",
                      first.address(), second.address()),
      with_toy()};

  test::Response post(std::string_view path, std::string_view body) const {
    return test::post(server.port(), path, body);
  }
  static bool ends_with(const FakeMirror& mirror, std::string_view body) {
    return mirror.requests() > 0 && mirror.seen().back().ends_with(body);
  }
};

TEST_F(AToyDialect, IsServedOverTwoShardsAndMerged) {
  const auto answer = post("/toy/count", "two of them");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, R"({"count":7,"of":2})");
  EXPECT_EQ(answer.fields.at("content-type"), "application/toy");
  EXPECT_TRUE(ends_with(first, "\r\n\r\neast of them"));
  EXPECT_TRUE(ends_with(second, "\r\n\r\nwest of them"));
}

TEST_F(AToyDialect, KeepsAMergedAnswerWithoutAShardThatFails) {
  second.react([](const std::string&) { return test::json("{}", 500); });
  EXPECT_EQ(post("/toy/count", "two").body, R"({"count":3,"of":1})");
}

TEST_F(AToyDialect, RefusesInItsOwnWordsWhatItCannotMerge) {
  const auto answer = post("/toy/add", "two 1");
  EXPECT_EQ(answer.status, 501);
  EXPECT_EQ(answer.body,
            R"({"toy":501,"because":"table two has 2 shards, and their answers to this request )"
            R"(cannot be merged"})");
  EXPECT_EQ(first.requests() + second.requests(), 0U);
}

TEST_F(AToyDialect, TakesUpdatesOfMirrorsThatAreAlikeWhereOthersDoNot) {
  EXPECT_EQ(post("/toy/add", "one 1").status, 200);
  EXPECT_TRUE(ends_with(first, "both 1") || ends_with(second, "both 1"));
  EXPECT_EQ(post("/insert", R"({"table":"plain","doc":{"a":1}})").status, 403);
}

TEST_F(AToyDialect, HasPathsForItsRequests) {  // SS-103
  const auto wrong = test::get(server.port(), "/toy/add");
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(wrong.fields.at("allow"), "POST, PUT");
  EXPECT_EQ(test::ask(server.port(), "OPTIONS", "/toy/count").fields.at("allow"), "POST");
  const auto update =
      test::ask(server.port(), "POST", "/toy/add", "one 1", "X-Read-Preference: secondary\r\n");
  EXPECT_EQ(update.status, 400) << update.body;
  EXPECT_EQ(post("/toy/count", "").status, 400);
  EXPECT_EQ(post("/toy/other", "two").status, 404);
}

TEST_F(AToyDialect, FindsOnlyTablesThatSpeakIt) {
  EXPECT_EQ(post("/toy/count", "plain").status, 404);
  EXPECT_EQ(post("/search", R"({"table":"two"})").status, 404);
}

TEST_F(AToyDialect, LeavesStatementsAboutKarmadToIt) {
  const auto tables = post("/toy/ask", "SHOW TABLES");
  EXPECT_EQ(tables.status, 200);
  EXPECT_NE(tables.body.find("plain"), std::string::npos) << tables.body;
  EXPECT_EQ(post("/toy/ask", "SELECT is the name of no table").status, 404);
}

/// A defect ends its request, in the words of the dialect, and neither the process nor the good
/// name of a mirror.
TEST_F(AToyDialect, EndsOnlyTheRequestThatMeetsADefectOfIt) {
  for (const auto* step : {"parse", "plan", "judge", "merge"}) {
    if (step == std::string_view("merge"))
      second.react([](const std::string&) { return test::json(R"({"count":4} throws in merge)"); });
    const auto answer = post("/toy/count", fmt::format("two throws in {}", step));
    EXPECT_EQ(answer.status, 500) << step;
    EXPECT_NE(answer.body.find("an internal error of karmad, please report it: a defect"),
              std::string::npos)
        << step << ": " << answer.body;
  }
  EXPECT_EQ(post("/toy/count", "one throws in judge").status, 500);
  second.react([](const std::string&) { return test::json(R"({"count":4})"); });
  EXPECT_EQ(post("/toy/count", "two").body, R"({"count":7,"of":2})");
  const auto status = test::get(server.port(), "/status").body;
  // Both replies to `two throws in judge` are counted.
  EXPECT_NE(status.find(R"("internal_errors":6)"), std::string::npos) << status;
  const std::regex blames(R"("last_error": ?"[^"])");
  EXPECT_FALSE(std::regex_search(test::get(server.port(), "/agents").body, blames));
}

TEST_F(AToyDialect, IsNamedInTheStatus) {
  EXPECT_NE(test::get(server.port(), "/agents").body.find(R"("name":"two","dialect":"toy")"),
            std::string::npos);
}

TEST(AToyDialectInAConfiguration, IsKnownWhereItWasHandedIn) {
  const auto text = toy_table("t", " agent = a:1:x");
  EXPECT_EQ(problems_with(with_toy(), text), Lines{});
  EXPECT_EQ(problems_with(dialects(), text),
            Lines{"c:3:12: dialect 'toy' is unknown; known are manticore and http"});
  EXPECT_EQ(problems_with(with_toy(),
                          "table t {\n type = distributed\n dialect = smtp\n"
                          " agent = a:1:x\n}\n"),
            Lines{"c:3:12: dialect 'smtp' is unknown; known are manticore, http and toy"});
}

TEST(AToyDialectInAConfiguration, HasNoRouteAndKeepsItsPathsFromThoseThatHave) {
  EXPECT_EQ(problems_with(with_toy(), toy_table("t", " route = /x\n agent = a:1:x")),
            Lines{"c:4:10: route needs dialect = http, and table 't' has dialect = toy"});
  EXPECT_EQ(problems_with(with_toy(),
                          "table t {\n type = distributed\n dialect = http\n"
                          " route = /toy/count\n agent = a:1\n}\n"),
            Lines{"c:4:10: karmad answers '/toy/count' itself; a route needs another path"});
}

TEST(AToyDialectInAConfiguration, HasOneShardWhenItSaysSo) {
  auto alone = test::kToy;
  alone.capabilities.one_shard = true;
  const std::array known{&std::as_const(alone)};
  EXPECT_EQ(problems_with(known, toy_table("t", " agent = a:1:x\n agent = b:1:x")),
            Lines{"c:5:10: dialect = toy cannot merge: table 't' must have one shard, not 2"});
}

}  // namespace
}  // namespace karmad
