#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "agent/dialect/fronts/sql/sql_request.hpp"
#include "agent/dialect/kinds/dialects.hpp"
#include "agent/dialect/plan/plan.hpp"

namespace karmad {
namespace {

const std::unique_ptr<Dialect> kSql = make_manticore_sql({});

ClientRequest plain(std::string_view statement) {
  return {"POST", "/sql", "mode=raw", "text/plain", statement};
}

AgentRequest written(const ClientRequest& request, std::string& buffer,
                     std::vector<std::string> tables = {"s1"}) {
  const auto parsed = kSql->parse(request);
  EXPECT_TRUE(parsed);
  if (!parsed) return {};
  return kSql->write(request, *parsed, tables, buffer);
}

TEST(SqlStatement, StandsInTheBodyAFormOrTheUrl) {
  const struct {
    ClientRequest request;
    std::string_view statement;
  } cases[] = {
      {{"POST", "/sql", "", "text/plain", "select 1+1 from t"}, "select 1+1 from t"},
      {{"POST", "/sql", "", "application/x-www-form-urlencoded", "query=select%20a+from%20t"},
       "select a from t"},
      {{"POST", "/sql", "", "application/x-www-form-urlencoded", "mode=raw&query=show%20tables"},
       "show tables"},
      {{"POST", "/sql", "", "application/x-www-form-urlencoded", "select a from t"},
       "select a from t"},
      {{"GET", "/sql", "mode=raw&query=select%20id%20from%20t", "", ""}, "select id from t"},
      {{"GET", "/cli_json", "show%20agent%20status", "", ""}, "show agent status"},
      {{"POST", "/cli", "", "", "show tables"}, "show tables"},
  };
  for (const auto& c : cases) EXPECT_EQ(sql::statement_in(c.request)->text, c.statement);
  for (const auto& request :
       {ClientRequest{"GET", "/sql", "", "", ""}, ClientRequest{"GET", "/sql", "query=", "", ""},
        ClientRequest{"POST", "/cli_json", "", "", " \n"},
        ClientRequest{"GET", "/sql", "query=select+1+from+t&query=drop+x", "", ""},
        ClientRequest{"GET", "/sql", "%71uery=drop+x&query=select+1+from+t", "", ""},
        ClientRequest{"GET", "/sql", "Query=drop+x&query=select+1+from+t", "", ""},
        ClientRequest{"POST", "/sql", "query%00=drop+x", "", "query=select+1+from+t"},
        ClientRequest{"POST", "/sql", "", "", "query=select+1+from+t&query=drop+x"},
        ClientRequest{"POST", "/sql", "query=drop+x", "", "query=select+1+from+t"},
        ClientRequest{"POST", "/sql", "query=drop+x", "text/plain", "select 1 from t"},
        ClientRequest{"POST", "/sql", "", "", "query=%20"}})
    EXPECT_EQ(sql::statement_in(request).error().status, 400);
}

TEST(SqlStatement, IsASelectBehindSpaceAndComments) {
  EXPECT_EQ(sql::kind_of_statement("  /* x */\n SeLeCt 1"), sql::StatementKind::select);
  for (const auto* no : {"", "-- y\n select 1", "# y\n select 1", "/*! select 1 */ select 2",
                         "show tables", "selects", "'select'", "/* select", "(select 1)"})
    EXPECT_NE(sql::kind_of_statement(no), sql::StatementKind::select) << no;
}

TEST(SqlSelect, NamesItsTableAndTheBytesThatSayIt) {
  const struct {
    std::string_view statement, table, bytes;
  } cases[] = {
      {"select * from products", "products", "products"},
      {"select * FROM `my table` where id=1;", "my table", "`my table`"},
      {"select 'from x', 'it''s', 'a\\' from y', \"from y\", `from` /* from z */ from t limit 1",
       "t", "t"},
      {"select count(*) c, if(a, b, c) from t group by price having c > 5 facet brand", "t", "t"},
      {"select id from t where match('a; b -- # /* ') /* c; select */\n option ranker=none ; ", "t",
       "t"},
      {"select id - -3, 5-3\tfrom\r\nt where title='\xC3\xA9'", "t", "t"},
      {"select id, 1.5from t where price>1.5e3group by brand", "t", "t"},
      {"select 1.from`t`limit 5", "t", "`t`"},
      {"select x.from, 2 .from, 1..from y from t", "t", "t"},
  };
  for (const auto& c : cases) {
    const auto parsed = kSql->parse(plain(c.statement));
    ASSERT_TRUE(parsed) << c.statement << parsed.error().reason;
    EXPECT_EQ(parsed->table, c.table);
    EXPECT_EQ(parsed->table_place.in(c.statement), c.bytes);
    EXPECT_TRUE(parsed->read);
  }
}

TEST(SqlSelect, ReadsItsPlainOptions) {
  const auto parsed = kSql->parse(
      plain("select retry_count, id from t where retry_count=99 "
            "option ranker=none, retry_count=3, agent_query_timeout = 400, retry_delay=0"));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->options.retry_count, 3u);
  EXPECT_EQ(parsed->options.agent_query_timeout, 400ms);
  EXPECT_EQ(parsed->options.retry_delay, 0ms);
}

TEST(SqlSelect, IsRefusedWithTheReason) {
  const struct {
    std::string_view statement, reason;
  } cases[] = {
      {"show tables", "only SELECT"},
      {"select 1; from t", "has no FROM"},
      {"select * from", "names no table"},
      {"select * from ``", "names no table"},
      {"select * from 't'", "names no table"},
      {"select * from a,", "names no table"},
      {"select * from a, (b)", "at offset 17: a SELECT within a SELECT"},
      {"select * from `a,b`", "contains ','"},
      {"select * from a inner join b on a.x=b.x", "at offset 22: JOIN"},
      {"select * from (select * from t) x", "at offset 31: behind a SELECT in brackets"},
      {"select * from t where id in (select id from u)", "at offset 29: a SELECT within a SELECT"},
      {"select * from t; show meta", "several statements"},
      {"select * from t where a='x", "does not end"},
      {"select * from t /* x", "does not end"},
      {"select * from t force index (a), join secret on t.a=secret.a", "at offset 33: JOIN"},
      {"select * from t use index (a) option a=1, ; delete from u", "several statements"},
      {"select * from from where id in (1, ; delete from u where id in (2))", "several statements"},
      {"select {from u} from t", "has no FROM"},
      {"select a[ from u ] from t", "has no FROM"},
      {"select a order by b, (c", "has no FROM"},
      {"select count(*)) from t", "has no FROM"},
      {"select a) , 1", "has no FROM"},
      {"select f(a] from t where b in (1)", "has no FROM"},
      {"select f(a} from t, [b)", "has no FROM"},
      {"select * from t option retry_count=9", "from 0 to 8"},
      {"select * from t option agent_query_timeout=0", "from 1 to"},
  };
  for (const auto& c : cases) {
    const auto parsed = kSql->parse(plain(c.statement));
    ASSERT_FALSE(parsed) << c.statement;
    EXPECT_EQ(parsed.error().status, 400);
    EXPECT_NE(parsed.error().reason.find(c.reason), std::string::npos) << parsed.error().reason;
  }
}

/// An engine would find a second statement, or another table, in most of these.
TEST(SqlSelect, IsRefusedWhereEnginesWouldReadItDifferently) {
  using namespace std::string_view_literals;
  const struct {
    std::string_view statement, reason;
  } cases[] = {
      {"SELECT id, 5 -- 3 AS y FROM t; DELETE FROM t WHERE id>0; SELECT 1", "--"},
      {"select id --\n from t", "--"},
      {"select 5--3 from t", "--"},
      {"select id from t --", "--"},
      {"select id from t; -- y", "--"},
      {"-- y\n select id from t", "--"},
      {"select id # ; delete from t\n from t", "#"},
      {"select id from t # y", "#"},
      {"select /*! from secret */ id from t", "/*!"},
      {"select /*M! from secret */ id from t", "/*!"},
      {"/*!select*/ select id from t", "/*!"},
      {"select id /* **/ from t /* */; delete from t", "within a comment"},
      {"select id /* /* */ */ from t", "within a comment"},
      {"select id from t /* * ", "within a comment"},
      {"select id, \"; delete from t; select \" from t", "double quotes"},
      {"select id, \" ' \" from t where x = ' '", "double quotes"},
      {"select id, \"a\\\" from t", "double quotes"},
      {"select id, \" /* \" from t /* */", "double quotes"},
      {"select id, \" -- \" from t", "double quotes"},
      {"select id, `a;b` from t", "backquotes"},
      {"select id, `a\\` from secret, `b` from t", "backquotes"},
      {"select id, 'a\\\n' from t", "end of a line"},
      {"select id from t where x='a\0'; delete from t"sv, "zero byte"},
      {"select id from t where x='a\\\0'; delete from t"sv, "zero byte"},
      {"select id from t where x='\\\\\0' or y='b'"sv, "zero byte"},
      {"select id /* \0 */ from t"sv, "zero byte"},
      {"select id from t\0; delete from t"sv, "control character"},
      {"select\fid from t", "control character"},
      {"select\vid from t", "control character"},
      {"select id from t \\g delete from t", "backslash"},
      {"select id, 1from secret", "a number with letters"},
      {"select id, -1e3from secret", "a number with letters"},
      {"select id, .5from secret, 1 from t", "a number with letters"},
      {"select id from 2nd", "a number with letters"},
      {"select id from `t`_secret where id=1", "at offset 18"},
      {"select id from t:secret", "at offset 16"},
      {"select id from `t`x, secret", "at offset 18"},
      {"select id from t a, secret", "at offset 18"},
      {"select id from t from secret", "at offset 17"},
  };
  for (const auto& c : cases) {
    const auto parsed = kSql->parse(plain(c.statement));
    ASSERT_FALSE(parsed) << c.statement;
    EXPECT_EQ(parsed.error().status, 400);
    EXPECT_NE(parsed.error().reason.find(c.reason), std::string::npos)
        << c.statement << ": " << parsed.error().reason;
  }
}

TEST(SqlSelect, WithFuzzyHasNoTextThatAHelperCouldTakeForAStatement) {
  for (const auto* no :
       {"select id from t where match('x; select * from secret; select 1 -- ') option fuzzy=1",
        "select id from t where match('x\\') ; select * from secret -- ') option fuzzy=1",
        "select 'match(' as a from t where match('x') option Fuzzy=1",
        "select '%1$' as a from t where match('x') option fuzzy=1",
        "select a % 2 as b from t where match('x') option fuzzy=1",
        "select a /* match(' */ from t where match('x') option fuzzy=1",
        "select id from t where match('fuzzy=1; select 2') option nosuch=1"}) {
    const auto parsed = kSql->parse(plain(no));
    ASSERT_FALSE(parsed) << no;
    EXPECT_TRUE(parsed.error().reason.starts_with("a SELECT with OPTION and the word fuzzy"))
        << parsed.error().reason;
  }
  for (const auto* yes :
       {"select id from t where match('it\\'s \"a phrase\"') and a in (1,2) option fuzzy=1, "
        "layouts='us,ru', distance=2;",
        "select id from t where match('(fuzzy); 100%')",
        "select id from t where match('a; (b) 100%') option ranker=none"})
    EXPECT_TRUE(kSql->parse(plain(yes))) << yes;
}

TEST(SqlSelect, WithoutFromAsksTheFirstTable) {
  const auto request = plain("select 1+1");
  const auto parsed = kSql->parse(request);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->table, "");
  EXPECT_TRUE(parsed->planned);
  EXPECT_FALSE(kSql->parse(plain("select if(1, (select id from t), 2)")));
}

