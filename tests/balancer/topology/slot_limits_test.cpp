#include "balancer/topology/rule_reader.hpp"

#include <gtest/gtest.h>

namespace karmad {
namespace {

TEST(SlotLimit, IsANumberOrAWord) {
  EXPECT_EQ(parse_slot_limit("unlimited"), SlotLimit{});
  EXPECT_EQ(parse_slot_limit("0"), SlotLimit{});
  EXPECT_EQ(parse_slot_limit("Auto"), SlotLimit{.automatic = true});
  EXPECT_EQ(parse_slot_limit("1000000"), SlotLimit{.most = 1'000'000});
  for (const auto* wrong : {"", "lots", "-1", "1.5", "1000001", "99999999999999999999", "auto 5"})
    EXPECT_FALSE(parse_slot_limit(wrong)) << wrong;
}

TEST(SlotLimit, OfSeveralTheStrictestCounts) {
  AgentSlotRules rules;
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
