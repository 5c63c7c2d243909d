// Which mirrors a request may use, and whether it takes a read preference: a primary and two
// replicas, and a table that prefers the replicas.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/endtoend/mysql_master.hpp"
#include "tests/support/fake_set.hpp"
#include "tests/support/gzip.hpp"

namespace karmad::test {
namespace {

constexpr std::string_view kShown =
    R"json([{"columns":[{"Table":{"type":"string"}},{"Create Table":{"type":"string"}}],
"data":[{"Table":"products","Create Table":"CREATE TABLE products (\nid bigint\n)"}],
"total":1,"error":"","warning":""}])json";

const std::vector<std::string> kRoles{"primary", "replica", "replica"};

/// What lists or describes tables and servers, spelled in many ways.
const std::vector<std::string> kShows{
    "SHOW CREATE TABLE t",
    "show create table t;",
    "  ShOw\tCREATE\n\n table `t` ",
    "/* about t */ SHOW /**/ CREATE /* the */ TABLE t",
    "/* SELECT id FROM t */SHOW CREATE TABLE t",
    "SHOW TABLE t STATUS",
    "show  table\nt  status LIKE 'a%'",
    "Show Index t Status",
    "SHOW TABLE t SETTINGS",
    "SHOW THREADS",
    "show variables",
    "SHOW/**/VARIABLES LIKE 'x'",
    "SHOW SETTINGS",
};

/// The same about tables, of which karmad itself knows the answer.
const std::vector<std::string> kDescriptions{"DESC t", "desc\tt", "SHOW TABLES",
                                             "/**/ show /* all */\n tables"};

class SelectionClasses : public testing::Test {
 protected:
  explicit SelectionClasses(const std::string& settings = {})
      : table_(set.table("ping_type = none\n read_preference = secondary\n " + settings, kRoles)) {}

  /// Requests that the mirrors got in `act`.
  template <class Act>
  std::vector<std::size_t> asked(Act act) {
    std::vector<std::size_t> counts;
    for (std::size_t i = 0; i < 3; ++i) counts.push_back(set[i].requests());
    act();
    for (std::size_t i = 0; i < 3; ++i) counts[i] = set[i].requests() - counts[i];
    return counts;
  }

  FakeSet set{3, json(kShown)};
  std::string table_;
};

const std::vector<std::size_t> kPrimary{1, 0, 0};
const std::vector<std::size_t> kNone{0, 0, 0};

/// Each way to send a statement over HTTP.
std::vector<Response> sent(const Master& master, const std::string& statement,
                           std::string_view fields = {}, std::string_view parameter = {}) {
  std::string encoded;
  for (const unsigned char c : statement) fmt::format_to(std::back_inserter(encoded), "%{:02X}", c);
  const auto with = [&](std::string target) {
    if (!parameter.empty()) target.append(target.contains('?') ? "&" : "?").append(parameter);
    return target;
  };
  const auto port = master.port();
  const auto form = fmt::format("{}Content-Type: application/x-www-form-urlencoded\r\n", fields);
  const auto packed = fmt::format("{}Content-Encoding: gzip\r\n", fields);
  return {ask(port, "POST", with("/sql?mode=raw"), statement, fields),
          ask(port, "POST", with("/sql?mode=raw"), "query=" + encoded, form),
          ask(port, "POST", with("/sql"), "mode=raw&query=" + encoded, form),
          ask(port, "GET", with("/sql?mode=raw&query=" + encoded), {}, fields),
          ask(port, "POST", with("/sql?mode=raw"), gzip(statement), packed),
          ask(port, "POST", with("/sql"), statement, fields),
          ask(port, "POST", with("/cli_json"), statement, fields),
          ask(port, "POST", with("/cli"), statement, fields)};
}

TEST_F(SelectionClasses, WhatDescribesTablesAndServersIsAskedOfThePrimary) {  // SS-104
  const RestingMaster master(taking_turns(), table_);
  for (const auto& statement : kShows) {
    SCOPED_TRACE(statement);
    std::vector<Response> answers;
    const auto counts = asked([&] { answers = sent(master, statement); });
    for (const auto& answer : answers) EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(counts, (std::vector<std::size_t>{answers.size(), 0, 0}));
  }
  for (const auto& statement : kDescriptions) {
    SCOPED_TRACE(statement);
    EXPECT_EQ(asked([&] {
                for (const auto& answer : sent(master, statement))
                  EXPECT_EQ(answer.status, 200) << answer.body;
              }),
              kNone);
  }
  // A search in between uses the preference of the table.
  const auto counts = asked([&] {
    for (int i = 0; i < 8; ++i)
      EXPECT_EQ(post(master.port(), "/sql?mode=raw", "SELECT id FROM t").status, 200);
  });
  EXPECT_EQ(counts[0], 0u);
  EXPECT_EQ(counts[1] + counts[2], 8u);
}

