// Who caused an error that no known phrase explains.
#include "balancer/rules/error_texts.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace karmad {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kStart{1h};

/// Texts of servers; `{}` becomes a number that differs from query to query.
const std::vector<std::string> kTexts{
    "500: disk full",
    "500: internal trouble",
    "500: no space left on device",
    "500: table is locked",
    "500: strange column 'x{}'",
    "500: la table est verrouill\u00e9e",
    "500: \u78c1\u76e4\u5df2\u6eff",
    "500: ",
    "500: block {} at offset {} cannot be read",
    "501: {}",
    "500: query 'q{}' failed: \"cannot map file\"",
    "500: assertion `n < {}` failed, it's a bug",
};

std::string filled(const std::string& text, int number) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text.compare(i, 2, "{}") == 0) {
      out += std::to_string(number);
      ++i;
    } else {
      out += text[i];
    }
  return out;
}

constexpr TextHistory kWorks{.different = 1, .answered = 0, .answered_ever = 8};

TEST(CauseOfError, IsTheMirrorUntilTheQueryIsShownToBe) {
  EXPECT_EQ(cause_of({.proven = 1}, kWorks), Cause::undecided);
  EXPECT_EQ(cause_of({.alike = 2, .proven = 2}, kWorks), Cause::query);
  // Nothing was ever answered, or not by these mirrors.
  EXPECT_EQ(cause_of({.alike = 2, .proven = 2}, {.answered_ever = 7}), Cause::mirror);
  EXPECT_EQ(cause_of({.alike = 2}, {.answered_ever = 100}), Cause::mirror);
  // They answer others since the text is known.
  EXPECT_EQ(cause_of({.alike = 2}, {.answered = 8, .answered_ever = 8}), Cause::query);
  // The same query was answered before.
  EXPECT_EQ(cause_of({.alike = 3, .proven = 3, .valid_query = true}, kWorks), Cause::mirror);
}

TEST(CauseOfError, IsNotDecidedWhileAMirrorIsLeftThatMayAnswer) {
  EXPECT_EQ(cause_of({.alike = 2, .proven = 2, .proven_left = true}, kWorks), Cause::undecided);
  EXPECT_EQ(cause_of({.alike = 2, .proven = 2, .unknown_left = true}, kWorks), Cause::undecided);
  EXPECT_EQ(cause_of({.alike = 3, .proven = 3, .proven_left = true}, kWorks), Cause::query);
  auto known = kWorks;
  known.agreed = 1;
  EXPECT_EQ(cause_of({.alike = 2, .proven = 2, .proven_left = true}, known), Cause::query);
  EXPECT_EQ(cause_of({.alike = 2, .proven = 1, .proven_left = true}, known), Cause::undecided);
}

TEST(CauseOfError, IsTheQueryByAKnownTextAloneIfNoMirrorIsLeftOrTheBudgetIsNeeded) {
  auto known = kWorks;
  known.agreed = 1;
  EXPECT_EQ(cause_of({.proven = 1}, known), Cause::query);
  EXPECT_EQ(cause_of({.proven = 1, .proven_left = true}, known), Cause::undecided);
  EXPECT_EQ(cause_of({.proven = 1, .proven_left = true, .spare_budget = false}, known),
            Cause::query);
  EXPECT_EQ(cause_of({.proven = 1, .one_shard = false}, known), Cause::undecided);
  EXPECT_EQ(cause_of({.proven = 1, .proven_left = true, .spare_budget = false}, kWorks),
            Cause::undecided);
}

TEST(CauseOfError, IsTheMirrorAfterAnotherMirrorAnsweredUntilManyAgree) {
  auto text = kWorks;
  text.refuted = true;
  text.agreed = TextHistory::kProof - 1;
  EXPECT_EQ(cause_of({.alike = 2, .proven = 2}, text), Cause::mirror);
  text.agreed = TextHistory::kProof;
  EXPECT_EQ(cause_of({.alike = 2, .proven = 2}, text), Cause::query);
}

TEST(ErrorClass, LeavesOutNumbersAndQuotations) {
  EXPECT_EQ(error_class("row 17 of 'a b' at 3.25"), "row 0 of '' at 0.0");
  EXPECT_EQ(error_class("it's `x1`"), "it's ``");
  EXPECT_EQ(error_class(""), "");
  EXPECT_NE(error_class("disk full"), error_class("disk fault"));
  for (const auto& text : kTexts)
    EXPECT_EQ(error_class(filled(text, 1)), error_class(filled(text, 234))) << text;
}

/// One shard of mirrors that all answer a query alike, and the decisions about its errors.
struct Set {
  ErrorTexts texts;
  std::uint64_t answered = 100;
  TimePoint now = kStart;

