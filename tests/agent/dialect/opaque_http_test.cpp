#include "agent/dialect/kinds/dialects.hpp"
#include "agent/dialect/plan/plan.hpp"

#include <gtest/gtest.h>

namespace karmad {
namespace {

std::unique_ptr<Dialect> dialect(std::string route, std::optional<std::string> path = {},
                                 std::vector<std::string> reads = {}) {
  return make_opaque_http({"t", std::move(route), std::move(path), std::move(reads)});
}

TEST(OpaqueHttp, ARouteCoversItselfAndWhatIsBelowIt) {
  const struct {
    std::string_view route;
    std::string_view path;
    bool covers;
  } cases[] = {
      {"/x", "/x", true},      {"/x", "/x/", true},   {"/x", "/x/y/z", true},
      {"/x", "/xy", false},    {"/x", "/", false},    {"/x", "/y/x", false},
      {"/x", "/X", false},     {"/x/", "/x/", true},  {"/x/", "/x/y", true},
      {"/x/", "/x", false},    {"/", "/", true},      {"/", "/any/thing", true},
      {"/x/y", "/x", false},   {"/x", "/x.y", false}, {"/x", "/x;y", false},
      {"/x", "/x%2fy", false},
  };
  for (const auto& c : cases)
    EXPECT_EQ(route_covers(c.route, c.path), c.covers) << c.route << " " << c.path;
}

TEST(OpaqueHttp, PassesMethodsThatItKnowsOrThatTheTableAllows) {
  const auto any =
      make_opaque_http({.table = "t", .route = "/x", .path = {}, .reads = {}, .any_method = true});
  const struct {
    std::string_view method;
    int known;  // status; 0: passed on
    int all;
  } cases[] = {{"GET", 0, 0},      {"REPORT", 0, 0},          {"PROPFIND", 0, 0},
               {"ACL", 0, 0},      {"VERSION-CONTROL", 0, 0}, {"PURGE", 501, 0},
               {"get", 501, 0},    {"FOO", 501, 0},           {"ACLS", 501, 0},
               {"TRACE", 501, 501}};
  for (const auto& c : cases) {
    const auto status = [&](const Dialect& of) {
      const auto parsed = of.parse({c.method, "/x", "", "", ""});
      return parsed ? 0 : parsed.error().status;
    };
    EXPECT_EQ(status(*dialect("/x")), c.known) << c.method;
    EXPECT_EQ(status(*any), c.all) << c.method;
  }
}

TEST(OpaqueHttp, KeepsThePathOrReplacesThePrefix) {
  const struct {
    std::string route;
    std::optional<std::string> replacement;
    std::string_view path;
    std::string_view query;
    std::string_view target;
  } cases[] = {
      {"/x", {}, "/x/y", "a=b", "/x/y?a=b"},
      {"/x", {}, "/x", "", "/x"},
      {"/", {}, "/", "", "/"},
      {"/x", "/", "/x/y", "a", "/y?a"},
      {"/x", "/", "/x", "", "/"},
      {"/x", "/", "/x/", "", "/"},
      {"/x", "/in/core", "/x/y", "", "/in/core/y"},
      {"/x", "/in/core", "/x", "q", "/in/core?q"},
      {"/x", "/in/core/", "/x/y", "", "/in/core/y"},
      {"/x/", "/in", "/x/y", "", "/in/y"},
      {"/", "/in", "/y", "", "/in/y"},
      {"/", "/in", "/", "", "/in"},
      {"/x", {}, "/x//y/../%2e", "a=%20&b=?", "/x//y/../%2e?a=%20&b=?"},
  };
  std::string buffer = "left from before";
  for (const auto& c : cases) {
    SCOPED_TRACE(c.path);
    const auto written = dialect(c.route, c.replacement)
                             ->write({"PATCH", c.path, c.query, "a/b", "body"}, {}, {}, buffer);
    if (c.path == "/" && c.replacement) {
      EXPECT_TRUE(written.target == "/in" || written.target == "/in/") << written.target;
    } else {
      EXPECT_EQ(written.target, c.target);
    }
    EXPECT_EQ(written.method, "PATCH");
    EXPECT_EQ(written.content_type, "a/b");
    EXPECT_EQ(written.body, "body");
  }
}

TEST(OpaqueHttp, KnowsWhatMayRunTwice) {
  const auto some = dialect("/x", {}, {"/x/find", "/x/views/*", "/x/_*"});
  const struct {
    std::string_view method;
    std::string_view path;
    bool read;
  } cases[] = {
      {"GET", "/x/any", true},      {"HEAD", "/x/any", true},    {"POST", "/x/any", false},
      {"POST", "/x/find", true},    {"POST", "/x/find/", false}, {"POST", "/x/finder", false},
      {"POST", "/x/views/", true},  {"POST", "/x/views", false}, {"POST", "/x/views/a/b", true},
      {"POST", "/x/_search", true}, {"PUT", "/x/any", false},    {"DELETE", "/x/any", false},
      {"PATCH", "/x/any", false},   {"MKCOL", "/x/any", false},  {"OPTIONS", "/x/any", true},
  };
  for (const auto& c : cases) {
    const auto parsed = some->parse({c.method, c.path, "", "", ""});
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->table, "t");
    EXPECT_EQ(parsed->read, c.read) << c.method << " " << c.path;
  }
}

TEST(OpaqueHttp, JudgesByTheStatusAlone) {
  const auto any = dialect("/");
  for (const int status : {200, 201, 204, 206, 301, 304})
    EXPECT_EQ(any->judge({status, "", "garbage"}, false).outcome, Outcome::answered) << status;
  for (const int status : {400, 401, 403, 404, 409, 410, 422})
    EXPECT_EQ(any->judge({status, "", ""}, false).outcome, Outcome::client_mistake) << status;
  for (const int status : {408, 429, 500, 501, 502, 503, 504, 599}) {
    const auto judged = any->judge({status, "", ""}, false);
    EXPECT_EQ(judged.outcome, Outcome::agent_error) << status;
    EXPECT_TRUE(judged.message.find(std::to_string(status)) != std::string::npos);
  }
}

TEST(OpaqueHttp, RefusesInJsonAndCannotBeMerged) {
  const auto any = dialect("/");
  std::string out;
  any->refuse(502, "no \"mirror\"\n", out);
  EXPECT_EQ(out, R"({"error":"no \"mirror\"\n","status":502})");
  const auto plan = any->plan({}, {}, 2);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().status, 501);
}

}  // namespace
}  // namespace karmad
