// A mirror that answers its pings and fails its searches, or takes too long for them, is called so.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/fake_set.hpp"
#include "tests/support/load.hpp"

namespace karmad::test {
namespace {

using namespace std::chrono_literals;
constexpr auto kWordsSearch = R"({"table":"t","query":{"match_all":{}}})";

std::size_t count_of_text(std::string_view text, std::string_view wanted) {
  std::size_t count = 0;
  for (auto at = text.find(wanted); at != text.npos; at = text.find(wanted, at + 1)) ++count;
  return count;
}

struct SickMirror {
  std::string strategy;
  std::string name;
  Reaction reaction;
  std::string state;
  std::string said;  ///< in its reason
};
void PrintTo(const SickMirror& sick, std::ostream* out) {
  *out << sick.strategy << ' ' << sick.name;
}

class MirrorWords : public testing::TestWithParam<SickMirror> {};

TEST_P(MirrorWords, SayWhatTheChoiceKnowsUntilSearchesAreGoodAgain) {
  const auto& sick = GetParam();
  FakeSet set(3);
  Master master("ha_strategy = " + sick.strategy + "\n ha_ping_interval = 200ms", set.table());
  const auto word = [&](const char* what) {
    return master.word(fmt::format("/tables/0/shards/0/mirrors/1/{}", what));
  };
  const auto searching_until = [&](auto condition) {
    return eventually(
        [&] {
          for (int i = 0; i < 20; ++i) EXPECT_EQ(master.search(kWordsSearch).status, 200);
          return condition();
        },
        60s);
  };
  const auto becomes = [&](std::string_view state) {
    return searching_until([&] { return word("state") == state; });
  };
  ASSERT_TRUE(becomes("ready"));
  ASSERT_EQ(master.word("/verdict"), "all well");

  set[1].react(always(sick.reaction));
  ASSERT_TRUE(becomes(sick.state)) << word("diagnosis");
  const auto address = set[1].address();
  EXPECT_TRUE(word("reason").contains(sick.said)) << word("reason");
  const auto verdict = master.word("/verdict");
  EXPECT_TRUE(verdict.contains(fmt::format("2 of 3 mirrors ready: {} {}", address, sick.state)))
      << verdict;
  const auto told = fmt::format("{} {} since ", address, sick.state);
  EXPECT_TRUE(master.process().wait_for(told)) << master.process().output();
  EXPECT_TRUE(
      get(master.port(), "/metrics")
          .body.contains(fmt::format(
              R"(karmad_mirror_state{{table="t",shard="1",mirror="2",agent="{}",state="{}"}} 1)",
              address, sick.state)));
  EXPECT_TRUE(get(master.port(), "/events").body.contains(sick.said));
  if (sick.strategy == "adaptive") {
    EXPECT_TRUE(searching_until([&] {
      return word("reason").starts_with("avoided by adaptive (");
    })) << word("reason");
  }

  set[1].react(always(nothing_found()));
  ASSERT_TRUE(becomes("ready")) << word("diagnosis");
  EXPECT_EQ(master.word("/verdict"), "all well");
  EXPECT_EQ(count_of_text(master.process().output(), told), 1U) << "one line";
  for (const int healthy : {0, 2})
    EXPECT_FALSE(master.process().output().contains(
        set[static_cast<std::size_t>(healthy)].address() + " " + sick.state))
        << master.process().output();
}

Reaction page() {
  return json("<html><body>It works!</body></html>");
}
const auto kFailed = " failed: ";

INSTANTIATE_TEST_SUITE_P(
    OfStrategies, MirrorWords,
    testing::Values(
        SickMirror{"adaptive", "Status500", json(R"({"error":"disk is full"})", 500), "failing",
                   " failed: disk is full"},
        SickMirror{"adaptive", "Status503", json(R"({"error":"warming up"})", 503), "failing",
                   kFailed},
        SickMirror{"adaptive", "WrongTable",
                   json(R"({"error":"unknown local table(s) 'products' in search request"})", 500),
                   "failing", " failed: unknown local table(s) 'products' in search request"},
        SickMirror{"adaptive", "Page", page(), "failing", kFailed},
        SickMirror{"leastops", "Slow", slowly(60ms), "slow", " ms on average, those of the other"},
        SickMirror{"random", "Slow", slowly(60ms), "slow", " ms on average, those of the other"}),
    [](const auto& tested) { return tested.param.strategy + tested.param.name; });

TEST(TableWords, SayThatNoQuerySucceedsWhateverTheText) {
  FakeSet set(2);
  Master master("ha_ping_interval = 200ms", set.table());
  ASSERT_TRUE(eventually([&] { return master.word("/verdict") == "all well"; }));
  // Each client gets another text, so that all of them look like the clients' mistakes.
  for (std::size_t i = 0; i < 2; ++i)
    set[i].react(always(json(R"({"error":"P08: syntax error, unexpected '$'"})", 400)));
  ASSERT_TRUE(eventually([&] {
    for (int i = 0; i < 5; ++i) EXPECT_NE(master.search(kWordsSearch).status, 200);
    return master.word("/verdict").starts_with("table t: none of the last ");
  })) << master.word("/verdict");
  EXPECT_TRUE(master.process().wait_for(" table t: none of the last "))
      << master.process().output();
  EXPECT_TRUE(master.word("/tables/0/trouble").contains(" queries succeeded: "));
  EXPECT_TRUE(get(master.port(), "/events").body.contains(R"("event":"table","table":"t",)"));
  EXPECT_TRUE(
      get(master.port(), "/metrics").body.contains(R"(karmad_table_in_trouble{table="t"} 1)"));
  set.react(nothing_found());
  ASSERT_TRUE(eventually([&] {
    master.search(kWordsSearch);
    return master.word("/verdict") == "all well";
  })) << master.word("/verdict");
  EXPECT_TRUE(master.process().wait_for("table t: queries succeed again"));
}

}  // namespace
}  // namespace karmad::test
