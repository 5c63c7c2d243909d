#include "agent/dialect/kinds/dialect_kind.hpp"

#include <gtest/gtest.h>

#include <set>

#include "config/check.hpp"
#include "tests/config/written.hpp"

namespace karmad {
namespace {

/// Loads `text` as the file c; what goes with a dialect is judged, too.
Loaded judged(std::string text) {
  return load("c", world({{"c", std::move(text)}}), FileKind::any,
              [](const Settings& settings, Problems& problems, Problems& notices) {
                judge_dialects(settings, dialects(), problems, notices);
              });
}

Lines judged_problems(std::string text) {
  return lines(judged(std::move(text)).problems);
}

TEST(JudgeDialects, WantsOneShardAndARoute) {
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
      {" dialect = http\n route = /x\n upgrades = yes\n agent = a:1", {}},
      {" upgrades = no\n agent = a:1", {}},
      {" upgrades = yes\n agent = a:1",
       {"c:3:13: upgrades needs dialect = http, and table 't' has dialect = manticore"}},
      {" dialect = http\n route = /x\n upgrades = often\n agent = a:1",
       {"c:5:13: upgrades: 'often' is neither 0 nor 1"}},
      {" route = /x\n reads = /y\n agent = a:1",
       {"c:3:10: route needs dialect = http, and table 't' has dialect = manticore",
        "c:4:10: reads needs dialect = http, and table 't' has dialect = manticore"}},
  };
  for (const auto& c : cases) EXPECT_EQ(judged_problems(table(c.body)), c.problems) << c.body;
}

TEST(JudgeDialects, NamesTheTableThatInheritsWhatItsDialectDoesNotHave) {
  EXPECT_EQ(judged_problems(table(" dialect = http\n route = /x\n methods = any\n agent = a:1") +
                            "table u : t {\n dialect = manticore\n}\n"),
            (Lines{"c:4:10: route needs dialect = http, and table 'u' has dialect = manticore",
                   "c:5:12: methods needs dialect = http, and table 'u' has dialect = manticore"}));
}

TEST(JudgeDialects, RefusesReadsThatMatchNothing) {
  struct {
    const char* reads;
    Lines problems;
  } const cases[] = {
      {"/x/find, /x/views/*, /x, /x*, /*, *",
       {"c:5:10: reads is not a path that begins with '/': "
        "'*'"}},
      {"/*/_search",
       {"c:5:10: reads: '/*/_search' matches nothing: '*' may only be the last character, as in "
        "'/*'"}},
      {"/x/*/find*",
       {"c:5:10: reads: '/x/*/find*' matches nothing: '*' may only be the last character, as in "
        "'/x/*'"}},
      {"/y/find",
       {"c:5:10: reads: '/y/find' matches nothing: the table gets only paths below its route "
        "'/x'"}},
      {"/xy/*",
       {"c:5:10: reads: '/xy/*' matches nothing: the table gets only paths below its route '/x'"}},
  };
  for (const auto& c : cases)
    EXPECT_EQ(judged_problems(table(std::string(" dialect = http\n route = /x\n reads = ") +
                                    c.reads + "\n agent = a:1")),
              c.problems)
        << c.reads;
}

/// The update that the warning about `reads` names; empty: there is no warning.
std::string warned_of(const std::string& route, const std::string& reads) {
  const auto loaded = judged(
      table(" dialect = http\n route = " + route + "\n reads = " + reads + "\n agent = a:1"));
  EXPECT_EQ(lines(loaded.problems), Lines{}) << reads;
  if (!loaded.settings || loaded.settings->notices.empty()) return {};
  const auto& notices = loaded.settings->notices;
  EXPECT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0].severity, Problem::Severity::warning);
  const std::string_view message = notices[0].message;
  const auto begin = message.find("POST ") + 5;
  return std::string(message.substr(begin, message.find(',', begin) - begin));
}

