#include "strategies/candidates.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/strategies/builders.hpp"

namespace karmad {
namespace {

using testing::set_of;

TEST(Candidates, FirstHoldsThePositionsBelowN) {
  EXPECT_TRUE(Candidates::first(0).empty());
  EXPECT_EQ(Candidates::first(3), set_of({0, 1, 2}));
  EXPECT_EQ(Candidates::first(64).size(), 64U);
  EXPECT_TRUE(Candidates::first(64).contains(63));
}

TEST(Candidates, AreVisitedInAscendingOrder) {
  const auto candidates = set_of({63, 0, 17, 5});
  EXPECT_EQ(std::vector<std::size_t>(candidates.begin(), candidates.end()),
            (std::vector<std::size_t>{0, 5, 17, 63}));
}

TEST(Candidates, NthCountsOnlyTheMembers) {
  const auto candidates = set_of({2, 5, 63});
  EXPECT_EQ(candidates.nth(0), 2U);
  EXPECT_EQ(candidates.nth(1), 5U);
  EXPECT_EQ(candidates.nth(2), 63U);
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(Candidates::first(64).nth(i), i);
}

TEST(Candidates, SubtractionLeavesWhatTheOtherSetDoesNotHold) {
  EXPECT_EQ(Candidates::first(4) - set_of({1, 3, 9}), set_of({0, 2}));
  EXPECT_TRUE((Candidates::first(2) - Candidates::first(64)).empty());
}

TEST(Candidates, ContainsIsFalseForPositionsNoSetCanHold) {
  EXPECT_FALSE(Candidates::first(64).contains(64));
  EXPECT_FALSE(set_of({1}).contains(0));
  EXPECT_TRUE(set_of({1}).contains(1));
}

TEST(Candidates, NextFromGoesAroundAtTheEnd) {
  const auto candidates = set_of({1, 3, 63});
  EXPECT_EQ(candidates.next_from(0), 1U);
  EXPECT_EQ(candidates.next_from(1), 1U);
  EXPECT_EQ(candidates.next_from(2), 3U);
  EXPECT_EQ(candidates.next_from(63), 63U);
  EXPECT_EQ(candidates.next_from(64), 1U);
}

TEST(Candidates, CommonOnesAndThoseOfEither) {
  EXPECT_EQ(set_of({0, 1, 63}) & set_of({1, 2, 63}), set_of({1, 63}));
  EXPECT_EQ(set_of({0, 1}) | set_of({1, 63}), set_of({0, 1, 63}));
}

TEST(Candidates, EqualSetsAreEqualHoweverTheyWereMade) {
  EXPECT_EQ(set_of({0, 1}), Candidates::first(2));
  EXPECT_NE(set_of({0, 2}), Candidates::first(2));
}

}  // namespace
}  // namespace karmad
