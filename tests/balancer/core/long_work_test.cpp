#include "balancer/core/long_work.hpp"

#include <gtest/gtest.h>

namespace karmad {
namespace {

constexpr std::size_t kLimit = 256 << 10;

TEST(LongWork, IsWhatIsBeyondTheSizeByItsWeight) {
  const struct {
    std::size_t bytes;
    unsigned weight;
    bool is_long;
  } cases[] = {
      {0, 1, false},           {kLimit, 1, false},        {kLimit + 1, 1, true},
      {kLimit / 5, 5, false},  {kLimit / 5 + 1, 5, true}, {1, 1000, false},
      {1000, 1'000'000, true},
  };
  for (const auto& c : cases)
    EXPECT_EQ(is_long(c.bytes, c.weight, kLimit), c.is_long) << c.bytes << " " << c.weight;
}

}  // namespace
}  // namespace karmad