TEST(SqlSelect, WithoutFromHasALengthLimitThatTheErrorTells) {
  const auto parsed = [](std::size_t size) {
    const auto statement = "select '" + std::string(size - 9, 'x') + "'";
    return kSql->parse(plain(statement));
  };
  EXPECT_TRUE(parsed(4096));
  const auto longer = parsed(4097);
  ASSERT_FALSE(longer);
  EXPECT_EQ(longer.error().status, 400);
  EXPECT_EQ(longer.error().reason,
            "a SELECT without FROM has at most 4096 bytes; this one has 4097");
}

TEST(SqlStatements, AreSplitOutsideOfQuotes) {
  using List = std::vector<std::string_view>;
  EXPECT_EQ(sql::split_statements("select 1"), List{"select 1"});
  EXPECT_EQ(sql::split_statements("select ';' ;; show meta ; "),
            (List{"select ';' ", " show meta "}));
  EXPECT_FALSE(sql::split_statements("select 1; select 'x"));
  EXPECT_EQ(sql::split_statements("select 'c\xC3\xA9'"), List{"select 'c\xC3\xA9'"});
  EXPECT_EQ(sql::split_statements("select 'c\xE9'").error().reason,
            "at offset 9: the statement is not valid UTF-8");
  std::string many;
  for (int i = 0; i < 65; ++i) many += "select 1;";
  EXPECT_FALSE(sql::split_statements(many + "select 1"));
}

