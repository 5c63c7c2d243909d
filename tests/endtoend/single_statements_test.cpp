// Statements to tables of one and of two shards with demo agents that also have a table which
// karmad does not serve.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/cluster.hpp"

namespace karmad::test {
namespace {

const std::vector<std::string> kWithSecret{"--spread", "3",       "--table",
                                           "products", "--table", "secret"};

struct OneAndTwo {
  DemoAgent whole{"0/1", "whole", 0, 300, kWithSecret};
  DemoAgent a{"0/2", "a", 0, 300, kWithSecret};
  DemoAgent b{"1/2", "b", 0, 300, kWithSecret};
  Master master{"ha_ping_interval = 0",
                fmt::format("table one {{\n type = distributed\n agent = {}:products\n}}\n"
                            "table two {{\n type = distributed\n agent = {}:products\n"
                            " agent = {}:products\n}}\n",
                            whole.address(), a.address(), b.address())};

  Response ask(std::string_view statement, std::string_view path = "/sql?mode=raw") const {
    return post(master.port(), path, statement);
  }
  void expect_healthy() const {
    for (const auto* key : {"ag_0_errorsarow", "ag_1_errorsarow", "ag_2_errorsarow"})
      EXPECT_EQ(master.count(key, "SHOW AGENT STATUS"), 0) << key;
  }
};

// The preference is taken out of the URL after the statement was found there.
TEST(SingleStatements, InUrlsMayHaveAReadPreference) {
  const OneAndTwo at;
  for (const std::string_view table : {"one", "two"})
    for (const std::string_view order : {"{}&{}", "{1}&{0}"}) {
      const auto statement =
          fmt::format("query=select+id+from+{}+where+id%3C3+order+by+id+asc", table);
      const auto query = fmt::format(fmt::runtime(order), statement, "read_preference=nearest");
      const auto raw = get(at.master.port(), "/sql?mode=raw&" + query);
      EXPECT_EQ(raw.status, 200) << query << raw.body;
      EXPECT_NE(raw.body.find("\"id\":1"), std::string::npos) << raw.body;
      const auto hits = get(at.master.port(), "/sql?" + query);
      EXPECT_NE(hits.body.find("\"_id\":1"), std::string::npos) << hits.body;
      EXPECT_EQ(get(at.master.port(), "/cli_json?" + query).body, raw.body);
    }
  const auto bare = get(at.master.port(), "/cli_json?select%202&read_preference=primary");
  EXPECT_NE(bare.body.find("\"2\":2"), std::string::npos) << bare.body;
}

TEST(SingleStatements, ReachNoTableThatKarmadDoesNotServe) {
  const OneAndTwo at;
  const auto direct = post(at.whole.port(), "/sql?mode=raw", "CALL KEYWORDS('lamp', 'secret')");
  ASSERT_EQ(direct.status, 200) << direct.body;
  for (const std::string table : {"one", "two"}) {
    const std::string statements[] = {
        fmt::format("CALL KEYWORDS('lamp', 'secret', '{}' as table)", table),
        fmt::format("CALL SUGGEST('lmap', 'secret', '{}' as table)", table),
        fmt::format("CALL QSUGGEST('lmap', 'secret', '{}' AS TABLE)", table),
        fmt::format("CALL AUTOCOMPLETE('la', 'secret', '{}' as table)", table),
        fmt::format("CALL SNIPPETS('a lamp', 'secret', 'lamp', '{}' as table)", table),
        fmt::format("CALL PQ('secret', '{{}}', '{}' as table)", table),
        fmt::format("CALL KEYWORDS('lamp', '{}', 'secret' as table)", table),
        fmt::format("CALL KEYWORDS('lamp' x, 'secret', '{}')", table),
        fmt::format("CALL KEYWORDS('lamp', '{},secret')", table),
        fmt::format("SELECT id FROM {}, secret", table),
        fmt::format("SELECT id FROM {} JOIN secret ON one.id = secret.id", table),
        fmt::format("SELECT id FROM {}; SELECT id FROM secret", table),
        fmt::format("SET profiling=1; SELECT id FROM {}; CALL KEYWORDS('lamp', 'secret')", table),
    };
    for (const auto& statement : statements)
      for (const auto* path : {"/sql?mode=raw", "/sql", "/cli", "/cli_json"}) {
        const auto answer = at.ask(statement, path);
        EXPECT_GE(answer.status, 400) << path << ' ' << statement << answer.body;
        EXPECT_LT(answer.status, 500) << path << ' ' << statement << answer.body;
      }
  }
  for (int i = 0; i < 40; ++i) at.ask("CALL KEYWORDS('oak', 'nosuch', 'two' as table)");
  at.expect_healthy();
}

TEST(SingleStatements, WithAMistakeBeyondAsciiLeaveTheMirrorsHealthy) {
  const OneAndTwo at;
  for (int i = 0; i < 10; ++i) {
    const auto answer = at.ask("select id as \xC3\xBC from one limit 1");
    EXPECT_EQ(answer.status, 500);
    EXPECT_TRUE(answer.body.contains("unexpected '\xC3\xBC'")) << answer.body;
  }
  at.expect_healthy();
}

TEST(SingleStatements, MayHaveEmptyOnesAroundThem) {
  const OneAndTwo at;
  for (const std::string table : {"one", "two"}) {
    const auto select = fmt::format("select id from {} order by id asc limit 2", table);
    const auto insert = fmt::format("insert into {} (id, title) values (1, 'x')", table);
    for (const auto* path : {"/sql?mode=raw", "/sql", "/cli_json"}) {
      const auto expected = at.ask(select, path);
      ASSERT_EQ(expected.status, 200) << expected.body;
      for (const auto* form : {"{};", "{};;", "; {} ; ;\n", "/* x */;{};/* y */;"})
        EXPECT_EQ(without_took(at.ask(fmt::format(fmt::runtime(form), select), path).body),
                  without_took(expected.body))
            << path << form;
    }
    EXPECT_EQ(at.ask(fmt::format(";call keywords('lamp', '{}');;", table)).status, 200);
    EXPECT_EQ(at.ask(";;show tables;;").status, 200);
    EXPECT_EQ(at.ask(";;").status, 400);
  }
}

TEST(SingleStatements, AsAFormOrInTheUrlAreTheSameAtAllPaths) {
  const OneAndTwo at;
  for (const std::string table : {"one", "two"}) {
    const auto text = fmt::format("select id from {} order by id asc limit 2", table);
    const auto encoded = fmt::format("select%20id%20from%20{}%20order+by+id+asc+limit+2", table);
    for (const std::string path : {"/sql", "/cli_json", "/cli"}) {
      const auto expected = at.ask(text, path);
      ASSERT_EQ(expected.status, 200) << path << expected.body;
      const auto same = [&](const Response& answer) {
        EXPECT_EQ(answer.status, 200) << answer.body;
        if (path == "/cli") return;  // the table tells the time
        EXPECT_EQ(without_took(answer.body), without_took(expected.body)) << path << table;
      };
      same(at.ask("query=" + encoded, path));
      same(get(at.master.port(), path + "?query=" + encoded));
      if (path != "/sql") same(get(at.master.port(), path + "?" + encoded));
    }
  }
}

TEST(SingleStatements, WithoutFromAreHitsWhereTheClientWantsHits) {
  const OneAndTwo at;
  for (const auto* path : {"/sql", "/sql?mode=raw", "/cli_json"})
    EXPECT_EQ(without_took(at.ask("SELECT 1", path).body),
              without_took(post(at.whole.port(), path, "SELECT 1").body))
        << path;
}

TEST(SingleStatements, OfAdministrationSayWhereTheyBelong) {
  const OneAndTwo at;
  for (const auto* statement : {"CREATE TABLE x (a int)", "DROP TABLE one", "TRUNCATE TABLE one",
                                "ALTER TABLE one ADD COLUMN x int"}) {
    const auto answer = at.ask(statement);
    EXPECT_EQ(answer.status, 400);
    EXPECT_TRUE(answer.body.contains("send it to the mirrors themselves")) << answer.body;
  }
  const auto unknown = at.ask("selec id from one");
  EXPECT_EQ(unknown.status, 400);
  EXPECT_TRUE(unknown.body.contains("known statements: SELECT, INSERT")) << unknown.body;
}

TEST(SingleStatements, SuggestInTheLayoutThatTheOptionsWant) {
  const OneAndTwo at;
  for (const auto* options :
       {"5 AS limit", "2 AS limit, 1 AS result_line", "0 AS result_stats",
        "3 limit, 0 result_stats, 1 result_line", "'x' AS limit", "-1 AS result_line"})
    for (const auto* procedure : {"SUGGEST", "QSUGGEST"}) {
      const auto call = [&](std::string_view table) {
        return fmt::format("CALL {}('lmap small', '{}', {})", procedure, table, options);
      };
      const auto one = at.ask(call("one"));
      const auto two = at.ask(call("two"));
      EXPECT_EQ(two.body, one.body) << options;
      EXPECT_EQ(two.status, one.status) << options;
      if (one.status == 200) {
        EXPECT_EQ(one.body, post(at.whole.port(), "/sql?mode=raw", call("products")).body);
      } else {
        EXPECT_EQ(one.status, 400) << one.body;
      }
    }
}

}  // namespace
}  // namespace karmad::test
