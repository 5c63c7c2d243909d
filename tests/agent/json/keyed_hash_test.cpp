#include "agent/json/keyed_hash.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace karmad {
namespace {

TEST(KeyedHash, DependsOnEachByteAndOnTheLengthAlone) {
  for (std::size_t size = 0; size <= 50; ++size) {
    const std::string text(size, 'a');
    const auto hash = KeyedHash{}(text);
    EXPECT_EQ(KeyedHash{}(std::string(text)), hash);
    EXPECT_NE(KeyedHash{}(text + 'a'), hash) << size;
    EXPECT_NE(KeyedHash{}(text + '\0'), hash) << size;
    for (std::size_t at = 0; at < size; ++at) {
      auto other = text;
      other[at] = 'b';
      EXPECT_NE(KeyedHash{}(other), hash) << size << ", " << at;
    }
  }
}

/// Pairs of ids in one of 2^13 slots; random ones have 1024 (standard deviation 32).
TEST(KeyedHash, SpreadsIdsThatFollowOneAnother) {
  constexpr std::size_t kSlots = 1 << 13;
  for (const std::string before : {"", "17", "\"a1b2c3d4-", "a-prefix-of-more-than-16-bytes-"}) {
    std::vector<std::size_t> in_slot(kSlots);
    std::size_t pairs = 0;
    for (std::size_t i = 0; i < 4096; ++i)
      pairs += in_slot[KeyedHash{}(before + std::to_string(i)) & (kSlots - 1)]++;
    EXPECT_LT(pairs, 1400) << before;
  }
}

}  // namespace
}  // namespace karmad