TEST(SqlStatements, HaveTheClassesOfTheirKinds) {
  const auto classes = [](std::string_view text) {
    std::vector<TicketClass> found;
    const auto read = sql::read_statements(plain(text));
    EXPECT_TRUE(read);
    for (const auto& one : (*read)->statements) found.push_back(one.ticket_class());
    return found;
  };
  using enum TicketClass;
  EXPECT_EQ(classes("show meta"), std::vector{exempt});
  EXPECT_EQ(classes("select 1; show meta"), (std::vector{search, exempt}));
  EXPECT_EQ(classes("select 1; delete from t where id=1"), (std::vector{search, update}));
}

TEST(SqlStatements, KeepTheCapitalsOfTheirAliases) {
  const auto aliases = [](std::string_view text) {
    sql::StatementText statement{.text = text, .kind = sql::StatementKind::select};
    auto read = sql::read_statement(text, sql::StatementKind::select);
    EXPECT_TRUE(read) << text;
    statement.read = std::make_shared<const sql::Statement>(*std::move(read));
    return sql::aliases_with_capitals(statement);
  };
  using List = std::vector<std::string>;
  EXPECT_EQ(aliases("SELECT id AS `Product_id`, MAX(price) AS MAX, Brand, a+B, x FROM t"),
            (List{"Product_id", "MAX"}));
  EXPECT_EQ(aliases("select COUNT(*) howMany, m.Colour, m['a'] As C from t group by m.Colour"),
            (List{"howMany", "C"}));
  EXPECT_EQ(aliases("SELECT * FROM t"), List{});
  EXPECT_EQ(sql::aliases_with_capitals({.text = "SELECT 1 AS A"}), List{});
}