  Cause fails(const std::string& text, std::size_t query) {
    now += 10ms;
    const auto history = texts.got(text, query, answered, now);
    const auto cause = cause_of({.alike = 2, .proven = 2}, history);
    if (cause == Cause::query) texts.agreed(text);
    return cause;
  }
};

TEST(ErrorText, ThatManyDifferentQueriesGetIsTheTroubleOfTheSet) {
  for (const auto& text : kTexts) {
    SCOPED_TRACE(text);
    Set set;
    for (int query = 0; query < 100; ++query)
      EXPECT_EQ(set.fails(filled(text, query), static_cast<std::size_t>(query)),
                query < 7 ? Cause::query : Cause::mirror);
    // The set works again.
    set.answered += 8;
    EXPECT_EQ(set.fails(filled(text, 1000), 1000), Cause::query);
  }
}

TEST(ErrorText, OfAFewQueriesStaysTheirsHoweverOften) {
  for (const auto& text : kTexts) {
    Set set;
    for (int i = 0; i < 1000; ++i)
      EXPECT_EQ(set.fails(filled(text, i), static_cast<std::size_t>(i % 7)), Cause::query) << text;
  }
}

// 5, 20 and 40 % of the queries have a mistake, each another one.
TEST(ErrorText, OfMistakesAmongAnsweredQueriesStaysTheirs) {
  for (const auto& text : kTexts)
    for (const int in_five_hundred : {25, 100, 200}) {
      Set set;
      for (int i = 0; i < 5000; ++i) {
        if (i * 7919 % 500 >= in_five_hundred) {
          ++set.answered;
        } else {
          EXPECT_EQ(set.fails(filled(text, i), static_cast<std::size_t>(i)), Cause::query)
              << text << " " << in_five_hundred;
        }
      }
    }
}

TEST(ErrorText, ThatDiffersFromQueryToQueryIsTheirs) {
  Set set;
  for (char c = 'a'; c <= 'z'; ++c)
    EXPECT_EQ(set.fails(fmt::format("500: the {} is no widget", c), static_cast<std::size_t>(c)),
              Cause::query);
}

TEST(ErrorTexts, ForgetAfterTenMinutesAndTheOldestOfTooMany) {
  ErrorTexts texts;
  texts.got("500: a", 1, 0, kStart);
  texts.agreed("500: a");
  EXPECT_EQ(texts.history("500: a", 5, kStart + ErrorTexts::kRemembered - 1us).agreed, 1);
  EXPECT_EQ(texts.history("500: a", 5, kStart + ErrorTexts::kRemembered).agreed, 0);
  EXPECT_EQ(texts.history("500: a", 5, kStart).answered, 5u);
  for (std::size_t i = 0; i < ErrorTexts::kMost; ++i)
    texts.got(fmt::format("500: {}", std::string(i, 'b')), 1, 0, kStart + 1s);
  EXPECT_EQ(texts.history("500: a", 5, kStart + 1s).different, 0u);
}

TEST(ErrorTexts, AreALineOnceAMinuteEachAndOnceASecondInAll) {
  ErrorTexts texts;
  const auto due = [&](std::string_view text, TimePoint now) {
    texts.got(text, 1, 0, now);
    return texts.line_due(text, Cause::query, now);
  };
  EXPECT_EQ(due("a", kStart), std::optional<std::uint64_t>(0));
  EXPECT_EQ(due("a", kStart + 2s), std::nullopt);
  EXPECT_EQ(due("b", kStart + 500ms), std::nullopt);
  EXPECT_EQ(due("b", kStart + 3s), std::optional<std::uint64_t>(2));
  EXPECT_EQ(due("a", kStart + 60s), std::optional<std::uint64_t>(0));
}

TEST(AnsweredQueries, AreRememberedForTenMinutesByAllWorkers) {
  AnsweredQueries answered(2);
  answered.add(0, 0x123456789abcdef0, kStart);
  answered.add(1, 42, kStart + 1min);
  EXPECT_EQ(answered.count(), 2u);
  EXPECT_TRUE(answered.contains(0x123456789abcdef0, kStart + 9min));
  EXPECT_FALSE(answered.contains(0x123456789abcdef0, kStart + 10min));
  EXPECT_TRUE(answered.contains(42, kStart + 10min));
  EXPECT_FALSE(answered.contains(0x023456789abcdef0, kStart));
  AnsweredQueries next(2);
  next.take_over(answered);
  EXPECT_EQ(next.count(), 2u);
  EXPECT_TRUE(next.contains(42, kStart + 2min));
}

}  // namespace
}  // namespace karmad
