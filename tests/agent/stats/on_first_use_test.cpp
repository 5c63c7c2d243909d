#include "agent/stats/single_writer.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace karmad {
namespace {

TEST(OnFirstUse, HasNothingForReadersUntilItsWriterUsesIt) {
  std::vector<OnFirstUse<std::string>> parts(2);
  EXPECT_EQ(parts[0].get(), nullptr);
  parts[0].for_writer() = "used";
  ASSERT_NE(parts[0].get(), nullptr);
  EXPECT_EQ(*parts[0].get(), "used");
  EXPECT_EQ(&parts[0].for_writer(), parts[0].get()) << "the same again";
  EXPECT_EQ(parts[1].get(), nullptr);
}

}  // namespace
}  // namespace karmad