TEST(SqlStatements, OfAConnectionAreReadOrRefused) {
  using Is = sql::SessionStatement::Is;
  const auto session = [](std::string_view text) {
    return sql::read_as<sql::SessionStatement>(text, sql::StatementKind::session);
  };
  for (const auto* no : {"set autocommit=",
                         "set global x=1",
                         "set x=1, GLOBAL y=2",
                         "set @@global.x=1",
                         "set persist x=1",
                         "set @@persist_only.x=1",
                         "set names 'x",
                         "set x",
                         "set 5=1",
                         "set @@session.=1",
                         "set x=(1",
                         "set x=1)",
                         "set x=1,",
                         "set x=,y=1",
                         "set names",
                         "set statement x=1 for select 1",
                         "set @@session.READ_PREFERENCE = 'nearest'",
                         "begin x",
                         "start",
                         "start transaction read",
                         "start transaction read only,",
                         "start transaction with x",
                         "commit x",
                         "commit and",
                         "commit release",
                         "rollback to",
                         "rollback to savepoint",
                         "savepoint",
                         "release x",
                         "kill",
                         "kill x",
                         "kill query",
                         "kill -1",
                         "kill 1 2",
                         "kill 1+1",
                         "kill 99999999999999999999"})
    EXPECT_FALSE(session(no)) << no;
  EXPECT_EQ(session("use `my shop`")->text, "my shop");
  EXPECT_EQ(session("show meta like 'total%'")->like, "total%");
  EXPECT_EQ(session("show profile")->text, "SHOW PROFILE");
  EXPECT_EQ(session("show warnings limit 100")->is, Is::warnings);
  EXPECT_EQ(sql::kind_of_statement("show tables"), sql::StatementKind::status);
}