TEST_F(SelectionClasses, TheyTakeNoReadPreference) {  // SS-104
  const RestingMaster master(taking_turns(), table_);
  auto all = kShows;
  all.insert(all.end(), kDescriptions.begin(), kDescriptions.end());
  all.push_back("SELECT id FROM t; SHOW CREATE TABLE t");
  all.push_back("show tables; select id from t");
  for (const auto& statement : all)
    for (const std::string preference : {"primary", "nearest"}) {
      SCOPED_TRACE(statement);
      auto answers = sent(master, statement, preferring(preference));
      for (auto& more : sent(master, statement, {}, "read_preference=" + preference))
        answers.push_back(std::move(more));
      for (const auto& answer : answers) {
        EXPECT_EQ(answer.status, 400) << answer.body;
        EXPECT_TRUE(answer.body.contains("takes no read preference")) << answer.body;
      }
    }
  EXPECT_EQ(set.requests(), 0u);
}

TEST_F(SelectionClasses, ChangesInSqlTakeNone) {  // SS-103
  const RestingMaster master(taking_turns(), table_);
  for (const std::string statement :
       {"INSERT INTO t (id) VALUES (1)", "/* x */ replace\ninto t (id) values (1)",
        "Update t SET a = 1 WHERE id = 1", "/* x */delete FROM t WHERE id = 1",
        "SELECT id FROM t; DELETE FROM t WHERE id = 1"}) {
    SCOPED_TRACE(statement);
    for (const auto* path : {"/sql?mode=raw", "/sql", "/cli_json", "/cli"}) {
      const auto answer = ask(master.port(), "POST", path, statement, preferring("nearest"));
      EXPECT_EQ(answer.status, 400) << answer.body;
      EXPECT_TRUE(answer.body.contains("takes no read preference")) << answer.body;
    }
  }
  EXPECT_EQ(set.requests(), 0u);
}

TEST_F(SelectionClasses, StatementsAboutKarmadAskNoMirror) {
  const RestingMaster master(taking_turns(), table_);
  for (const auto* statement : {"SHOW STATUS", "SHOW AGENT STATUS", "SET NAMES utf8", "SHOW META"})
    EXPECT_EQ(ask(master.port(), "POST", "/sql?mode=raw", statement, preferring("nearest")).status,
              200)
        << statement;
  EXPECT_EQ(set.requests(), 0u);
}

TEST_F(SelectionClasses, HoldForClientsOfMysql) {  // SS-103, SS-104
  Master master(taking_turns("listen = 127.0.0.1:0:mysql"), table_);
  const auto line = master.process().wait_for(":mysql");
  ASSERT_TRUE(line);
  MysqlClient client(port_in(line->substr(0, line->rfind(':'))));
  for (const auto& statement : kShows) {
    SCOPED_TRACE(statement);
    EXPECT_EQ(asked([&] { EXPECT_EQ(client.query(statement).error, 0); }), kPrimary);
    const auto prepared = client.prepare(statement);
    if (prepared != 0) {
      EXPECT_EQ(asked([&] { EXPECT_EQ(client.execute(prepared, {}).error, 0); }), kPrimary);
    }
  }
  // There is no way to set a preference.
  for (const auto* statement : {"SET read_preference = 'secondary'", "set @@read_preference = 1",
                                "SET SESSION read_preference = nearest"})
    EXPECT_EQ(client.query(statement).error, 1064) << statement;
  EXPECT_EQ(asked([&] { client.query("SELECT id FROM t"); })[0], 0u);
}

TEST(SelectionClassesWithoutAPrimary, WaitForOneAndFail) {  // SS-104, SS-170
  FakeSet set(2, json(kShown));
  const RestingMaster master(taking_turns("selection_timeout = 100ms"),
                             set.table("ping_type = none", {"replica", "replica"}));
  const auto answer = post(master.port(), "/sql?mode=raw", "show create table t");
  EXPECT_EQ(answer.status, 503) << answer.body;
  EXPECT_TRUE(answer.body.contains("primary")) << answer.body;
  EXPECT_EQ(set.requests(), 0u);
}

TEST(SelectionClassesOfEqualMirrors, UseAny) {  // SS-145
  FakeSet set(3, json(kShown));
  for (const std::string settings :
       {"", "ping_type = none\n read_preference = secondary", "consistency = quorum"}) {
    const RestingMaster master(taking_turns(), set.table(settings));
    const auto before = set.requests();
    for (int i = 0; i < 6; ++i)
      EXPECT_EQ(post(master.port(), "/sql?mode=raw", "SHOW CREATE TABLE t").status, 200);
    EXPECT_EQ(set.requests(), before + 6) << settings;
  }
  EXPECT_EQ(set.asked(), 3u);
}

TEST(SelectionClassesAndQuorums, ThePrimaryAloneIsAsked) {  // SS-104, CO-070
  FakeSet set(3, json(kShown));
  const RestingMaster master(taking_turns(),
                             set.table("ping_type = none\n consistency = quorum", kRoles));
  EXPECT_EQ(post(master.port(), "/sql?mode=raw", "SHOW CREATE TABLE t").status, 200);
  EXPECT_EQ(set[0].requests(), 1u);
  EXPECT_EQ(set.requests(), 1u);
}

