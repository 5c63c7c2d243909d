#include <gtest/gtest.h>

#include "strategies/read_preference.hpp"
#include "tests/strategies/builders.hpp"
#include "tests/strategies/pictures.hpp"

namespace karmad {
namespace {

using namespace std::chrono_literals;
using std::chrono::seconds;
using testing::picture;
using testing::set_of;
using testing::written;

TEST(Staleness, ComparesTheReplicaWithThePrimary) {  // SS-048
  struct Row {
    seconds s_updated, s_written, p_updated, p_written, expected;
  };
  for (const auto& row :
       {Row{60s, 0s, 60s, 10s, 20s}, {70s, 5s, 60s, 10s, 25s}, {70s, 5s, 80s, 30s, 25s}})
    for (const auto ahead : {0s, 50s, -50s}) {  // the primary's clock, by which writes are dated
      const auto set =
          picture(SetKind::roles, {written(Role::primary, row.p_updated, row.p_written + ahead),
                                   written(Role::replica, row.s_updated, row.s_written + ahead)});
      EXPECT_EQ(staleness(set, 1), row.expected);
      EXPECT_EQ(staleness(set, 0), 0s);
    }
}

TEST(Staleness, OfAnIdleSetIsTheIdleWritePeriodAndThePingInterval) {  // SS-019, SS-048
  const auto set = picture(
      SetKind::roles, {written(Role::primary, 60s, 60s), written(Role::replica, 60s, 50s)}, 500ms);
  EXPECT_EQ(staleness(set, 1), Micros(10'500ms));
}

TEST(Staleness, WithoutAPrimaryComparesWithTheNewestReplica) {  // SS-049
  const auto set =
      picture(SetKind::roles, {written(Role::replica, 1s, 20s), written(Role::replica, 99s, 5s)});
  EXPECT_EQ(staleness(set, 0), 10s);
  EXPECT_EQ(staleness(set, 1), 25s);
}

TEST(Staleness, WithAPrimaryThatDoesNotSayItComparesWithTheNewestReplica) {
  const auto set =
      picture(SetKind::roles, {testing::mirror(Role::primary), written(Role::replica, 1s, 20s),
                               written(Role::replica, 99s, 5s)});
  EXPECT_EQ(staleness(set, 2), 25s);
}

TEST(Staleness, MayBeNegative) {  // SS-048
  const auto set =
      picture(SetKind::roles, {written(Role::primary, 60s, 10s), written(Role::replica, 60s, 40s)});
  EXPECT_EQ(staleness(set, 1), -20s);
  const Need need{.preference = {.mode = Mode::secondary, .max_staleness = 90s}};
  EXPECT_EQ(suitable_for(need, set, Candidates::first(2)), set_of({1}));
}

TEST(Staleness, TheLimitIsInclusive) {  // SS-050
  for (const auto& [at, expected] :
       {std::pair{10'000ms, Candidates::first(2)}, {9'999ms, Candidates::first(1)}}) {
    const auto set = picture(
        SetKind::roles, {written(Role::replica, 0s, 90s), written(Role::replica, 0s, at)}, 20s);
    const Need need{.preference = {.mode = Mode::nearest, .max_staleness = 100s}};
    EXPECT_EQ(suitable_for(need, set, Candidates::first(2)), expected);
  }
}

TEST(Staleness, OnlyReplicasHaveAny) {  // SS-050
  for (auto role : {Role::primary, Role::arbiter, Role::router, Role::standalone, Role::unknown})
    EXPECT_EQ(staleness(picture(SetKind::roles, {testing::mirror(role)}), 0), 0s);
}

TEST(Staleness, AReplicaThatDoesNotSayItIsNotEligibleWhileThereIsALimit) {  // SS-046
  const auto set =
      picture(SetKind::roles, {testing::mirror(Role::replica), written(Role::replica, 60s, 50s)});
  EXPECT_EQ(staleness(set, 0), std::nullopt);
  Need need{.preference = {.mode = Mode::nearest, .max_staleness = 90s}};
  EXPECT_EQ(suitable_for(need, set, Candidates::first(2)), set_of({1}));
  need.preference.max_staleness.reset();
  EXPECT_EQ(suitable_for(need, set, Candidates::first(2)), set_of({0, 1}));
}

TEST(Staleness, ATriedPrimaryIsStillTheMeasure) {
  const auto set = picture(
      SetKind::roles, {written(Role::primary, 600s, 600s), written(Role::replica, 600s, 400s)});
  const Need need{.preference = {.mode = Mode::nearest, .max_staleness = 90s}};
  EXPECT_TRUE(suitable_for(need, set, set_of({1})).empty());
}

TEST(Staleness, TimesAtTheEndsOfTheRangeDoNotOverflow) {
  const Need need{.preference = {.mode = Mode::nearest, .max_staleness = kLargestStaleness}};
  for (auto a : {Micros::min(), Micros::max()})
    for (auto b : {Micros::min(), Micros::max()})
      for (auto role : {Role::primary, Role::replica}) {
        const auto set =
            picture(SetKind::roles, {written(role, a, b), written(Role::replica, b, a)});
        EXPECT_TRUE(staleness(set, 1));
        suitable_for(need, set, Candidates::first(2));
        why_unsuitable(need, set, 1);
      }
}

TEST(InvalidPreference, StalenessAndTagsHaveNoMeaningWithModePrimary) {  // SS-041, SS-043, SS-060
  EXPECT_TRUE(invalid({.max_staleness = 120s}));
  EXPECT_TRUE(invalid({.tag_sets = testing::tag_sets("dc:ny")}));
  EXPECT_TRUE(invalid({.tag_sets = testing::tag_sets("|dc:ny")}));
  EXPECT_FALSE(invalid({.tag_sets = {Tags{}}}));
  EXPECT_FALSE(invalid({.tag_sets = {}}));
  EXPECT_FALSE(invalid({.mode = Mode::nearest, .tag_sets = testing::tag_sets("dc:ny")}));
}

TEST(InvalidPreference, ALimitIsPositiveAndFitsThirtyTwoBits) {  // SS-044
  for (auto limit : {0s, -1s, -90s, seconds::min(), seconds::max(), kLargestStaleness + 1s})
    EXPECT_TRUE(invalid({.mode = Mode::nearest, .max_staleness = limit})) << limit.count();
  for (auto limit : {1s, 89s, 90s, seconds(kLargestStaleness)})
    EXPECT_FALSE(invalid({.mode = Mode::nearest, .max_staleness = limit})) << limit.count();
}

TEST(InvalidPreference, InASetWithRolesALimitIsNotTooSmall) {  // SS-042, SS-045
  const auto code = [](seconds limit, SetKind kind, Micros interval) {
    const auto why = invalid_for({.mode = Mode::nearest, .max_staleness = limit}, kind, interval);
    return why ? why->code : 0;
  };
  EXPECT_EQ(code(89s, SetKind::roles, 1s), 160);
  EXPECT_EQ(code(90s, SetKind::roles, 1s), 0);
  EXPECT_EQ(code(209s, SetKind::roles, 200s), 160);
  EXPECT_EQ(code(210s, SetKind::roles, 200s), 0);
  EXPECT_EQ(code(210s, SetKind::roles, 200'001ms), 160);
  EXPECT_EQ(code(90s, SetKind::roles, Micros::max()), 160);
  for (auto kind : {SetKind::flat, SetKind::direct, SetKind::unknown, SetKind::balanced})
    EXPECT_EQ(code(1s, kind, 1s), 0) << name(kind);
}

TEST(InvalidPreference, NamesTheValidForm) {
  const auto why =
      invalid_for({.mode = Mode::nearest, .max_staleness = 100s}, SetKind::roles, 200'500ms);
  ASSERT_TRUE(why);
  EXPECT_NE(
      why->why.find("must be at least 211 here: 90s, and the ping interval of 200500 ms and 10s"),
      std::string::npos)
      << why->why;
}

}  // namespace
}  // namespace karmad