TEST(SqlStatements, OfSetHaveAnyVariablesAndExpressions) {
  using Settings = std::vector<sql::SessionSetting>;
  const std::pair<const char*, Settings> cases[] = {
      {"set autocommit=0", {{"autocommit", "0"}}},
      {"SET autocommit=1, sql_mode = concat(@@sql_mode,',STRICT_TRANS_TABLES')",
       {{"autocommit", "1"}, {"sql_mode", "concat(@@sql_mode,',STRICT_TRANS_TABLES')"}}},
      {"set @@session.SQL_Mode = 'a,b', local `time_zone` := 'x' ;",
       {{"sql_mode", "'a,b'"}, {"time_zone", "'x'"}}},
      {"set names 'utf8' collate utf8_bin, @A=(select 1, (2)), character set utf8mb4",
       {{"names", "'utf8' collate utf8_bin"}, {"@a", "(select 1, (2))"}, {"names", "utf8mb4"}}},
      {"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ ONLY",
       {{"transaction", "ISOLATION LEVEL READ COMMITTED, READ ONLY"}}},
      {"set transaction read only", {{"next_transaction", "read only"}}},
      {"set @@local.x=-1,@@y=if(a,b,c)", {{"x", "-1"}, {"y", "if(a,b,c)"}}},
  };
  for (const auto& [text, settings] : cases) {
    const auto read = sql::read_as<sql::SessionStatement>(text, sql::StatementKind::session);
    ASSERT_TRUE(read) << text << read.error().reason;
    EXPECT_EQ(read->is, sql::SessionStatement::Is::set) << text;
    EXPECT_EQ(read->settings, settings) << text;
  }
}

TEST(SqlStatements, OfTransactionsAreThoseOfMysql) {
  using Is = sql::SessionStatement::Is;
  const std::pair<const char*, sql::SessionStatement> cases[] = {
      {"begin", {.is = Is::begin}},
      {"BEGIN WORK;", {.is = Is::begin}},
      {"start transaction", {.is = Is::begin}},
      {"START TRANSACTION WITH CONSISTENT SNAPSHOT, READ WRITE", {.is = Is::begin}},
      {"start transaction with consistent snapshot, read only",
       {.is = Is::begin, .read_only = true}},
      {"commit", {.is = Is::commit}},
      {"COMMIT WORK AND NO CHAIN NO RELEASE", {.is = Is::commit}},
      {"commit and chain", {.is = Is::commit, .chain = true}},
      {"Rollback", {.is = Is::rollback}},
      {"rollback work and chain no release", {.is = Is::rollback, .chain = true}},
      {"ROLLBACK TO SAVEPOINT `s`", {.is = Is::undo}},
      {"rollback work to s1", {.is = Is::undo}},
      {"savepoint s", {.is = Is::nothing}},
      {"RELEASE SAVEPOINT s", {.is = Is::nothing}},
      {"kill 12", {.is = Is::kill, .connection = 12}},
      {"KILL CONNECTION 12", {.is = Is::kill, .connection = 12}},
      {"kill hard query 4294967296",
       {.is = Is::kill, .connection = 4294967296, .statement_only = true}},
  };
  for (const auto& [text, statement] : cases) {
    const auto read = sql::read_as<sql::SessionStatement>(text, sql::StatementKind::session);
    ASSERT_TRUE(read) << text << read.error().reason;
    EXPECT_EQ(*read, statement) << text;
  }
  EXPECT_TRUE(sql::read_as<sql::Select>("select kill, release, savepoint from commit",
                                        sql::StatementKind::select));
}

