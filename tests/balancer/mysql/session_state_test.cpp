#include "balancer/mysql/session_state.hpp"

#include <gtest/gtest.h>

namespace karmad::mysql {
namespace {

/// A connection whose statements are carried out.
struct StateOfClient {
  SessionState state;

  ConnectionFacts facts() const {
    return {.id = 7,
            .warning = state.warning ? &*state.warning : nullptr,
            .variables = &state.variables,
            .max_packet_size = 1000,
            .idle_seconds = 300};
  }
  /// The number of warnings, or the code of the error.
  int run(std::string_view text) {
    const auto read = sql::read_as<sql::SessionStatement>(text, sql::StatementKind::session);
    if (!read) return 1064;
    const auto done = state.carry_out(*read, facts());
    return done ? *done : done.error().code;
  }
  std::string value(std::string_view name) const {
    return value_of_variable(name, facts()).value_or("unknown");
  }
};

// The flags are those that the search server sends.
TEST(SessionState, ShowsAutocommitAndTheTransactionInItsFlags) {
  StateOfClient client;
  EXPECT_EQ(client.state.status(), 2);
  const std::pair<const char*, int> steps[] = {{"SET autocommit=0", 0},
                                               {"BEGIN", 1},
                                               {"COMMIT", 0},
                                               {"SET autocommit=1", 2},
                                               {"BEGIN", 3},
                                               {"COMMIT", 2},
                                               {"START TRANSACTION", 3},
                                               {"ROLLBACK", 2},
                                               {"begin", 3},
                                               {"commit and chain", 3},
                                               {"rollback to s", 3},
                                               {"set autocommit = off", 1},
                                               {"set @@session.autocommit = ON", 2}};
  for (const auto& [statement, status] : steps) {
    EXPECT_EQ(client.run(statement), 0) << statement;
    EXPECT_EQ(client.state.status(), status) << statement;
  }
}

TEST(SessionState, WarnsOfARollbackAfterAChangeInTheTransaction) {
  const struct {
    std::vector<const char*> before;  // `change`: documents are changed
    const char* statement;
    int warnings;
  } cases[] = {
      {{"change"}, "ROLLBACK", 0},
      {{"BEGIN"}, "ROLLBACK", 0},
      {{"BEGIN", "change"}, "ROLLBACK", 1},
      {{"BEGIN", "change"}, "ROLLBACK TO SAVEPOINT s", 1},
      {{"BEGIN", "change", "ROLLBACK TO s"}, "ROLLBACK", 1},
      {{"BEGIN", "change"}, "COMMIT", 0},
      {{"BEGIN", "change", "COMMIT"}, "ROLLBACK", 0},
      {{"BEGIN", "change", "BEGIN"}, "ROLLBACK", 0},
      {{"SET autocommit=0", "change"}, "ROLLBACK", 1},
      {{"SET autocommit=0", "change", "ROLLBACK"}, "ROLLBACK", 0},
      {{"SET autocommit=0", "change", "SET autocommit=1"}, "ROLLBACK", 0},
      {{"SET autocommit=0", "change", "SET autocommit=0"}, "ROLLBACK", 1},
      {{"BEGIN", "change", "ROLLBACK AND CHAIN"}, "ROLLBACK", 0},
  };
  for (const auto& c : cases) {
    StateOfClient client;
    std::string trail;
    for (const auto* step : c.before) {
      trail.append(step).append("; ");
      if (std::string_view(step) == "change") {
        client.state.note_change();
      } else {
        client.run(step);
      }
    }
    EXPECT_EQ(client.run(c.statement), c.warnings) << trail << c.statement;
    if (c.warnings == 0) continue;
    ASSERT_TRUE(client.state.warning);
    EXPECT_EQ(client.state.warning->code, 1196);
    EXPECT_EQ(client.value("@@warning_count"), "1");
  }
}

TEST(SessionState, ReadsOnlyAsTheClientSaysSo) {
  StateOfClient client;
  const std::pair<const char*, bool> steps[] = {
      {"START TRANSACTION READ ONLY", true},
      {"COMMIT", false},
      {"START TRANSACTION READ WRITE", false},
      {"ROLLBACK", false},
      {"SET TRANSACTION READ ONLY", false},
      {"SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY", true},
      {"BEGIN", true},
      {"COMMIT", true},
      {"SET tx_read_only = off", false},
      {"SET SESSION transaction_read_only = 1", true},
      {"SET SESSION TRANSACTION READ WRITE", false},
  };
  for (const auto& [statement, reads_only] : steps) {
    EXPECT_EQ(client.run(statement), 0) << statement;
    EXPECT_EQ(client.state.read_only(), reads_only) << statement;
  }
  EXPECT_EQ(client.value("@@tx_isolation"), "SERIALIZABLE");
}

TEST(Variables, HaveTheValuesThatWereSet) {
  const struct {
    const char* statement;
    const char* name;
    const char* value;
  } cases[] = {
      {"SET autocommit = 'off'", "@@autocommit", "0"},
      {"SET autocommit = false", "@@session.autocommit", "0"},
      {"SET autocommit = 0", "@@global.autocommit", "1"},
      {"SET autocommit = 0, autocommit = default", "@@autocommit", "1"},
      {"SET sql_mode = concat(@@sql_mode,',STRICT_TRANS_TABLES')", "@@sql_mode",
       "STRICT_TRANS_TABLES"},
      {"SET sql_mode=CONCAT('A', @@sql_mode, ',B', ',C')", "@@sql_mode", "A,B,C"},
      {"SET sql_mode='A', sql_mode=CONCAT(@@sql_mode, ',B')", "@@sql_mode", "B"},  // as MySQL
      {"SET sql_mode = ANSI_QUOTES", "@@sql_mode", "ANSI_QUOTES"},
      {"SET sql_mode = REPLACE(@@sql_mode, 'A', '')", "@@sql_mode", ""},
      {"SET @b = concat('it''s', \"x\", 5, @@autocommit)", "@b", "it'sx51"},
      {"SET @a = 5, @a = NULL", "@a", "unknown"},
      {"SET @a = '\\n\\''", "@a", "\n'"},
      {"SET @OLD=@@sql_mode, sql_mode='X', sql_mode=@OLD", "@@sql_mode", ""},
      {"SET @x = concat('a', @none)", "@x", "unknown"},
      {"SET @x = ((-1.5))", "@x", "-1.5"},
      {"SET @x = 5 + 1", "@x", "6"},
      {"SET @x = nosuch(1)", "@x", "unknown"},
      {"SET @x = IF(@@autocommit, 'on', 'off')", "@x", "on"},
      {"SET foo = bar", "@@foo", "bar"},
      {"SET foreign_key_checks = OFF", "@@foreign_key_checks", "0"},
      {"SET query_cache_type = OFF", "@@query_cache_type", "OFF"},
      {"SET NAMES latin1", "@@character_set_client", "utf8mb4"},
      {"SET NAMES utf8", "@@character_set_results", "utf8"},
      {"SET NAMES 'utf8' COLLATE 'utf8_bin'", "@@collation_connection", "utf8_bin"},
      {"SET NAMES utf8, NAMES default", "@@collation_connection", "utf8mb4_general_ci"},
      {"SET CHARACTER SET binary", "@@collation_connection", "binary"},
      {"SET character_set_results = NULL", "@@character_set_results", "utf8mb4"},
      {"SET wait_timeout = 5", "@@wait_timeout", "5"},
      {"SET wait_timeout = 28800", "@@wait_timeout", "300"},
      {"SET wait_timeout = 0", "@@wait_timeout", "1"},
      {"SET sql_select_limit = 5", "@@sql_select_limit", "5"},
      {"SET @@SESSION.`sql_select_limit` = 6", "@@sql_select_limit", "6"},
      {"SET @@`SQL_MODE`='X'", "@@sql_mode", "X"},
      {"SET @`a b` = @@local.`wait_timeout`", "@a b", "300"},
      {"SET @'C d' = 7, @x = 8", "@c d", "7"},
      {"SET @\"e=f\" := @@wait_timeout", "@e=f", "300"},
      {"SET @x = CONCAT(@@`wait_timeout`, '/', @@Session.`autocommit`)", "@x", "300/1"},
      {"SET sql_select_limit = default", "@@sql_select_limit", "18446744073709551615"},
      {"SET max_allowed_packet = 5, version = 6", "@@max_allowed_packet", "1000"},
      {"SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ", "@@transaction_isolation",
       "REPEATABLE-READ"},
      {"SET tx_isolation = 'READ-UNCOMMITTED'", "@@transaction_isolation", "READ-UNCOMMITTED"},
  };
  for (const auto& c : cases) {
    StateOfClient client;
    client.run(c.statement);
    EXPECT_EQ(client.value(c.name), c.value) << c.statement;
  }
}

TEST(Variables, WithAnEffectTakeNoOtherValues) {
  const std::pair<const char*, int> cases[] = {
      {"SET NAMES latin1", 1115},
      {"SET CHARACTER SET 'cp1251'", 1115},
      {"SET NAMES utf8 COLLATE latin1_bin", 1115},
      {"SET NAMES utf8 x", 1064},
      {"SET character_set_client = latin1", 1115},
      {"SET character_set_client = NULL", 1231},
      {"SET character_set_results = @none", 0},
      {"SET collation_connection = 'koi8r_general_ci'", 1115},
      {"SET autocommit = 2", 1231},
      {"SET autocommit = 1+1", 1231},
      {"SET autocommit = nosuch(1)", 1231},
      {"SET autocommit = @@sql_mode", 1231},
      {"SET autocommit = NULL", 1231},
      {"SET autocommit = @@autocommit", 0},
      {"SET sql_select_limit = ''", 1231},
      {"SET sql_select_limit = -1", 1231},
      {"SET wait_timeout = 1.5", 1231},
      {"SET transaction_read_only = 'x'", 1231},
      {"SET SESSION TRANSACTION ISOLATION LEVEL NONE", 1064},
      {"SET @a = 5, sql_mode = 'x', autocommit = x", 1231},
  };
  for (const auto& [statement, code] : cases) {
    StateOfClient client;
    EXPECT_EQ(client.run(statement), code) << statement;
    EXPECT_EQ(client.value("@a"), "unknown") << statement;
    EXPECT_EQ(client.value("@@autocommit"), "1") << statement;
  }
}

TEST(Variables, OfAConnectionHaveABound) {
  StateOfClient client;
  EXPECT_EQ(client.run("SET @a = '" + std::string(5000, 'x') + "'"), 1105);
  EXPECT_EQ(client.run("SET @a = '" + std::string(4000, 'x') + "'"), 0);
  EXPECT_EQ(client.run("SET @b = '" + std::string(100, 'x') + "'"), 1105);
  EXPECT_EQ(client.run("SET @a = NULL, @b = '" + std::string(100, 'x') + "'"), 0);
  std::string deep = "SET @c = ";
  for (int i = 0; i < 3000; ++i) deep += '(';
  deep += '1' + std::string(3000, ')');
  EXPECT_EQ(client.run(deep), 0);
  EXPECT_EQ(client.value("@c"), "unknown");
}

}  // namespace
}  // namespace karmad::mysql
