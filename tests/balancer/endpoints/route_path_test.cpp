#include "balancer/endpoints/endpoints.hpp"

#include <gtest/gtest.h>

#include <string>

namespace karmad {
namespace {

TEST(RoutePath, IsPassedOnIfEveryServerReadsItAlike) {
  for (const auto* path :
       {"/", "/web", "/web/", "/web/a/b.c/..d/...", "/web/a;b=c/d", "/web/%41%20%c3%a9",
        "/web/a.%2e.b", "/web/100%25", "/web/%2541", "/web/.well-known", "/web/~a(b),c:d@e!$&'*+"})
    EXPECT_EQ(trouble_with_path(path), "") << path;
}

TEST(RoutePath, IsRefusedIfItClimbsOrMayBeReadInTwoWays) {
  const struct {
    std::string_view path, trouble;
  } cases[] = {
      {"/web/../admin", ". or .."},
      {"/web/..", ". or .."},
      {"/web/./admin", ". or .."},
      {"/..", ". or .."},
      {"/web/%2e%2E/admin", ". or .."},
      {"/web/.%2e/admin", ". or .."},
      {"/web/..;/admin", ". or .."},
      {"/web/..;a=b/admin", ". or .."},
      {"/web/.;/admin", ". or .."},
      {"/web/%2e%2e%3b/admin", ". or .."},
      {"/web/..%2fadmin", "encoded slash"},
      {"/web/a%2Fb", "encoded slash"},
      {"/web/..\\admin", "backslash"},
      {"/web/..%5cadmin", "backslash"},
      {"/web//admin", "empty segment"},
      {"//admin", "empty segment"},
      {"/web/a%00", "control character"},
      {"/web/a%0d%0ab", "control character"},
      {"/web/a%7f", "control character"},
      {"/web/%c0%ae%c0%ae/admin", "UTF-8"},
      {"/web/%c1%9cadmin", "UTF-8"},
      {"/web/%252e%252e/admin", "encoded twice"},
      {"/web/..%252fadmin", "encoded twice"},
      {"/web/..%255cadmin", "encoded twice"},
      {"/web/%25252e/admin", "encoded twice"},
      {"/web/a%2500", "encoded twice"},
      {"/web/..%253b/admin", "encoded twice"},
      {"/web/%%32%65/admin", "without two hexadecimal digits"},
      {"/web/a%", "without two hexadecimal digits"},
      {"/web/a%4", "without two hexadecimal digits"},
      {"/web/a%4/b", "without two hexadecimal digits"},
      {"/web/a%u002e", "without two hexadecimal digits"},
  };
  for (const auto& c : cases)
    EXPECT_NE(trouble_with_path(c.path).find(c.trouble), std::string_view::npos)
        << c.path << ": " << trouble_with_path(c.path);
}

}  // namespace
}  // namespace karmad