TEST(SqlStatement, HasNoEmptyOnesAroundIt) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"select 1;;", "select 1"},
      {" ; ;select 1 ; ;\n", "select 1"},
      {"/* x */;;select 1", "select 1"},
      {"/* x */ select ';'", "/* x */ select ';'"},
      {"select 1;; select 2;", "select 1;; select 2"},
  };
  for (const auto& [text, statement] : cases)
    EXPECT_EQ(sql::statement_in(plain(text))->text, statement);
  EXPECT_EQ(sql::statement_in(plain(" ;; ")).error().reason, "there is no statement");
  std::string buffer;
  EXPECT_EQ(written(plain(";select a from t;;"), buffer).body, "select a from s1");
  EXPECT_EQ(written({"GET", "/sql", "query=%3Bselect+a+from+t%3B%3B", "", ""}, buffer).target,
            "/sql?query=select%20a%20from%20s1");
  EXPECT_EQ(written({"GET", "/sql", "query=select+a+from+t;;", "", ""}, buffer, {"t"}).target,
            "/sql?query=select%20a%20from%20t");
}

TEST(SqlSelect, WithoutFromIsAskedInTheFormThatTheClientWants) {
  for (const auto& [query, target] : {std::pair{"", "/sql"}, {"mode=raw", "/sql?mode=raw"}}) {
    const ClientRequest request{"POST", "/sql", query, "text/plain", "select 1;"};
    const auto parsed = kSql->parse(request);
    ASSERT_TRUE(parsed);
    const auto plan = kSql->plan(request, *parsed, 2);
    ASSERT_TRUE(plan);
    std::string buffer;
    const auto asked = write_planned(*plan, 0, {}, buffer);
    EXPECT_EQ(asked.target, target);
    EXPECT_EQ(asked.body, "select 1");
  }
}

TEST(SqlStatement, OfWhichAPlanIsShownIsASelect) {
  for (const auto& [text, table] :
       {std::pair{"select id from t where a=1", "t"}, {"select 1", ""}}) {
    auto request = plain(text);
    request.inspected_by = "SHOW PLAN";
    const auto parsed = kSql->parse(request);
    ASSERT_TRUE(parsed);
    EXPECT_TRUE(parsed->planned);
    const auto plan = kSql->plan(request, *parsed, 2);
    ASSERT_TRUE(plan);
    std::string buffer;
    const std::vector<std::string> tables{"s1"};
    auto asked = "SET profiling=1; " + std::string(text) + "; SHOW PLAN";
    if (const auto at = asked.find(" t "); at != asked.npos) asked.replace(at, 3, " s1 ");
    EXPECT_EQ(write_planned(*plan, 0, tables, buffer).body, asked) << table;
  }
}

