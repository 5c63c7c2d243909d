// Statements to tables of one and of two shards with demo agents that also have a table which
// karmad does not serve.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <tuple>

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

/// The answers of both tables, which have the same documents.
void expect_same(const OneAndTwo& at, std::string_view statement) {
  for (const std::string_view path : {"/sql?mode=raw", "/sql", "/cli_json"}) {
    const auto of = [&](std::string_view table) {
      auto text = std::string(statement);
      for (auto place = text.find('$'); place != text.npos; place = text.find('$'))
        text.replace(place, 1, table);
      const auto answer = at.ask(text, path);
      EXPECT_EQ(answer.status, 200) << text << answer.body;
      auto body = without_took(answer.body);
      // The demo agent offers no token of its catalogue; karmad does for several shards.
      if (const auto token = body.find(R"(,"scroll":")"); token != body.npos)
        body.erase(token, body.find('"', token + 11) + 1 - token);
      return body;
    };
    EXPECT_EQ(of("two"), of("one")) << path << " " << statement;
  }
}

TEST(SingleStatements, ASelectInBracketsIsTheSameOnTwoShards) {
  const OneAndTwo at;
  for (const std::string_view statement :
       {"SELECT * FROM (SELECT id, price, brand FROM $ ORDER BY price DESC, id ASC LIMIT 40) ORDER "
        "BY "
        "brand ASC, id DESC LIMIT 3, 7",
        "select * from (select id, title from $ where match('blue') order by id desc limit 30) "
        "order "
        "by title asc, id asc;",
        "SELECT * FROM (SELECT p.id FROM $ AS p WHERE p.price > 50 ORDER BY p.id DESC LIMIT 4, 30) "
        "AS x "
        "ORDER BY x.id ASC LIMIT 5",
        "SELECT * FROM (SELECT brand, COUNT(*) AS c, AVG(price) a FROM $ GROUP BY brand ORDER BY "
        "brand "
        "ASC LIMIT 10) ORDER BY a DESC, brand ASC LIMIT 4",
        "SELECT * FROM (SELECT id FROM $ WHERE id > 9000 ORDER BY id ASC) ORDER BY id DESC"})
    expect_same(at, statement);
  const auto list = at.ask(
      "SELECT * FROM (SELECT id FROM two ORDER BY id ASC LIMIT 5) ORDER BY id DESC LIMIT 2; SHOW "
      "META");
  EXPECT_NE(list.body.find("\"id\":5"), std::string::npos) << list.body;
  EXPECT_NE(list.body.find("total_found"), std::string::npos) << list.body;
  const auto preferred =
      at.ask("SELECT * FROM (SELECT id FROM two ORDER BY id ASC LIMIT 5) ORDER BY id DESC LIMIT 1",
             "/sql?mode=raw&read_preference=nearest");
  EXPECT_NE(preferred.body.find("\"id\":5"), std::string::npos) << preferred.body;
  for (const std::string_view table : {"one", "two"})
    for (const std::string_view form :
         {"SELECT * FROM (SELECT id FROM {}) WHERE id = 1 ORDER BY id ASC",
          "SELECT * FROM (SELECT id FROM {})", "SELECT id FROM (SELECT id FROM {}) ORDER BY id ASC",
          "SELECT * FROM (SELECT id FROM {} FACET brand) ORDER BY id ASC"})
      EXPECT_EQ(at.ask(fmt::format(fmt::runtime(form), table)).status, 400) << form << table;
  at.expect_healthy();
}

TEST(SingleStatements, AFacetOfSeveralKeysByFacetIsInTheirOrder) {
  const OneAndTwo at;
  expect_same(
      at,
      "SELECT id FROM $ ORDER BY id ASC LIMIT 1 FACET brand, tags ORDER BY FACET() ASC LIMIT 30");
  expect_same(at,
              "SELECT id FROM $ ORDER BY id ASC LIMIT 1 FACET brand ORDER BY FACET() DESC LIMIT 3 "
              "FACET brand BY brand ORDER BY FACET()");
}

TEST(SingleStatements, OfOtherServersOfSqlMeanWhatTheyMeanThere) {
  const OneAndTwo at;
  expect_same(
      at, "SELECT shop.$.id, price FROM shop.$ WHERE shop.$.id IN ('7', '8', 9) ORDER BY id ASC");
  expect_same(at, "SELECT `id` FROM `shop`.`$` WHERE `id` = '7' LIMIT '1'");
  for (const std::string_view table : {"one", "two"}) {
    const auto answer = at.ask(fmt::format("SELECT nothing FROM shop.{} WHERE id = '1'", table));
    EXPECT_EQ(answer.status, 500);
    EXPECT_NE(answer.body.find(fmt::format("table {}: unknown column: nothing", table)),
              std::string::npos)
        << answer.body;
  }
  EXPECT_NE(at.ask("SELECT id FROM shop.nosuch").body.find("no table 'nosuch'"), std::string::npos);
  at.expect_healthy();
}

TEST(SingleStatements, OfTheEngineAboutTablesAndIdsAreAnswered) {
  const OneAndTwo at;
  const auto has = [&](std::string_view statement, std::string_view part) {
    const auto answer = at.ask(statement);
    EXPECT_EQ(answer.status, 200) << statement << answer.body;
    EXPECT_NE(answer.body.find(part), std::string::npos) << statement << answer.body;
  };
  for (const std::string_view table : {"one", "two"}) {
    has(fmt::format("DESC shop.{}", table), R"("Type":"remote_1")");
    has(fmt::format("DESC {} TABLE", table), R"("Field":"id","Type":"bigint")");
    has(fmt::format("SHOW CREATE TABLE {}", table), fmt::format("CREATE TABLE {} (", table));
    has(fmt::format("EXPLAIN QUERY {} 'steel'", table), "transformed_tree");
  }
  has("-- a comment", "\"error\":\"\"");
  has("CALL UUID_SHORT(3)", R"("total":3)");
  for (const std::string_view arguments :
       {"()", "(0)", "('a')", "(2 x)", "(1, 2)", "(-1)", "(100001)", " 3", "(3"}) {
    const auto answer = at.ask(fmt::format("CALL UUID_SHORT{}", arguments));
    EXPECT_EQ(answer.status, 400) << arguments << answer.body;
  }
  EXPECT_EQ(at.ask("CALL UUID_SHORT(3); DROP TABLE two").status, 400);
  EXPECT_EQ(at.ask("CALL UUID_LONG(3)").status, 400);
  at.expect_healthy();
}

TEST(SingleStatements, EachOfSeveralInOneRequestIsCountedForItsTable) {
  const OneAndTwo at;
  const auto several = post(at.master.port(), "/_msearch",
                            "{\"index\":\"one\"}\n{\"sort\":[\"nosuch\"]}\n"
                            "{\"index\":\"two\"}\n{}\n{\"index\":\"one\"}\n{}\n"
                            "{\"index\":\"nosuch\"}\n{}\n");
  EXPECT_EQ(several.status, 200) << several.body;
  EXPECT_EQ(at.ask("SELECT id FROM two; SELECT id FROM one; SELECT nosuch FROM two").status, 500);
  EXPECT_EQ(at.ask("SELECT id FROM one; SELECT id FROM nosuch").status, 404);
  const auto& counted = get(at.master.port(), "/metrics").body;
  for (const auto& [table, code, count] :
       {std::tuple{"one", 200, 3}, {"one", 400, 1}, {"two", 200, 2}, {"two", 500, 1}}) {
    const auto metric = fmt::format(
        "karmad_table_responses_total{{table=\"{}\",dialect=\"manticore\",code=\"{}\"}} {}\n",
        table, code, count);
    EXPECT_TRUE(counted.contains(metric)) << metric;
  }
  EXPECT_FALSE(counted.contains("code=\"404\"")) << "the unknown table is none of these";
}

// The engine tells every mistake in a search by 400 there.
TEST(SingleStatements, MistakesAtElasticsearchsPathsHaveTheEnginesShape) {
  const OneAndTwo at;
  const auto expect_mistake = [](const Response& answer, std::string_view reason) {
    EXPECT_EQ(answer.status, 400) << answer.body;
    EXPECT_TRUE(answer.body.starts_with(R"({"error":{"type":"parse_exception","reason":")"))
        << answer.body;
    EXPECT_TRUE(answer.body.ends_with(R"("},"status":400})")) << answer.body;
    EXPECT_NE(answer.body.find(reason), std::string::npos) << answer.body;
  };
  for (const std::string table : {"one", "two"}) {
    const auto search = [&](std::string_view body, std::string_view path = "/_search") {
      return post(at.master.port(), fmt::format("/{}{}", table, path), body);
    };
    for (const std::string_view path : {"/_search", "/_count"}) {
      expect_mistake(search(R"({"query":{"equals":{"nosuch":1}}})", path), "nosuch");
      expect_mistake(search(R"({"query":{"cats":{"x":1}}})", path), "");
      expect_mistake(search(R"({"query":{"match_all":{})", path), "JSON");
      expect_mistake(search("[1]", path), "JSON object");
    }
    expect_mistake(search(R"({"size":"x"})"), "");
    const auto several =
        search("{}\n{\"query\":{\"equals\":{\"nosuch\":1}}}\n{}\n{\"size\":1}\n", "/_msearch");
    EXPECT_EQ(several.status, 200);
    EXPECT_NE(several.body.find(R"([{"error":{"type":"parse_exception","reason":"table )" + table),
              std::string::npos)
        << several.body;
    EXPECT_NE(several.body.find(R"("},"status":400},{"took")"), std::string::npos) << several.body;
  }
  for (const std::string_view path : {"/_search", "/nosuch/_search", "/nosuch/_count"}) {
    const auto unknown = post(at.master.port(), path, R"({"index":"nosuch"})");
    EXPECT_EQ(unknown.status, 404);
    EXPECT_TRUE(
        unknown.body.starts_with(R"({"error":{"type":"index_not_found_exception","reason":)"))
        << unknown.body;
  }
  at.expect_healthy();
}

}  // namespace
}  // namespace karmad::test
