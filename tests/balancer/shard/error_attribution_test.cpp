#include "balancer/shard/error_attributions.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace karmad {
namespace {

TEST(ErrorAttribution, IsComparedWithoutTheMirrorsOwnNames) {
  const std::vector<std::string> tables{"t1", "t1_old"};
  EXPECT_EQ(comparable(500, "table t1: agent a:1: t1_old, t11, `t1`", tables, "a:1"),
            "500: table <table>: agent <agent>: <table>, t11, `<table>`");
  EXPECT_EQ(comparable(500, "table t1", {}, {}), "500: table t1");
  EXPECT_EQ(comparable(500, "", tables, "a:1"), "500: ");
  // Numbers and status count.
  EXPECT_NE(comparable(500, "row 1", {}, {}), comparable(500, "row 2", {}, {}));
  EXPECT_NE(comparable(500, "row 1", {}, {}), comparable(501, "row 1", {}, {}));
}

}  // namespace
}  // namespace karmad
