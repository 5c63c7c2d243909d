#include "agent/dialect/rows/sort_value.hpp"

#include <gtest/gtest.h>

namespace karmad {
namespace {

// From the lowest to the highest; equals in one line.
constexpr std::string_view kOrdered[][3] = {
    {"null", "[]", "{}"},
    {"-1e999"},
    {"-1.5e300"},
    {"-18446744073709551616", "-18446744073709551616.0"},
    {"-18446744073709551615"},
    {"-9223372036854775808"},
    {"-9007199254740993"},
    {"-9007199254740992", "-9007199254740992.0"},
    {"-1"},
    {"-0.5", "-5e-1"},
    {"0", "-0", "-0.0"},
    {"1e-300"},
    {"0.25"},
    {"1", "true", "1.0"},
    {"9007199254740992"},
    {"9007199254740993"},
    {"999999999999999999"},
    {"9999999999999999999"},
    {"18446744073709551615"},
    {"18446744073709551616"},
    {"1e999"},
    {R"("")"},
    {R"("A")"},
    {R"("b")"},
};

TEST(SortValue, OrdersMissingNumbersAndTextsAndItsRankNeverContradicts) {
  const auto size = std::size(kOrdered);
  for (std::size_t i = 0; i < size; ++i)
    for (const auto a : kOrdered[i])
      for (std::size_t j = 0; j < size; ++j)
        for (const auto b : kOrdered[j]) {
          if (a.empty() || b.empty()) continue;
          const auto x = sort_value(a);
          const auto y = sort_value(b);
          EXPECT_EQ(compare(x, y, Collation::libc_ci), i <=> j) << a << " and " << b;
          if (rank(x) != rank(y)) {
            EXPECT_EQ(rank(x) <=> rank(y), i <=> j) << a << " and " << b;
          }
        }
}

TEST(SortValue, HasARankThatDistinguishesCommonValues) {
  EXPECT_LT(rank(sort_value("null")), rank(sort_value("-5")));
  EXPECT_LT(rank(sort_value("-5")), rank(sort_value("-4.5")));
  EXPECT_LT(rank(sort_value("1700007200")), rank(sort_value("1700007201")));
  EXPECT_LT(rank(sort_value("1e999")), rank(sort_value(R"("")")));
}

// Inside of a JSON attribute.
TEST(JsonSortValue, OrdersEverythingAsText) {
  constexpr std::string_view ordered[][6] = {
      {"", "null", "true", "[1]", "{}", R"("")"},
      {"-5"},
      {"10"},
      {"10.5", "10.500000"},
      {"11", R"("11")"},
      {"50"},
      {"6.000000"},
      {"9"},
      {"99999999999999999999999.5"},
      {R"("Red")", R"("red")"},
  };
  for (std::size_t i = 0; i < std::size(ordered); ++i)
    for (const auto a : ordered[i])
      for (std::size_t j = 0; j < std::size(ordered); ++j)
        for (const auto b : ordered[j]) {
          if ((a.empty() && i != 0) || (b.empty() && j != 0)) continue;
          SortText of_a;
          SortText of_b;
          const auto x = json_sort_value(a, of_a);
          const auto y = json_sort_value(b, of_b);
          EXPECT_EQ(compare(x, y, Collation::libc_ci), i <=> j) << a << " and " << b;
          EXPECT_EQ(rank(x), rank(y)) << "it would say nothing of the order";
        }
}

}  // namespace
}  // namespace karmad
