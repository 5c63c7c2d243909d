#include "config/text/closest.hpp"

#include <gtest/gtest.h>

#include <array>

namespace karmad {
namespace {

TEST(EditDistance, CountsInsertionsDropsReplacementsAndSwaps) {
  struct {
    const char* a;
    const char* b;
    std::size_t distance;
  } const cases[] = {{"", "", 0},           {"agent", "", 5},        {"agent", "agent", 0},
                     {"agnet", "agent", 1}, {"agent", "agents", 1},  {"agent", "aget", 1},
                     {"agent", "agant", 1}, {"kitten", "sitting", 3}};
  for (const auto& c : cases) {
    EXPECT_EQ(edit_distance(c.a, c.b), c.distance) << c.a << " " << c.b;
    EXPECT_EQ(edit_distance(c.b, c.a), c.distance) << c.b << " " << c.a;
  }
}

TEST(Closest, FindsTheNearWordAndNoFarOne) {
  const std::array<std::string_view, 3> known{"agent", "agent_persistent", "listen"};
  EXPECT_EQ(closest("agnet", known), "agent");
  EXPECT_EQ(closest("agent_persistant", known), "agent_persistent");
  EXPECT_EQ(closest("lsiten", known), "listen");
  EXPECT_EQ(closest("banana", known), std::nullopt);
  EXPECT_EQ(closest("", known), std::nullopt);
  EXPECT_EQ(closest(std::string(100'000, 'a'), known), std::nullopt);
}

}  // namespace
}  // namespace karmad
