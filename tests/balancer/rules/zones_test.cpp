#include "balancer/rules/zones.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace karmad {
namespace {

Candidates of(std::initializer_list<std::size_t> mirrors) {
  Candidates all;
  for (const auto mirror : mirrors) all.insert(mirror);
  return all;
}

/// Mirrors in these zones; empty: in none.
SetDescription in_zones(const std::vector<std::string>& zones) {
  SetDescription picture{.kind = SetKind::flat, .tags_in_flat = true};
  for (const auto& zone : zones) {
    MirrorFacts facts{.role = Role::router, .tags = {{"dc", "x"}}};
    if (!zone.empty()) facts.tags.push_back({"zone", zone});
    picture.mirrors.push_back(facts);
  }
  return picture;
}

TEST(Zones, AreTheValuesOfATag) {  // CO-030
  const auto picture = in_zones({"a", "b", "", "a", ""});
  EXPECT_EQ(zone_of(picture, 0), "a");
  EXPECT_EQ(zone_of(picture, 2), "");
  EXPECT_EQ(zone_mates(picture, 0), of({0, 3}));
  EXPECT_EQ(zone_mates(picture, 1), of({1}));
  EXPECT_EQ(zone_mates(picture, 2), Candidates()) << "a mirror without a zone has no zone mates";
  EXPECT_EQ(zones(picture), 2U);
  EXPECT_EQ(zones(in_zones({"", ""})), 0U);
  EXPECT_EQ(zones(in_zones({})), 0U);
}

TEST(Avoided, KeepsAtLeastOneMirror) {  // CO-038
  struct Case {
    std::string_view what;
    std::array<Candidates, 3> reasons;  // tried, unavailable, zones left; the weightiest first
    Candidates avoided;
  };
  const Case cases[]{
      {"nothing against anybody", {}, {}},
      {"tried", {of({0})}, of({0})},
      {"tried and marked", {of({0}), of({1})}, of({0, 1})},
      {"a mark moves to the end, not out", {of({0, 1, 3}), of({2})}, of({0, 1, 3})},
      {"all are marked", {of({}), of({0, 1, 2, 3})}, of({})},
      {"the zone was left", {of({0}), of({}), of({0, 1})}, of({0, 1})},
      {"a mark weighs more than a zone", {of({0}), of({2, 3}), of({0, 1})}, of({0, 2, 3})},
      {"all zones were left", {of({0, 2}), of({}), of({0, 1, 2, 3})}, of({0, 2})},
      {"all were tried", {of({0, 1, 2, 3}), of({2}), of({0, 1})}, of({0, 1, 2})},
  };
  const auto picture = in_zones({"a", "a", "b", "b"});
  for (const auto& c : cases)
    EXPECT_EQ(avoided_for(nullptr, picture, Candidates::first(4), c.reasons), c.avoided) << c.what;
}

TEST(Avoided, DoesNotKeepAQueryFromTheOnlyOneThatSuits) {
  const auto picture = in_zones({"a", "a", "b", "b"});
  const Need need{.preference = {.mode = Mode::nearest, .tag_sets = {{{"zone", "a"}}}}};
  const std::array reasons{of({0}), Candidates(), of({0, 1})};
  EXPECT_EQ(avoided_for(&need, picture, Candidates::first(4), reasons), of({0}));
}

TEST(Avoided, GoesOnWithTheNextZoneOfTheList) {  // CO-030: preference order
  const auto picture = in_zones({"a", "a", "b", "c"});
  const Need need{.preference = {.mode = Mode::nearest,
                                 .tag_sets = {{{"zone", "a"}}, {{"zone", "c"}}, {{"zone", "b"}}}}};
  const std::array reasons{of({0}), Candidates(), of({0, 1})};
  const auto avoided = avoided_for(&need, picture, Candidates::first(4), reasons);
  EXPECT_EQ(suitable_for(need, picture, Candidates::first(4) - avoided), of({3}));
}

}  // namespace
}  // namespace karmad
