#include "agent/dialect/replies/judge.hpp"

#include <gtest/gtest.h>

#include <string>

namespace karmad {
namespace {

TEST(Blame, IsUnclearWhereNoPhraseIsKnown) {
  EXPECT_EQ(blame_of("the widget cannot be turned", nullptr), Blame::unclear);
  EXPECT_EQ(blame_of("", nullptr), Blame::unclear);
  EXPECT_EQ(blame_of("Out Of Memory", nullptr), Blame::agent);
  EXPECT_EQ(blame_of("unknown column: x; table b: query timed out", nullptr), Blame::agent);
  EXPECT_EQ(blame_of("table t: P12: what", nullptr), Blame::client);
}

TEST(Blame, PassesOverPhrasesThatTheClientWrote) {
  const struct {
    std::string_view error;
    std::string_view body;
    std::string_view query;
    Blame blame;
  } cases[] = {
      {"unknown option 'out of memory'", R"({"out of memory":1})", "", Blame::client},
      {"unknown option 'out of memory'", R"({"OUT of Memory":1})", "", Blame::client},
      {"unknown option 'out of memory'", R"({"o\u0075t of\tmemory":1})", "", Blame::client},
      {"unknown option 'out of memory'", "", "query=out+of%20memory", Blame::client},
      {"unknown option 'out of memory'", R"({"query":"out","of":"memory"})", "", Blame::agent},
      {"strange: 'got sigterm'", "got sigterm", "", Blame::unclear},
      {"strange: 'syntax error'", "syntax error", "", Blame::unclear},
      {"strange: 'P01:'", "p01:", "", Blame::unclear},
      {"query timed out", R"({"match":"timed out"})", "", Blame::unclear},
      // Escapes that end too early.
      {"out of memory", "\\", "%", Blame::agent},
      {"out of memory", "\\u00", "%2", Blame::agent},
  };
  for (const auto& c : cases) {
    const ClientRequest request{.query = c.query, .body = c.body};
    EXPECT_EQ(blame_of(c.error, &request), c.blame) << c.error << ' ' << c.body << ' ' << c.query;
  }
}

// Its quotes are not looked for; a mistake is still known by its phrase.
TEST(Blame, OfALongRequestIsNotTheMirrorsByAPhraseAlone) {
  const std::string body(1 << 20, 'x');
  const ClientRequest request{.body = body};
  EXPECT_EQ(blame_of("out of memory", &request), Blame::unclear);
  EXPECT_EQ(blame_of("unknown column: x", &request), Blame::client);
}

}  // namespace
}  // namespace karmad
