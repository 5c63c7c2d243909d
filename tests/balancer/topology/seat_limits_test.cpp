#include "balancer/topology/seat_limits.hpp"

#include <gtest/gtest.h>

namespace karmad {
namespace {

TEST(SeatLimit, IsANumberOrAWord) {
  EXPECT_EQ(parse_seat_limit("unlimited"), SeatLimit{});
  EXPECT_EQ(parse_seat_limit("0"), SeatLimit{});
  EXPECT_EQ(parse_seat_limit("Auto"), SeatLimit{.automatic = true});
  EXPECT_EQ(parse_seat_limit("1000000"), SeatLimit{.most = 1'000'000});
  for (const auto* wrong : {"", "lots", "-1", "1.5", "1000001", "99999999999999999999", "auto 5"})
    EXPECT_FALSE(parse_seat_limit(wrong)) << wrong;
}

TEST(SeatLimit, OfSeveralTheStrictestCounts) {
  SeatRules rules;
  add_limit(rules, {.most = 9});
  add_limit(rules, {.most = 7});
  add_limit(rules, {.most = 8});
  EXPECT_EQ(rules.most, 7u);
  EXPECT_FALSE(rules.automatic);
  add_limit(rules, {.automatic = true});
  EXPECT_TRUE(rules.automatic);
  EXPECT_EQ(rules.most, 7u);
}

}  // namespace
}  // namespace karmad
