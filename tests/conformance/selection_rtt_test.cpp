#include <gtest/gtest.h>

#include "agent/health/state.hpp"
#include "tests/conformance/selection_picture.hpp"

namespace karmad::conformance {
namespace {

class Rtt : public ::testing::TestWithParam<DataFile> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Rtt);
INSTANTIATE_TEST_SUITE_P(, Rtt, ::testing::ValuesIn(files_below("server-selection/tests/rtt")),
                         by_name);

TEST_P(Rtt, MovesAsTheFileSays) {  // SS-152, SS-153
  const auto file = read(GetParam(), {"avg_rtt_ms", "new_rtt_ms", "new_avg_rtt"});
  RoundTrips trips;
  const auto& before = required(file, "avg_rtt_ms");
  if (before.IsString())
    ASSERT_EQ(text(before), "NULL");
  else
    ASSERT_TRUE(trips.add(micros(number(before))));  // the first measurement is the average

  ASSERT_TRUE(trips.add(micros(number(required(file, "new_rtt_ms")))));

  const auto expected = number(required(file, "new_avg_rtt")) * 1000;
  ASSERT_TRUE(trips.average());
  EXPECT_NEAR(*trips.average(), expected, expected * 1e-9);
}

}  // namespace
}  // namespace karmad::conformance
