#include <gtest/gtest.h>

#include "agent/dialect/kinds/dialect_kind.hpp"

namespace karmad {
namespace {

TEST(PathPattern, ASegmentInBracesStandsForAnySegment) {
  constexpr std::string_view kUpdate = "/{table}/_update/{id}";
  EXPECT_TRUE(is_pattern(kUpdate));
  EXPECT_FALSE(is_pattern("/search"));
  EXPECT_TRUE(matches_pattern(kUpdate, "/a/_update/7"));
  for (const auto* other : {"/a/_update", "/a/_update/", "/a/_update/7/8", "//_update/7",
                            "/a/_updates/7", "a/_update/7", "", "/"})
    EXPECT_FALSE(matches_pattern(kUpdate, other)) << other;
  EXPECT_EQ(pattern_segment(kUpdate, "/a/_update/7", "{id}"), "7");
  EXPECT_EQ(pattern_segment(kUpdate, "/a/_update/7", kTableSegment), "a");
  EXPECT_EQ(pattern_segment("/pq/{table}/search", "/pq/p/search", kTableSegment), "p");
  EXPECT_EQ(pattern_segment("/_search", "/_search", kTableSegment), "");
}

TEST(PathPattern, TablesOfASegmentAreDecodedAndChecked) {
  EXPECT_EQ(decoded_tables("a%2Cb"), "a,b");
  EXPECT_EQ(decoded_tables("logs-*"), "logs-*");
  for (const auto* hostile : {"", "a%", "a%2", "a%zz", "a%2fb", "a%00", "a%0a", "a b", "a%20b",
                              "a'b", "a\"b", "a`b", "a\\b", "a%252Cb"})
    EXPECT_FALSE(decoded_tables(hostile)) << hostile;
  EXPECT_FALSE(decoded_tables(std::string(kMaxTableSegment + 1, 'a')));
}

TEST(PathPattern, AMirrorGetsItsOwnNamesInThePath) {
  ClientRequest request{.method = "POST", .path = "/pq/a%2Cb/search", .query = "x=1"};
  request.path_table_raw = request.path.substr(4, 5);
  request.path_table = "a,b";
  const std::vector<std::string> tables{"t1", "t/2"};
  std::string buffer;
  const auto written = write_request(
      request, buffer, [] {}, tables);
  EXPECT_EQ(written.target, "/pq/t1,t%2F2/search?x=1");
  EXPECT_EQ(write_request(request, buffer, [] {}).target, "/pq/a%2Cb/search?x=1");
}

}  // namespace
}  // namespace karmad
