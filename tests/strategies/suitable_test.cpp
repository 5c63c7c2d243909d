#include <gtest/gtest.h>

#include "strategies/read_preference.hpp"
#include "tests/strategies/builders.hpp"
#include "tests/strategies/pictures.hpp"

namespace karmad {
namespace {

using namespace std::chrono_literals;
using testing::mirror;
using testing::picture;
using testing::set_of;
using testing::tag_sets;

constexpr std::array kModes{Mode::primary, Mode::primary_preferred, Mode::secondary,
                            Mode::secondary_preferred, Mode::nearest};
constexpr std::array kRoles{Role::unknown, Role::primary, Role::replica,    Role::arbiter,
                            Role::other,   Role::ghost,   Role::standalone, Role::router};

Need reading(Mode mode, std::string_view labels = "") {
  return {.preference = {.mode = mode,
                         .tag_sets = labels.empty() ? std::vector<Tags>{} : tag_sets(labels)}};
}
Need writing() {
  return {.operation = Operation::write, .preference = {.mode = Mode::nearest}};
}

Candidates suitable(const Need& need, const SetDescription& picture) {
  return suitable_for(need, picture, Candidates::first(picture.mirrors.size()));
}

/// One mirror of each role.
SetDescription one_of_each(SetKind kind) {
  std::vector<MirrorFacts> mirrors;
  for (auto role : kRoles) mirrors.push_back(mirror(role));
  return picture(kind, mirrors);
}

TEST(Suitable, NoMirrorOfAnUnknownSet) {  // SS-140
  for (auto mode : kModes)
    EXPECT_TRUE(suitable(reading(mode), one_of_each(SetKind::unknown)).empty());
  EXPECT_TRUE(suitable(writing(), one_of_each(SetKind::unknown)).empty());
}

TEST(Suitable, NoMirrorOfASetWithAnotherVersion) {  // SS-121
  for (auto kind : {SetKind::direct, SetKind::flat, SetKind::roles, SetKind::balanced}) {
    auto set = one_of_each(kind);
    set.incompatible = true;
    EXPECT_TRUE(suitable(reading(Mode::nearest), set).empty()) << name(kind);
    EXPECT_NE(why_unsuitable(reading(Mode::nearest), set, 1), "") << name(kind);
  }
}

TEST(Suitable, TheOneMirrorOfADirectSetWheneverItAnswers) {  // SS-141
  for (auto role : kRoles) {
    const auto set = picture(SetKind::direct, {mirror(role, "dc:ny")});
    const auto expected = role == Role::unknown ? Candidates{} : Candidates::first(1);
    EXPECT_EQ(suitable(reading(Mode::secondary, "dc:sf"), set), expected) << name(role);
    EXPECT_EQ(suitable(writing(), set), expected) << name(role);
  }
}

TEST(Suitable, TheAddressOfABalancedSetAlways) {  // SS-142
  const auto set = picture(SetKind::balanced, {mirror(Role::unknown)});
  for (auto mode : kModes) EXPECT_EQ(suitable(reading(mode), set), Candidates::first(1));
  EXPECT_EQ(suitable(writing(), set), Candidates::first(1));
  EXPECT_EQ(why_unsuitable(writing(), set, 0), "");
}

TEST(Suitable, EveryAvailableMirrorOfAFlatSetForAnyPreference) {  // SS-145
  const auto set = picture(SetKind::flat, {mirror(Role::router, "dc:ny"), mirror(Role::unknown),
                                           mirror(Role::router), mirror(Role::other)});
  for (auto mode : kModes) EXPECT_EQ(suitable(reading(mode, "dc:ny"), set), set_of({0, 2}));
  EXPECT_EQ(suitable(writing(), set), set_of({0, 2}));
}

TEST(Suitable, TagsFilterReadsInAFlatSetIfSwitchedOn) {  // SS-145
  auto set = picture(SetKind::flat, {mirror(Role::router, "dc:ny"), mirror(Role::router, "dc:sf")});
  set.tags_in_flat = true;
  EXPECT_EQ(suitable(reading(Mode::nearest, "dc:sf"), set), set_of({1}));
  EXPECT_EQ(why_unsuitable(reading(Mode::nearest, "dc:sf"), set, 0), "has no tag set of dc:sf");
  auto write = reading(Mode::nearest, "dc:sf");
  write.operation = Operation::write;
  EXPECT_EQ(suitable(write, set), set_of({0, 1}));
}

TEST(Suitable, ModesTakeRolesAsTheyPromiseAndOtherRolesNever) {  // SS-031 … SS-037, SS-143
  const auto set = one_of_each(SetKind::roles);
  EXPECT_EQ(suitable(reading(Mode::primary), set), set_of({1}));
  EXPECT_EQ(suitable(reading(Mode::primary_preferred), set), set_of({1}));
  EXPECT_EQ(suitable(reading(Mode::secondary), set), set_of({2}));  // SS-033
  EXPECT_EQ(suitable(reading(Mode::secondary_preferred), set), set_of({2}));
  EXPECT_EQ(suitable(reading(Mode::nearest), set), set_of({1, 2}));
}

TEST(Suitable, WithoutAPrimaryTheReplicasAndWithoutReplicasThePrimary) {  // SS-034, SS-035
  const auto replicas = picture(SetKind::roles, {mirror(Role::replica), mirror(Role::replica)});
  EXPECT_TRUE(suitable(reading(Mode::primary), replicas).empty());
  EXPECT_EQ(suitable(reading(Mode::primary_preferred), replicas), set_of({0, 1}));
  const auto primary = picture(SetKind::roles, {mirror(Role::unknown), mirror(Role::primary)});
  EXPECT_TRUE(suitable(reading(Mode::secondary), primary).empty());
  EXPECT_EQ(suitable(reading(Mode::secondary_preferred), primary), set_of({1}));
}

TEST(Suitable, UpdatesGoToThePrimaryOnly) {  // SS-144, SS-100
  EXPECT_EQ(suitable(writing(), one_of_each(SetKind::roles)), set_of({1}));
  EXPECT_TRUE(suitable(writing(), picture(SetKind::roles, {mirror(Role::replica)})).empty());
}

TEST(Suitable, PositionsThePictureDoesNotKnowAreNot) {
  for (auto kind : {SetKind::direct, SetKind::flat, SetKind::roles})
    for (auto mode : kModes)
      EXPECT_TRUE(suitable_for(reading(mode), picture(kind, {}), Candidates::first(64)).empty());
}

constexpr auto kTwoSets = "zone:b,disk:ssd|zone:b";

TEST(Tags, TheFirstSetThatMatchesAnybodyDecides) {  // SS-061, SS-063
  const auto ssd = mirror(Role::replica, "zone:b,disk:ssd,size:l");
  const auto hdd = mirror(Role::replica, "zone:b,disk:hdd");
  const auto need = reading(Mode::secondary, kTwoSets);
  EXPECT_EQ(suitable(need, picture(SetKind::roles, {ssd, hdd})), set_of({0}));
  EXPECT_EQ(suitable(need, picture(SetKind::roles, {mirror(Role::unknown), hdd})), set_of({1}));
}

TEST(Tags, AnEmptySetMatchesMirrorsWithoutTags) {  // SS-061
  const auto set = picture(SetKind::roles, {mirror(Role::replica), mirror(Role::replica)});
  EXPECT_EQ(suitable(reading(Mode::nearest, "zone:b|"), set), set_of({0, 1}));
}

TEST(Tags, NoSetsMatchEverybody) {  // SS-062
  const auto set = picture(SetKind::roles, {mirror(Role::replica), mirror(Role::primary, "a:b")});
  EXPECT_EQ(suitable(reading(Mode::nearest), set), set_of({0, 1}));
}

TEST(Tags, WhenNoSetMatchesOnlyTheModesThatPreferFallBack) {  // SS-064
  const auto set =
      picture(SetKind::roles, {mirror(Role::primary, "zone:b"), mirror(Role::replica, "zone:b")});
  EXPECT_TRUE(suitable(reading(Mode::secondary, "zone:c"), set).empty());
  EXPECT_TRUE(suitable(reading(Mode::nearest, "zone:c"), set).empty());
  EXPECT_EQ(suitable(reading(Mode::secondary_preferred, "zone:c"), set), set_of({0}));
  EXPECT_EQ(suitable(reading(Mode::primary_preferred, "zone:c"), set), set_of({0}));
}

TEST(Tags, AreComparedByteByByte) {  // SS-061
  const auto set = picture(SetKind::roles, {mirror(Role::replica, "dc:NY")});
  EXPECT_TRUE(suitable(reading(Mode::secondary, "dc:ny"), set).empty());
  EXPECT_TRUE(suitable(reading(Mode::secondary, "DC:NY"), set).empty());
}

TEST(Suitable, StalenessIsLookedAtBeforeTags) {  // SS-047
  auto stale = testing::written(Role::replica, 500s, 100s);
  stale.tags = testing::tags("dc:ny");
  auto fresh = testing::written(Role::replica, 500s, 490s);
  fresh.tags = testing::tags("dc:sf");
  auto need = reading(Mode::secondary, "dc:ny|dc:sf");
  need.preference.max_staleness = 90s;
  EXPECT_EQ(suitable(need, picture(SetKind::roles, {stale, fresh})), set_of({1}));
}

TEST(WhyUnsuitable, IsEmptyExactlyForTheSuitableOnes) {  // SS-170
  auto needs = std::vector{writing()};
  for (auto mode : kModes) needs.push_back(reading(mode));
  needs.push_back(reading(Mode::nearest, "dc:ny"));
  for (auto kind :
       {SetKind::unknown, SetKind::direct, SetKind::flat, SetKind::roles, SetKind::balanced}) {
    const auto set = one_of_each(kind);
    for (const auto& need : needs)
      for (std::size_t i = 0; i < set.mirrors.size(); ++i)
        EXPECT_EQ(why_unsuitable(need, set, i).empty(), suitable(need, set).contains(i));
  }
}

TEST(WhyUnsuitable, GivesTheReason) {  // SS-170, SS-046
  auto lagging = testing::written(Role::replica, 500s, 380s);
  auto silent = mirror(Role::replica);
  auto set = picture(SetKind::roles, {testing::written(Role::primary, 500s, 500s), lagging, silent,
                                      mirror(Role::other), mirror(Role::unknown)});
  auto need = reading(Mode::nearest);
  need.preference.max_staleness = 90s;
  EXPECT_EQ(why_unsuitable(need, set, 0), "");
  EXPECT_EQ(why_unsuitable(need, set, 1), "lags 130 s, the limit is 90 s");
  EXPECT_EQ(why_unsuitable(need, set, 2), "does not report its staleness, the limit is 90 s");
  EXPECT_EQ(why_unsuitable(need, set, 3), "role is other");
  EXPECT_EQ(why_unsuitable(need, set, 4), "its role is unknown");
  EXPECT_EQ(why_unsuitable(need, set, 9), "its role is unknown");
  EXPECT_EQ(why_unsuitable(reading(Mode::nearest, "dc:ny,rack:2|dc:sf"), set, 1),
            "has no tag set of dc:ny,rack:2|dc:sf");
  EXPECT_EQ(why_unsuitable(reading(Mode::primary), set, 1),
            "is a replica, only the primary is wanted");
  EXPECT_EQ(why_unsuitable(reading(Mode::primary_preferred), set, 1),
            "is a replica, the primary is preferred");
  EXPECT_EQ(why_unsuitable(reading(Mode::secondary), set, 0),
            "is the primary, only replicas are wanted");
  EXPECT_EQ(why_unsuitable(reading(Mode::secondary_preferred), set, 0),
            "is the primary, replicas are preferred");
  EXPECT_EQ(why_unsuitable(writing(), set, 1), "is a replica, updates go to the primary");
  set.mirrors[1].tags = testing::tags("dc:sf");
  set.mirrors[2].tags = testing::tags("dc:ny");
  EXPECT_EQ(why_unsuitable(reading(Mode::secondary, "dc:ny|dc:sf"), set, 1),
            "another mirror has a tag set that is preferred");
}

}  // namespace
}  // namespace karmad