TEST(SqlSelect, IsPassedWhereItStoodWithTheTableRenamed) {
  std::string buffer = "old";
  const auto body = written(plain("select a from `t` where b='t'"), buffer, {"s1", "s-2"});
  EXPECT_EQ(body.body, "select a from `s1`,`s-2` where b='t'");
  EXPECT_EQ(body.target, "/sql?mode=raw");
  EXPECT_EQ(written(plain("select a from`t`where b"), buffer).body, "select a from`s1`where b");
  EXPECT_EQ(written(plain("select a from t"), buffer, {"s1", "2nd"}).body,
            "select a from s1,`2nd`");

  const auto form = written({"POST", "/sql", "", "application/x-www-form-urlencoded",
                             "mode=raw&query=select%20a%20from%20t%3B&x=1"},
                            buffer);
  EXPECT_EQ(form.body, "mode=raw&query=select%20a%20from%20s1&x=1");
  EXPECT_EQ(form.target, "/sql");

  const auto url = written({"GET", "/sql", "mode=raw&query=select+a+from+t&x=1", "", ""}, buffer);
  EXPECT_EQ(url.target, "/sql?mode=raw&query=select%20a%20from%20s1&x=1");
  EXPECT_EQ(url.body, "");
  EXPECT_EQ(url.method, "GET");

  for (const auto& request :
       {ClientRequest{"GET", "/cli_json", "select%20a%20from%20t", "", ""},
        ClientRequest{"GET", "/cli_json", "query=select+a+from+t", "", ""},
        ClientRequest{"POST", "/cli_json", "", "application/x-www-form-urlencoded",
                      "query=select+a+from+t"},
        ClientRequest{"POST", "/cli_json", "", "text/plain", "select a from t;;"}}) {
    const auto cli = written(request, buffer);
    EXPECT_EQ(cli.method, "POST");
    EXPECT_EQ(cli.target, "/cli_json");
    EXPECT_EQ(cli.content_type, "text/plain");
    EXPECT_EQ(cli.body, "select a from s1");
  }

  const auto same = written({"GET", "/sql", "query=select+a+from+t", "", ""}, buffer, {"t"});
  EXPECT_EQ(same.target, "/sql?query=select+a+from+t");
}

TEST(SqlJudgement, KnowsRawResultsSearchResultsAndErrors) {
  const auto outcome = [](int status, std::string_view body) {
    return kSql->judge({status, "application/json; charset=UTF-8", body}, false).outcome;
  };
  EXPECT_EQ(
      outcome(200,
              "[{\n\"columns\":[],\n\"data\":[],\n\"total\":0,\"error\":\"\",\"warning\":\"\"\n}]"),
      Outcome::answered);
  EXPECT_EQ(outcome(200,
                    "[{\"data\":[],\"error\":\"\",\"warning\":\"\"},{\"data\":[],\"error\":\"\","
                    "\"warning\":\"slow\"}]"),
            Outcome::answered_with_warning);
  EXPECT_EQ(outcome(200, R"({"took":0,"warning":{"reason":"x"},"hits":{}})"),
            Outcome::answered_with_warning);
  EXPECT_EQ(outcome(200, R"({"took":0,"hits":{"total":0,"hits":[]}})"), Outcome::answered);
  EXPECT_EQ(outcome(200, R"([{"total":0,"error":"P01: syntax error","warning":""}])"),
            Outcome::client_mistake);
  EXPECT_EQ(kSql->judge({200, "text/plain", "+---+"}, false).outcome, Outcome::answered);
  for (const auto* mistake : {"duplicate id '3'", "unknown column: 'x'",
                              "table t: KNN index 'v' requires a vector of 4 entries; 3 given",
                              "row 3, column 1: string expected"})
    EXPECT_EQ(outcome(500, R"({"error":")" + std::string(mistake) + "\"}"), Outcome::client_mistake)
        << mistake;
  EXPECT_EQ(outcome(501, R"({"error":"only SELECT queries are supported"})"),
            Outcome::client_mistake);
  EXPECT_EQ(outcome(200, "[7]"), Outcome::answered);
  EXPECT_EQ(outcome(200, "+---+"), Outcome::wrong_reply);
  EXPECT_EQ(outcome(500, R"({"error":"P01: syntax error, unexpected '('"})"),
            Outcome::client_mistake);
  EXPECT_EQ(outcome(500, R"({"error":"unknown local table(s) 's1' in search request"})"),
            Outcome::agent_error);
}

/// Result sets in the layout of a server, of which `failing` has this error and warning.
std::string sets_with(std::size_t count, std::size_t failing, std::string_view error,
                      std::string_view warning) {
  std::string text = "[";
  for (std::size_t i = 0; i < count; ++i)
    text += fmt::format(
        "{}{{\n\"columns\":[{{\"id\":{{\"type\":\"long long\"}}}}],\n\"data\":[\n"
        "{{\"id\":1}},\n{{\"id\":2}}\n],\n\"total\":2,\n\"error\":\"{}\",\n"
        "\"warning\":\"{}\"\n}}",
        i == 0 ? "" : ",\n", i == failing ? error : "", i == failing ? warning : "");
  return text + "]";
}

