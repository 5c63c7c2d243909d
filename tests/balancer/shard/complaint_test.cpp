#include "balancer/shard/complaints.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "balancer/rules/agreed_errors.hpp"

namespace karmad {
namespace {

using namespace std::chrono_literals;

TEST(Complaint, IsComparedWithoutTheMirrorsOwnNames) {
  const std::vector<std::string> tables{"t1", "t1_old"};
  EXPECT_EQ(comparable(500, "table t1: agent a:1: t1_old, t11, `t1`", tables, "a:1"),
            "500: table <table>: agent <agent>: <table>, t11, `<table>`");
  EXPECT_EQ(comparable(500, "table t1", {}, {}), "500: table t1");
  EXPECT_EQ(comparable(500, "", tables, "a:1"), "500: ");
  // Numbers and status count.
  EXPECT_NE(comparable(500, "row 1", {}, {}), comparable(500, "row 2", {}, {}));
  EXPECT_NE(comparable(500, "row 1", {}, {}), comparable(501, "row 1", {}, {}));
}

TEST(QueryIsAtFault, WhenTwoMirrorsAgreeAndNoneIsLeftThatMayAnswer) {
  EXPECT_FALSE(query_is_at_fault({.alike = 1}));
  EXPECT_FALSE(query_is_at_fault({.alike = 1, .proven = 1}));
  EXPECT_TRUE(query_is_at_fault({.alike = 2}));
  EXPECT_FALSE(query_is_at_fault({.alike = 2, .proven_left = true}));
  EXPECT_FALSE(query_is_at_fault({.alike = 2, .unknown_left = true}));
  // Seven of eight that never answered anything prove nothing while the eighth is left.
  EXPECT_FALSE(query_is_at_fault({.alike = 7, .proven = 0, .unknown_left = true, .known = true}));
}

TEST(QueryIsAtFault, WhenEnoughMirrorsThatWorkSaySo) {
  EXPECT_FALSE(query_is_at_fault({.alike = 2, .proven = 2, .proven_left = true}));
  EXPECT_TRUE(query_is_at_fault({.alike = 3, .proven = 3, .proven_left = true}));
  EXPECT_FALSE(query_is_at_fault({.alike = 3, .proven = 2, .proven_left = true}));
  // … and fewer where mirrors agreed on the text lately.
  EXPECT_TRUE(query_is_at_fault({.alike = 2, .proven = 2, .proven_left = true, .known = true}));
  EXPECT_FALSE(query_is_at_fault({.alike = 2, .proven = 1, .proven_left = true, .known = true}));
}

TEST(QueryIsAtFault, ByAKnownTextAloneWhereNoOtherMirrorIsKnownToWork) {
  EXPECT_TRUE(query_is_at_fault({.alike = 1, .unknown_left = true, .known = true}));
  EXPECT_FALSE(query_is_at_fault({.alike = 1, .proven_left = true, .known = true}));
  EXPECT_FALSE(query_is_at_fault({.alike = 1, .known = true, .one_shard = false}));
}

TEST(AgreedErrors, AreKnownForTenMinutesUnlessRefuted) {
  AgreedErrors agreed;
  const TimePoint t0{1h};
  EXPECT_FALSE(agreed.knows("a", t0));
  agreed.agreed("a", t0);
  EXPECT_TRUE(agreed.knows("a", t0));
  EXPECT_FALSE(agreed.knows("b", t0));
  EXPECT_TRUE(agreed.knows("a", t0 + AgreedErrors::kRemembered - 1us));
  EXPECT_FALSE(agreed.knows("a", t0 + AgreedErrors::kRemembered));
  agreed.agreed("a", t0 + 1h);
  agreed.refuted("b");
  EXPECT_TRUE(agreed.knows("a", t0 + 1h));
  agreed.refuted("a");
  EXPECT_FALSE(agreed.knows("a", t0 + 1h));
}

TEST(AgreedErrors, AreALineOnceAMinuteEachAndOnceASecondInAll) {
  AgreedErrors agreed;
  const TimePoint t0{1h};
  EXPECT_EQ(agreed.agreed("a", t0), std::optional<std::uint64_t>(0));
  EXPECT_EQ(agreed.agreed("a", t0 + 2s), std::nullopt);
  EXPECT_EQ(agreed.agreed("b", t0 + 500ms), std::nullopt);
  EXPECT_EQ(agreed.agreed("b", t0 + 3s), std::optional<std::uint64_t>(2));
  EXPECT_EQ(agreed.agreed("a", t0 + 60s), std::optional<std::uint64_t>(0));
}

TEST(AgreedErrors, ForgetTheOldestOfTooMany) {
  AgreedErrors agreed;
  const TimePoint t0{1h};
  for (std::size_t i = 0; i <= AgreedErrors::kMost; ++i)
    agreed.agreed(std::to_string(i), t0 + Micros(i));
  EXPECT_FALSE(agreed.knows("0", t0 + 1s));
  for (std::size_t i = 1; i <= AgreedErrors::kMost; ++i)
    EXPECT_TRUE(agreed.knows(std::to_string(i), t0 + 1s)) << i;
}

}  // namespace
}  // namespace karmad
