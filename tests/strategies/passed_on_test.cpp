#include <gtest/gtest.h>

#include "strategies/read_preference.hpp"
#include "tests/strategies/pictures.hpp"

namespace karmad {
namespace {

const std::optional<ReadPreference> kNothing;
const std::optional<ReadPreference> kPrimary = ReadPreference{};
const std::optional<ReadPreference> kPreferred = ReadPreference{.mode = Mode::primary_preferred};
const std::optional<ReadPreference> kTagged =
    ReadPreference{.mode = Mode::secondary, .tag_sets = testing::tag_sets("dc:ny|")};

TEST(PassedOn, EveryModeButPrimary) {  // SS-090, SS-091, SS-097
  for (const auto& [kind, role] : {std::pair{SetKind::flat, Role::router},
                                   {SetKind::balanced, Role::unknown},
                                   {SetKind::roles, Role::primary},
                                   {SetKind::roles, Role::replica}}) {
    EXPECT_EQ(passed_on(kTagged, kind, role), kTagged) << name(kind);
    EXPECT_EQ(passed_on(kPrimary, kind, role), kNothing) << name(kind);
    EXPECT_EQ(passed_on(kNothing, kind, role), kNothing) << name(kind);
  }
}

TEST(PassedOn, NothingToAStandaloneMirror) {  // SS-095
  for (const auto& asked : {kNothing, kPrimary, kTagged})
    EXPECT_EQ(passed_on(asked, SetKind::direct, Role::standalone), kNothing);
}

TEST(PassedOn, PrimaryPreferredToOneCopySoThatItAcceptsInAnyRole) {  // SS-096
  for (auto role : {Role::primary, Role::replica, Role::arbiter, Role::other, Role::ghost}) {
    EXPECT_EQ(passed_on(kNothing, SetKind::direct, role), kPreferred) << name(role);
    EXPECT_EQ(passed_on(kPrimary, SetKind::direct, role), kPreferred) << name(role);
    EXPECT_EQ(passed_on(kTagged, SetKind::direct, role), kTagged) << name(role);
  }
}

TEST(PassedOn, ASingleRouterChoosesUnlessTheRequestHasAPreference) {  // SS-090, SS-091
  EXPECT_EQ(passed_on(kNothing, SetKind::direct, Role::router), kNothing);
  EXPECT_EQ(passed_on(kPrimary, SetKind::direct, Role::router), kNothing);
  EXPECT_EQ(passed_on(kTagged, SetKind::direct, Role::router), kTagged);
}

}  // namespace
}  // namespace karmad