TEST(SqlJudgement, FindsAnErrorOrAWarningInEachSetOfAReplyThatWillBeMerged) {
  for (const std::size_t count : {1U, 2U, 3U, 5U})
    for (std::size_t failing = 0; failing < count; ++failing)
      for (const bool merged : {false, true}) {
        const auto outcome = [&](std::string_view error, std::string_view warning) {
          return kSql
              ->judge({200, "application/json", sets_with(count, failing, error, warning)}, merged)
              .outcome;
        };
        EXPECT_EQ(outcome("", ""), Outcome::answered);
        EXPECT_EQ(outcome("", "slow"), Outcome::answered_with_warning) << count << ' ' << failing;
        EXPECT_EQ(outcome("P01: syntax error", ""), Outcome::client_mistake)
            << count << ' ' << failing;
      }
}

// A mirror that answers rows with hits has not understood the request; another one may.
TEST(SqlJudgement, TakesNoHitsForRowsWhereTheClientCanReadRowsOnly) {
  constexpr std::string_view hits = R"({"took":0,"timed_out":false,"hits":{"total":0,"hits":[]}})";
  ClientRequest raw{"POST", "/sql", "mode=raw", "", "SELECT id FROM t"};
  const auto outcome = [&](std::string_view body) {
    return kSql->judge({200, "application/json", body, true, &raw}, false).outcome;
  };
  EXPECT_EQ(outcome(hits), Outcome::answered) << "passed on";
  raw.rows_only = true;
  EXPECT_EQ(outcome(hits), Outcome::wrong_reply);
  EXPECT_EQ(outcome("\n " + std::string(hits)), Outcome::wrong_reply);
  EXPECT_EQ(outcome(R"([{"total":0,"error":"","warning":""}])"), Outcome::answered);
  EXPECT_EQ(outcome(R"({"error":"unknown column: 'hits'"})"), Outcome::client_mistake);
}

TEST(SqlStatement, ALineOfCommentIsAnsweredAsDone) {
  for (const auto* comment : {"-- ping", "--", " \n-- a 'b", "-- \xC3\xA9"}) {
    EXPECT_EQ(sql::kind_of_statement(comment), sql::StatementKind::session) << comment;
    const auto read = sql::read_statement(comment);
    ASSERT_TRUE(read) << comment;
    EXPECT_EQ(std::get<sql::SessionStatement>(*read).is, sql::SessionStatement::Is::nothing);
  }
  for (const auto* other : {"--ping", "-- a\nselect 1", "-- a; drop table t", "-", "--1"})
    EXPECT_FALSE(sql::read_statement(other)) << other;
}

TEST(SqlStatement, ExplainsAQueryAtTheFirstShard) {
  const auto request = plain("EXPLAIN QUERY shop 'steel kettle' option format=dot");
  const auto parsed = kSql->parse(request);
  ASSERT_TRUE(parsed) << parsed.error().reason;
  EXPECT_EQ(parsed->table, "shop");
  const auto plan = kSql->plan(request, *parsed, ShardLayout(3));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->asked, (std::vector<bool>{true, false, false}));
  std::string buffer;
  const std::vector<std::string> tables{"m"};
  EXPECT_EQ(write_planned(*plan, 0, tables, buffer).body,
            "EXPLAIN QUERY m 'steel kettle' option format=dot");
  for (const auto* wrong :
       {"EXPLAIN SELECT 1", "EXPLAIN QUERY t", "EXPLAIN TABLE t 'x'", "EXPLAIN"})
    EXPECT_FALSE(kSql->parse(plain(wrong))) << wrong;
}

}  // namespace
}  // namespace karmad
