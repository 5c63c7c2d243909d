// Which cells fulfil a condition of HAVING.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "agent/dialect/merge/merged_rows.hpp"

namespace karmad::having_tests {
namespace {

bool at_least(std::string_view cell, std::string value) {
  const RowCondition condition{
      .is = RowCondition::Is::at_least, .negated = false, .values = {std::move(value)}};
  return Having(condition, Collation::libc_ci).holds(cell);
}

TEST(Having, ComparesNumbersOnlyWithTextsThatAreFiniteNumbers) {
  EXPECT_TRUE(at_least("5", "5"));
  EXPECT_TRUE(at_least("5", "-1.5e1"));
  EXPECT_TRUE(at_least("5", ".5"));
  EXPECT_FALSE(at_least("5", "5.5"));
  EXPECT_FALSE(at_least("18446744073709551614", "18446744073709551615"));
  for (const auto* no_number : {"", "-", "nan", "inf", "-inf", "-1e999", "4x", "+4", "0x4", " 4"})
    EXPECT_FALSE(at_least("5", no_number)) << no_number;
}

TEST(Having, ComparesStringsAsTexts) {
  EXPECT_TRUE(at_least("\"inf\"", "INF"));
  EXPECT_FALSE(at_least("\"10\"", "9"));
  EXPECT_FALSE(at_least("null", "0"));
}

}  // namespace
}  // namespace karmad::having_tests
