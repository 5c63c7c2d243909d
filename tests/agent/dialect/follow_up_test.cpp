#include "agent/dialect/kinds/dialects.hpp"

#include <gtest/gtest.h>

namespace karmad {
namespace {

TEST(FollowUp, IsRecognizedByTheMethodAndTheEndOfThePath) {
  const struct {
    std::string_view method;
    std::string_view path;
    bool is;
  } cases[] = {
      {"GET", "/_search/scroll", true},
      {"HEAD", "/_search/scroll", true},
      {"POST", "/_search/scroll", true},
      {"DELETE", "/_search/scroll", true},
      {"DELETE", "/es/_search/scroll/", true},
      {"GET", "/_search/scroll/DXF1ZXJ5", true},
      {"DELETE", "/_search/scroll/_all", true},
      {"PUT", "/_search/scroll", false},
      {"POST", "/logs/_search", false},
      {"GET", "/scroll", false},
      {"GET", "/my_search/scroll", false},
      {"GET", "/_search/scroll/a/b", false},
      {"DELETE", "/_pit", true},
      {"POST", "/logs/_pit", false},
      {"DELETE", "/_search/point_in_time", true},
      {"DELETE", "/_search/point_in_time/_all", true},
      {"POST", "/logs/_search/point_in_time", false},
      {"GET", "/_async_search/FmRldE8zREVE", true},
      {"DELETE", "/_async_search/FmRldE8zREVE", true},
      {"GET", "/_async_search/status/FmRldE8zREVE", true},
      {"POST", "/logs/_async_search", false},
      {"GET", "/_plugins/_asynchronous_search/Fm", true},
      {"GET", "/_tasks/oTUltX4IQMOUUVeiohTt8A:12345", true},
      {"GET", "/_tasks", false},
      {"POST", "/_tasks/oTUltX4IQMOUUVeiohTt8A:12345/_cancel", true},
      {"POST", "/_tasks/_cancel", true},
      {"POST", "/_sql/close", true},
      {"POST", "/_plugins/_sql/close", true},
      {"POST", "/_sql", false},
      {"GET", "/_sql/async/Fm", true},
      {"DELETE", "/_sql/async/delete/Fm", true},
      {"GET", "/_query/async/Fm", true},
      {"POST", "/_query/async/Fm/stop", true},
      {"GET", "/_eql/search/Fm", true},
      {"POST", "/logs/_eql/search", false},
      {"GET", "/d/request_cancel", true},
      {"GET", "/", false},
      {"GET", "", false},
      {"GET", "//", false},
  };
  for (const auto& c : cases) EXPECT_EQ(is_follow_up(c.method, c.path), c.is) << c.method << c.path;
}

TEST(FollowUp, GoesWhereReadsGo) {
  const auto dialect = make_opaque_http({.table = "t", .route = "/"});
  const auto parsed = [&](std::string_view method, std::string_view path) {
    return *dialect->parse({.method = method, .path = path});
  };
  EXPECT_TRUE(parsed("DELETE", "/_search/scroll").follow_up);
  EXPECT_TRUE(parsed("DELETE", "/_search/scroll").read);
  EXPECT_FALSE(parsed("DELETE", "/logs/_doc/1").follow_up);
  EXPECT_FALSE(parsed("DELETE", "/logs/_doc/1").read);
  EXPECT_FALSE(parsed("GET", "/logs/_search").follow_up);
}

}  // namespace
}  // namespace karmad
