#include "config/check.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/config/written.hpp"

namespace karmad {
namespace {

TEST(CheckDialectHttp, WantsOneShardAndARoute) {
  struct {
    const char* body;
    Lines problems;
  } const cases[] = {
      {" dialect = http\n route = /x\n agent = a:1|b:1", {}},
      {" dialect = http\n agent = a:1",
       {"c:1:1: table 't' needs a route = /prefix, as its dialect is http"}},
      {" dialect = http\n route =\n agent = a:1",
       {"c:1:1: table 't' needs a route = /prefix, as its dialect is http",
        "c:4:9: route: a value is missing"}},
      {" dialect = http\n route = x\n agent = a:1",
       {"c:4:10: route is not a path that begins with '/': 'x'"}},
      {" dialect = http\n route = /x?y\n agent = a:1",
       {"c:4:10: route is not a path that begins with '/': '/x?y'"}},
      {" dialect = http\n route = /x\n path = y\n reads = z\n agent = a:1",
       {"c:5:9: path is not a path that begins with '/': 'y'",
        "c:6:10: reads is not a path that begins with '/': 'z'"}},
      {" dialect = http\n route = /x\n agent = a:1\n agent = b:1",
       {"c:6:10: dialect = http cannot merge: table 't' must have one shard, not 2"}},
      {" route = /x\n reads = /y\n agent = a:1",
       {"c:3:10: route needs dialect = http", "c:4:10: reads needs dialect = http"}},
  };
  for (const auto& c : cases) EXPECT_EQ(problems_of(table(c.body)), c.problems) << c.body;
}

TEST(CheckDialectHttp, RefusesReadsThatMatchNothing) {
  struct {
    const char* reads;
    Lines problems;
  } const cases[] = {
      {"/x/find, /x/views/*, /x, /x*, /*, *",
       {"c:5:10: reads is not a path that begins with '/': "
        "'*'"}},
      {"/*/_search",
       {"c:5:10: reads: '/*/_search' matches nothing: '*' stands for the rest of a path, so only "
        "at "
        "its end, as in '/*'"}},
      {"/x/*/find*",
       {"c:5:10: reads: '/x/*/find*' matches nothing: '*' stands for the rest of a path, so only "
        "at "
        "its end, as in '/x/*'"}},
      {"/y/find",
       {"c:5:10: reads: '/y/find' matches nothing: the table gets only paths below its route "
        "'/x'"}},
      {"/xy/*",
       {"c:5:10: reads: '/xy/*' matches nothing: the table gets only paths below its route '/x'"}},
  };
  for (const auto& c : cases)
    EXPECT_EQ(problems_of(table(std::string(" dialect = http\n route = /x\n reads = ") + c.reads +
                                "\n agent = a:1")),
              c.problems)
        << c.reads;
}

TEST(CheckDialectHttp, RefusesARouteThatIsTaken) {
  EXPECT_EQ(
      problems_of("table a {\n type = distributed\n dialect = http\n route = /x\n agent = a:1\n}\n"
                  "table b : a {\n route = /x/\n}\ntable c : a {\n route = /xy\n}"),
      Lines{"c:8:10: the route '/x/' is taken already, in c:4:10"});
}

}  // namespace
}  // namespace karmad
