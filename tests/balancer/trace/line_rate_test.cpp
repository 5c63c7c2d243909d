#include "balancer/trace/line_writer.hpp"

#include <gtest/gtest.h>

namespace karmad {
namespace {

using namespace std::chrono_literals;

TEST(LineRate, LetsSoManyPassInASecondAndCountsTheOthers) {
  LineRate rate(2);
  const TimePoint t0{1h};
  EXPECT_EQ(rate.may_write(t0), std::optional<std::uint64_t>(0));
  EXPECT_EQ(rate.may_write(t0), std::optional<std::uint64_t>(0));
  EXPECT_EQ(rate.may_write(t0), std::nullopt);
  EXPECT_EQ(rate.may_write(t0 + 999ms), std::nullopt);
  EXPECT_EQ(rate.may_write(t0 + 1s), std::optional<std::uint64_t>(2));
  EXPECT_EQ(rate.may_write(t0 + 1s), std::optional<std::uint64_t>(0));
  EXPECT_EQ(rate.may_write(t0 + 1s), std::nullopt);
}

}  // namespace
}  // namespace karmad
