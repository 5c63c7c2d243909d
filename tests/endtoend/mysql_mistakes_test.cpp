// Mistakes of MySQL clients, hostile ones, and bounds.
#include <gtest/gtest.h>

#include <csignal>
#include <memory>
#include <random>

#include "tests/endtoend/mysql_master.hpp"

namespace karmad::test {
namespace {

TEST(AMysqlClient, IsRefusedByTheSameLimitsAsARequest) {
  FakeMirror mirror(rows_for_all());
  MysqlMaster karmad(mirror,
                     "max_connections = 2\n ingress_request_rate = 1/s\n "
                     "ingress_request_burst = 1s\n status_on_query_port = no\n "
                     "max_packet_size = 1M");
  MysqlClient client(karmad.port());
  EXPECT_EQ(client.query("SHOW AGENT STATUS").error, 1227);
  const auto over_rate = [&] { return client.query("SELECT id FROM t").error == 1040; };
  EXPECT_TRUE(eventually(over_rate));
  MysqlClient second(karmad.port());
  EXPECT_EQ(second.welcome().error, 0);
  const MysqlClient third(karmad.port());
  EXPECT_EQ(third.welcome().error, 1040);
  EXPECT_EQ(third.welcome().text, "too many connections (max_connections)");
  EXPECT_EQ(second.query(std::string(2 << 20, 'x')).error, 1153);
  EXPECT_TRUE(second.closed());
  karmad.master().process().signal(SIGTERM);  // what it is at rest it may not tell
  EXPECT_EQ(karmad.master().process().wait(), 0);
}

TEST(AMysqlClient, ThatSendsAllOfATooLongCommandFirstIsToldWhyItIsRefused) {
  FakeMirror mirror(rows_for_all());
  MysqlMaster karmad(mirror, "max_packet_size = 1M");
  MysqlClient client(karmad.port());
  constexpr std::size_t kSize = 15 << 20;  // more than the kernel holds for both sides
  std::string command("\0\0\0\0\3", 5);
  command[2] = static_cast<char>(kSize >> 16);
  command.resize(4 + kSize, 'x');
  EXPECT_TRUE(client.send(command));
  EXPECT_EQ(client.next_result().error, 1153);
  EXPECT_TRUE(client.closed());
}

TEST(AMysqlClient, MaySendNoLongPacketBeforeItHasLoggedIn) {
  using namespace std::string_view_literals;
  FakeMirror mirror(rows_for_all());
  MysqlMaster karmad(mirror);
  for (const auto header : {"\1\0\4\1"sv, "\xff\xff\xff\1"sv}) {
    MysqlClient client(karmad.port(), std::string(header) + "zz");
    const auto refusal = client.next_packet();
    EXPECT_TRUE(refusal.contains("larger than 262144 bytes, before a login")) << refusal;
    EXPECT_TRUE(client.closed());
  }
  std::string login("\0\x82\x08\0", 4);  // protocol 4.1, SECURE_CONNECTION, PLUGIN_AUTH
  login.append(4 + 1 + 23, '\0').append("ann\0\0mysql_native_password\0"sv);
  MysqlClient client(karmad.port(), MysqlClient::packet_of(login + std::string(200'000, 'x'), 1));
  EXPECT_TRUE(client.next_packet().starts_with("\2\0"sv)) << "OK";
}

TEST(AMysqlClient, IsToldWhyAChangeFailedInPart) {
  FakeMirror good([](const std::string&) { return json(kOneChanged); });
  FakeMirror full([](const std::string&) { return json(R"({"error":"disk full"})", 500); });
  MysqlMaster karmad(good, "", "mysql", fmt::format("agent = {}:t", full.address()));
  MysqlClient client(karmad.port());
  const auto got = client.query("UPDATE t SET a=1 WHERE a=2");
  EXPECT_EQ(got.error, 1105);
  EXPECT_TRUE(got.text.contains("disk full")) << got.text;
}

TEST(AMysqlClient, IsAnsweredAfterAnyBytesOfOthers) {
  FakeMirror mirror(rows_for_all());
  MysqlMaster karmad(mirror);
  MysqlClient earlier(karmad.port());
  std::minstd_rand random(11);
  for (int round = 0; round < 60; ++round) {
    MysqlClient client(karmad.port(), static_cast<std::uint32_t>(random()));
    std::string bytes(1 + random() % 60, '\0');
    for (auto& byte : bytes) byte = static_cast<char>(random());
    if (round % 2 == 0) {  // a well-formed packet with any command
      bytes[0] = static_cast<char>(bytes.size() - 4);
      if (bytes.size() > 4) bytes[1] = bytes[2] = bytes[3] = 0;
    }
    client.send(bytes);
    if (round % 10 == 0) {
      EXPECT_EQ(earlier.query("SELECT id FROM t").rows, (Rows{"1|a \"b\"", "2|NULL"})) << round;
    }
  }
  MysqlClient later(karmad.port());
  EXPECT_EQ(later.query("SELECT id FROM t").rows, (Rows{"1|a \"b\"", "2|NULL"}));
  EXPECT_EQ(earlier.query("SELECT id FROM t").rows, (Rows{"1|a \"b\"", "2|NULL"}));
  EXPECT_EQ(mirror.requests(), 8U);
}

TEST(AMysqlClient, IsToldTheKindOfItsMistake) {
  FakeMirror mirror(rows_for_all());
  MysqlMaster karmad(mirror);
  MysqlClient client(karmad.port());
  const struct {
    const char* statement;
    int error;
  } cases[] = {
      {"SELECT 'x FROM t", 1064},
      {"SELECT id FROM t -- x", 1064},
      {"SELECT id FROM t # x", 1064},
      {"SHOW TABLE t", 1064},
      {"SELECT '\xff' FROM t", 1300},
      {"", 1065},
      {"/* x */", 1065},
      {"DROP TABLE t", 1064},
      {"SET autocommit = maybe", 1231},
      {"SET NAMES latin1", 1115},
      {"SET sql_select_limit = few", 1231},
      {"SET GLOBAL foo = 1", 1064},
      {"BEGIN x", 1064},
      {"SELECT NOW(), VERSION()", 1064},
  };
  for (const auto& c : cases) EXPECT_EQ(client.query(c.statement).error, c.error) << c.statement;
  EXPECT_EQ(client.query("SELECT id FROM t").error, 0);
  EXPECT_EQ(mirror.requests(), 1U);
}

TEST(AMysqlClient, RepeatsNoChangeByShowMeta) {
  FakeMirror mirror([](const std::string& request) {
    return json(body_in(request).contains("UPDATE") ? kOneChanged : kMysqlRows);
  });
  MysqlMaster karmad(mirror);
  MysqlClient client(karmad.port());
  for (const auto* change :
       {"UPDATE t SET a=1 WHERE id=1", "REPLACE INTO t (id, a) VALUES (1, 1)"}) {
    client.query(change);
    const auto before = mirror.requests();
    EXPECT_EQ(client.query("SHOW META").rows.size(), 0U);
    EXPECT_EQ(client.query("SHOW WARNINGS").error, 0);
    EXPECT_EQ(client.query("SHOW PLAN").error, 1064);
    EXPECT_EQ(mirror.requests(), before) << change;
  }
  client.query("SELECT id FROM t");
  client.query("UPDATE t SET a=1 WHERE id=1");
  client.query("SHOW META");
  const auto asked = body_in(mirror.seen().back());
  EXPECT_TRUE(asked.starts_with("SELECT id") && asked.ends_with("SHOW META")) << asked;
}

TEST(AMysqlClient, KeepsAWarningDuringStatementsThatAreAnsweredHere) {
  FakeMirror mirror([](const std::string& request) {
    const auto statement = body_in(request);
    if (!statement.starts_with("SELECT warned") || statement.contains("META"))
      return json(kMysqlRows);
    return json(R"([{"columns":[{"a":{"type":"string"}}],"data":[],"total":0,"warning":"w"}])");
  });
  MysqlMaster karmad(mirror);
  MysqlClient client(karmad.port());
  const Rows warning{"warning|1000|w"};
  const auto warnings = [&] { return client.query("SHOW WARNINGS").rows; };
  for (const auto* clearing : {"SHOW TABLES", "SELECT id FROM t", "SELECT id FROM nope"}) {
    EXPECT_EQ(client.query("SELECT warned FROM t").warnings, 1U);
    for (const auto* local : {"SET NAMES utf8", "USE shop", "COMMIT", "SELECT DATABASE()",
                              "SELECT @@version", "SHOW DATABASES", "BEGIN", "SET @a=1", "ROLLBACK",
                              "SHOW META", "SHOW META LIKE 'total%'", ""}) {
      client.query(local);
      EXPECT_EQ(warnings(), warning) << local;
    }
    client.query(clearing);
    EXPECT_EQ(warnings(), Rows{}) << clearing;
  }
}

TEST(AMysqlClient, GetsAnErrorForAnAnswerThatCannotBeRead) {
  FakeMirror mirror([](const std::string& request) {
    return json(body_in(request).starts_with("SELECT") ? "[{}]" : kMysqlRows);
  });
  MysqlMaster karmad(mirror);
  MysqlClient client(karmad.port());
  EXPECT_EQ(client.query("SELECT id FROM t").error, 1105);
  EXPECT_EQ(client.query("UPDATE t SET a=1 WHERE id=1").error, 1105);
  EXPECT_EQ(client.query("CALL SNIPPETS('x', 't', 'x')").rows.size(), 2U);
}

TEST(AMysqlClient, GetsTheRowsOfAnotherMirrorInPlaceOfHits) {
  FakeMirror bad([](const std::string&) {
    return json(R"({"took":1,"timed_out":false,"hits":{"total":1,"hits":[{"_id":1}]}})");
  });
  FakeMirror good(rows_for_all());
  const MysqlMaster karmad(bad, "ha_strategy = roundrobin", "mysql", "", good.address());
  MysqlClient client(karmad.port());
  for (int i = 0; i < 4; ++i) EXPECT_EQ(client.query("SELECT id, title FROM t").rows.size(), 2U);
}

// PHP's buffer has 4096 bytes: it would take the rest for the next packet.
TEST(AMysqlClient, GetsNoMoreOfAnErrorThanItsBufferHoldsAndTheLogHasTheWhole) {
  std::string cut = "x";
  for (int i = 0; i < 2000; ++i) cut += "\u00e4";  // two bytes each
  const std::string whole = "P01: syntax error, unexpected " + cut;
  FakeMirror mirror([&](const std::string& request) {
    const auto text = R"("error":")" + whole + '"';
    if (body_in(request).contains("within")) return json("[{" + text + "}]");
    return json("{" + text + "}", 500);
  });
  MysqlMaster karmad(mirror);
  MysqlClient client(karmad.port());
  for (const auto* statement : {"SELECT id FROM t WHERE a==b", "SELECT within FROM t"}) {
    const auto got = client.query(statement);
    EXPECT_EQ(got.error, 1064) << statement;
    EXPECT_TRUE(got.text.contains("P01: syntax error, unexpected x\u00e4")) << got.text;
    EXPECT_LE(got.text.size(), 511U);
    EXPECT_GE(got.text.size(), 508U);
    EXPECT_TRUE(got.text.ends_with("\u00e4")) << "a character is cut";
    EXPECT_TRUE(karmad.master().process().wait_for(whole)) << statement;
  }
  EXPECT_EQ(client.query("SELECT " + std::string(3000, 'x') + " FROM nope").error, 1146);
}

TEST(AMysqlClient, IsToldThatACommandCannotBeCarriedOut) {
  FakeMirror mirror(rows_for_all());
  MysqlMaster karmad(mirror);
  MysqlClient client(karmad.port());
  const std::string number("\x05\0\0\0", 4);
  EXPECT_EQ(client.command(0x1a, number).error, 1243);  // COM_STMT_RESET
  EXPECT_EQ(client.command(0x17, number + std::string(5, '\0')).error, 1243);
  const auto id = client.prepare("SELECT id FROM t");
  EXPECT_EQ(
      client.command(0x1a, std::string(1, static_cast<char>(id)) + std::string(3, '\0')).error, 0);
  for (const std::string_view unreadable :
       {std::string_view(), std::string_view("eve"), std::string_view("eve\0\x14short", 10),
        std::string_view("eve\0\0market", 11), std::string_view("eve\0\0market\0\x2d", 13),
        std::string_view("eve\0\0market\0\x2d\0plugin", 20)}) {
    MysqlClient other(karmad.port());
    EXPECT_EQ(other.command(0x11, unreadable).error, 1043) << unreadable;
    EXPECT_TRUE(other.closed());
  }
  EXPECT_EQ(mirror.requests(), 0U);
}

TEST(AMysqlClient, ThatSendsAPartOfACommandIsToldWhatIsMissing) {
  FakeMirror mirror(rows_for_all());
  MysqlMaster karmad(mirror);
  MysqlClient client(karmad.port());  // the handshake has the usual time
  ASSERT_TRUE(karmad.reload("network_timeout = 200ms"));
  EXPECT_EQ(client.query("SELECT id FROM t").error, 0);
  client.send(std::string("\x11\0\0\0\3SEL", 8));
  const auto got = client.next_result();
  EXPECT_EQ(got.error, 1159);
  EXPECT_TRUE(got.text.contains("network_timeout")) << got.text;
  EXPECT_TRUE(client.closed());
}

TEST(AMysqlClient, HasLongStatementsAndAnswersReadByHelperThreads) {
  FakeMirror mirror(rows_for_all());
  MysqlMaster karmad(mirror, "workers = 1\n long_work_size = 1K");
  MysqlClient client(karmad.port());
  const auto done = [&] { return karmad.master().count("long_work"); };
  EXPECT_EQ(client.query("SELECT CONNECTION_ID()").rows, Rows{"1"});
  EXPECT_EQ(done(), 0);
  const auto filler = "/*" + std::string(2000, 'x') + "*/";
  EXPECT_EQ(client.query(filler + "SELECT DATABASE()").error, 0);
  EXPECT_EQ(done(), 2);  // split, read
  EXPECT_EQ(client.query(filler).error, 1065);
  EXPECT_EQ(done(), 4);
  const auto id = client.prepare(filler + "SELECT ?, " + std::string(40, 'a') + " FROM t");
  ASSERT_NE(id, 0U);
  EXPECT_EQ(done(), 5);
  EXPECT_EQ(client.execute(id, {"x"}).rows.size(), 2U);
  EXPECT_GE(done(), 7);  // bind, read; then the pipeline
  EXPECT_EQ(client.prepare("SELECT '" + filler), 0U);
  EXPECT_EQ(client.query("SELECT id FROM t").rows.size(), 2U);
}

TEST(AMysqlClient, MayPrepareStatementsUpToABound) {
  FakeMirror mirror(rows_for_all());
  MysqlMaster karmad(mirror, "memory_limit = 64M");
  MysqlClient client(karmad.port());
  const auto text = "SELECT '" + std::string(1 << 20, 'x') + "'";
  const auto used = [&] { return karmad.master().count("memory_used"); };
  for (int i = 0; i < 3; ++i) EXPECT_NE(client.prepare(text), 0U);
  EXPECT_GE(used(), 3 << 20);
  EXPECT_EQ(client.prepare(text), 0U);
  EXPECT_EQ(client.command(0x16, std::string(5 << 20, 'x')).error,
            1461);                           // its end is not looked for
  EXPECT_EQ(client.command(0x1f).error, 0);  // reset
  EXPECT_TRUE(eventually([&] { return used() == 0; }));
}

TEST(AMysqlClient, ThatIsIdleGivesUpItsStatementsWhenMemoryRunsOut) {
  FakeMirror mirror(rows_for_all());
  MysqlMaster karmad(mirror, "workers = 1\n memory_limit = 16M");
  const auto statement = [](std::size_t size) { return "SELECT '" + std::string(size, 'x') + "'"; };
  const auto prepare = [&](MysqlClient& client, int count) {
    for (int i = 0; i < count; ++i) EXPECT_NE(client.prepare(statement(1 << 20)), 0U) << i;
  };
  MysqlClient largest(karmad.port());
  prepare(largest, 3);
  EXPECT_NE(largest.prepare(statement(200'000)), 0U);
  std::vector<std::unique_ptr<MysqlClient>> others;
  for (int i = 0; i < 5; ++i)
    prepare(*others.emplace_back(std::make_unique<MysqlClient>(karmad.port())), 2);
  MysqlClient last(karmad.port());
  prepare(last, 3);  // beyond the limit
  const auto why = largest.next_result();
  EXPECT_EQ(why.error, 1040);
  EXPECT_TRUE(why.text.contains("memory_limit")) << why.text;
  EXPECT_TRUE(largest.closed());
}

}  // namespace
}  // namespace karmad::test