/// A table of dialect `http`.
class RoutedClasses : public SelectionClasses {
 protected:
  RoutedClasses() : SelectionClasses("dialect = http\n route = /t\n reads = /t/find") {}
};

TEST_F(RoutedClasses, ReadsOfSchemasAreAskedOfThePrimary) {  // SS-104
  const RestingMaster master(taking_turns(), table_);
  for (const std::string target :
       {"/t/_mapping", "/t/books/_mapping/field/title", "/t/_cat/indices?v", "/t/books/_settings",
        "/t/_alias", "/t/books/schema", "/t/books/schema/fields/title",
        "/t/admin/collections?action=LIST", "/t/d/table_list"}) {
    SCOPED_TRACE(target);
    EXPECT_EQ(asked([&] { EXPECT_EQ(get(master.port(), target).status, 200); }), kPrimary);
    for (const auto* method : {"GET", "HEAD"})
      EXPECT_EQ(ask(master.port(), method, target, {}, preferring("nearest")).status, 400);
  }
  for (const std::string target : {"/t/books/select", "/t/_search", "/t/schemas", "/t/_mappingx"})
    EXPECT_EQ(asked([&] { EXPECT_EQ(get(master.port(), target).status, 200); })[0], 0u) << target;
}

TEST_F(RoutedClasses, AnUnclassifiedRequestGoesToThePrimaryOrWhereItsPreferenceSays) {
  const RestingMaster master(taking_turns(), table_);
  for (const std::string target : {"/t/unknown", "/t", "/t/books/finder", "/t/FIND"}) {
    SCOPED_TRACE(target);
    const auto with = [&](std::string_view preference) {
      return asked([&] {
        const auto answer = ask(master.port(), "POST", target, "x", preferring(preference));
        EXPECT_EQ(answer.status, 200) << answer.body;
      });
    };
    // The configured preference is not applied (SS-101).
    EXPECT_EQ(asked([&] { EXPECT_EQ(post(master.port(), target, "x").status, 200); }), kPrimary);
    EXPECT_EQ(with("primary"), kPrimary);  // SS-102
    EXPECT_EQ(with("secondary")[0], 0u);
    EXPECT_TRUE(set[1].seen().empty() || set[1].seen().back().starts_with("POST ")) << target;
    EXPECT_EQ(
        asked([&] { post(master.port(), target + "?read_preference=secondaryPreferred", "x"); })[0],
        0u);
  }
  const auto seen = set[1].seen().empty() ? set[2].seen().back() : set[1].seen().back();
  EXPECT_TRUE(seen.contains("X-Read-Preference: ")) << seen;  // SS-097
}

TEST_F(RoutedClasses, UpdatesTakeNone) {  // SS-103
  const RestingMaster master(taking_turns(), table_);
  const struct {
    std::string_view method;
    std::string_view target;
  } updates[] = {{"PUT", "/t/x"},       {"DELETE", "/t/x"},
                 {"PATCH", "/t/x"},     {"POST", "/t/_doc"},
                 {"POST", "/t/_doc/1"}, {"POST", "/t/_update/1"},
                 {"POST", "/t/_bulk"},  {"POST", "/t/_delete_by_query?q=x"}};
  for (const auto& update : updates) {
    SCOPED_TRACE(update.target);
    for (const std::string_view preference : {"primary", "nearest"}) {
      const auto answer =
          ask(master.port(), update.method, update.target, "x", preferring(preference));
      EXPECT_EQ(answer.status, 400) << answer.body;
    }
    EXPECT_EQ(asked([&] {
                EXPECT_EQ(ask(master.port(), update.method, update.target, "x").status, 200);
              }),
              kPrimary);
  }
}

// Its preference says where it may go, not that it only reads.
TEST_F(RoutedClasses, AnUnclassifiedRequestIsSentOnce) {  // SS-102, BP-010
  for (const auto& reaction :
       {Reaction{"", Reaction::Then::reset}, Reaction{"", Reaction::Then::close}, silence()}) {
    set.react(reaction);
    const RestingMaster master(taking_turns("agent_query_timeout = 200ms\n agent_retry_count = 3\n"
                                            " hedge = 20ms"),
                               table_);
    for (const std::string_view preference : {"secondary", "nearest", "primary"}) {
      const auto before = set.requests();
      const auto answer = ask(master.port(), "POST", "/t/unknown", "x", preferring(preference));
      EXPECT_GE(answer.status, 500);
      EXPECT_EQ(set.requests(), before + 1) << preference;
    }
  }
}

TEST(RoutedClassesOfEqualMirrors, AnUnclassifiedRequestNeedsAPreference) {  // SS-102
  FakeSet set(2, json("{}"));
  const RestingMaster master(taking_turns(), set.table("dialect = http\n route = /t"));
  EXPECT_EQ(post(master.port(), "/t/unknown", "x").status, 403);
  EXPECT_EQ(set.requests(), 0u);
  EXPECT_EQ(ask(master.port(), "POST", "/t/unknown", "x", preferring("nearest")).status, 200);
  EXPECT_EQ(set.requests(), 1u);
}

}  // namespace
}  // namespace karmad::test
