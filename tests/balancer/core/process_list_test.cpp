#include "balancer/core/process_list.hpp"

#include <gtest/gtest.h>

namespace karmad {
namespace {

TEST(ProcessList, HasTheConnectionsOfOneOwnerOrOfAll) {
  ProcessList of_ann{.owner = ClientOwner{"ann", "10.0.0.1"}};
  EXPECT_TRUE(of_ann.has_room_for({"ann", "10.0.0.1"}));
  EXPECT_FALSE(of_ann.has_room_for({"ann", "10.0.0.2"}));
  EXPECT_FALSE(of_ann.has_room_for({"bob", "10.0.0.1"}));
  ProcessList of_all;
  EXPECT_TRUE(of_all.has_room_for({"ann", ""}));
  EXPECT_EQ(of_ann.left_out + of_all.left_out, 0U);
}

TEST(ProcessList, IsBoundedAndCountsWhatItLeavesOut) {
  ProcessList many;
  for (std::size_t i = 0; i < ProcessList::kMost + 3; ++i)
    if (many.has_room_for({})) many.add({.connection = i});
  EXPECT_EQ(many.processes.size(), ProcessList::kMost);
  EXPECT_EQ(many.left_out, 3U);
  ProcessList long_ones;
  const std::string statement(ProcessList::kLongestStatement, 'x');
  for (std::size_t i = 0; i < 100; ++i)
    if (long_ones.has_room_for({})) long_ones.add({.statement = statement});
  EXPECT_EQ(long_ones.processes.size(), ProcessList::kMostBytes / statement.size());
  EXPECT_EQ(long_ones.left_out, 100 - long_ones.processes.size());
}

}  // namespace
}  // namespace karmad