TEST(JudgeDialects, WarnsOfReadsThatCoverUpdates) {  // BP-010
  const struct {
    const char* route;
    const char* reads;
    const char* update;
  } cases[] = {
      {"/solr", "/solr/*", "/solr/{core}/update"},
      {"/solr", "/solr/books/*", "/solr/{core}/update"},
      {"/solr", "/solr/books/up*", "/solr/{core}/update"},
      {"/solr", "/solr/books/update", "/solr/{core}/update"},
      {"/solr", "/solr/books/update/json", "/solr/{core}/update"},
      {"/solr", "/solr*", "/solr/{core}/update"},
      {"/", "/*", "/solr/{core}/update"},
      {"/find\n path = /solr/books", "/find/*", "/solr/{core}/update"},
      {"/find/\n path = /", "/find/*", "/solr/{core}/update"},
      {"/logs", "/logs/*", "/{index}/_doc"},
      {"/logs", "/logs/_doc/1", "/{index}/_doc"},
      {"/logs", "/logs/_delete*", "/{index}/_delete_by_query"},
      {"/", "/_b*", "/_bulk"},
      {"/", "/_re*", "/_reindex"},
      {"/solr", "/solr/books/select, /solr/books/query", ""},
      {"/solr", "/solr/books/select*", ""},
      {"/solr", "/solr/books/query/*", ""},
      {"/logs", "/logs/_search, /logs/_count, /logs/_msearch", ""},
      {"/logs", "/logs/_search*, /logs/_search/*", ""},
      {"/", "/_search/*, /_msearch", ""},
      {"/web", "/web/find, /web/views/*", ""},
      {"/solr\n path = /", "/solr/find/*", "/{index}/_doc"},
  };
  for (const auto& c : cases) EXPECT_EQ(warned_of(c.route, c.reads), c.update) << c.reads;
}

TEST(JudgeDialects, RefusesARouteThatIsTaken) {
  EXPECT_EQ(judged_problems(
                "table a {\n type = distributed\n dialect = http\n route = /x\n agent = a:1\n}\n"
                "table b : a {\n route = /x/\n}\ntable c : a {\n route = /xy\n}"),
            Lines{"c:8:10: the route '/x/' is already used in c:4:10"});
  EXPECT_EQ(judged_problems("table a {\n type = distributed\n dialect = http\n route = /x\n "
                            "agent = a:1\n}\ntable b : a {\n}\n"),
            Lines{"c:7:1: the route '/x' is already used in c:4:10"})
      << "the table that inherits it";
}

TEST(JudgeDialects, NamesAPathWithoutEffect) {
  const auto loaded = judged(table(" agent = a:1\n path = /p"));
  ASSERT_TRUE(loaded.settings);
  EXPECT_EQ(lines(loaded.settings->notices),
            Lines{"c:4:9: path is ignored: only dialect = http uses it"});
}

TEST(JudgeDialects, ListsThoseThereAreWhenATableNamesAnother) {
  TableSettings named;
  named.dialect = {"smtp", {}};
  Problems problems;
  EXPECT_EQ(dialect_of(named, dialects(), problems), nullptr);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].message, "dialect 'smtp' is unknown; known are manticore and http");
  named.dialect = {"http", {}};
  EXPECT_EQ(dialect_of(named, dialects(), problems)->name, "http");
  EXPECT_EQ(problems.size(), 1u);
}

TEST(Dialects, HaveNamesAndPathsOfTheirOwn) {
  std::set<std::string_view> names;
  std::set<std::string_view> paths;
  for (const auto* kind : dialects()) {
    EXPECT_TRUE(names.insert(kind->name).second) << kind->name;
    EXPECT_TRUE(kind->is_routed() || !kind->endpoints.empty()) << kind->name;
    for (const auto& endpoint : kind->endpoints) {
      EXPECT_TRUE(paths.insert(endpoint.path).second) << endpoint.path;
      EXPECT_TRUE(is_path(endpoint.path)) << endpoint.path;
      EXPECT_NE(endpoint.make, nullptr) << endpoint.path;
    }
  }
  EXPECT_TRUE(names.contains(TableSettings().dialect.value)) << "the default of tables";
}

}  // namespace
}  // namespace karmad
