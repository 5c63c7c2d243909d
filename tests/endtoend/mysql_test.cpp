// Clients of the MySQL protocol: the real program, and packets written by hand.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <deque>
#include <memory>
#include <optional>

#include "tests/endtoend/mysql_master.hpp"

namespace karmad::test {
namespace {

TEST(AMysqlClient, GetsTheRowsOfItsStatementAndKeepsTheConnectionAfterAnError) {
  FakeMirror mirror([](const std::string& request) {
    if (body_in(request).contains("bad"))
      return json(R"({"error":"P01: syntax error near 'bad'"})", 500);
    return json(kMysqlRows);
  });
  MysqlMaster karmad(mirror);
  for (const auto* plugin : {"mysql_native_password", "caching_sha2_password", "client_ed25519"}) {
    MysqlClient client(karmad.port(), 0, plugin);
    ASSERT_EQ(client.welcome().error, 0) << plugin;
    EXPECT_TRUE(client.version().starts_with("8.0.0-karmad-"));
    const auto got = client.query("SELECT id, title FROM t LIMIT 2");
    EXPECT_EQ(got.columns, (Rows{"id", "title"}));
    EXPECT_EQ(got.rows, (Rows{"1|a \"b\"", "2|NULL"}));
    EXPECT_EQ(client.query("SELECT bad FROM t").error, 1064);
    EXPECT_EQ(client.query("SELECT id FROM nope").error, 1146);
    EXPECT_EQ(client.query("SELECT id FROM t").rows.size(), 2U);
  }
  const auto seen = mirror.seen();
  ASSERT_FALSE(seen.empty());
  EXPECT_TRUE(seen[0].starts_with("POST /sql?mode=raw HTTP/1.1\r\n")) << seen[0];
  EXPECT_EQ(body_in(seen[0]), "SELECT id, title FROM t LIMIT 2");
  EXPECT_EQ(karmad.master().count("mysql_connections"), 3);
  EXPECT_EQ(karmad.master().count("mysql_queries"), 12);
  EXPECT_EQ(karmad.master().count("mysql_query_errors"), 6);
}

/// A packet's number and its payload.
std::string numbered(char number, std::string_view payload) {
  return number + std::string(payload);
}

const std::string kOkOfHandshake("\0\0\0\2\0\0\0", 7);
constexpr std::size_t kSwitchSize = 1 + 1 + sizeof "caching_sha2_password" + 20 + 1;

/// The answer to the greeting of libmysqlclient 8, whose plugin is not that of the greeting: it has
/// no data for it yet.
std::string libmysqlclient_hello(std::string_view data = {"\0", 1}) {
  return std::string("\x85\xa6\xff\x19\0\0\0\1\xff", 9) + std::string(23, '\0') + "ann" + '\0' +
         std::string(data) + "caching_sha2_password" + '\0' +
         std::string(
             "\x0d\4_pid\x07"
             "1234567",
             14);
}

void expect_salt(const std::string& packet, char number) {
  ASSERT_EQ(packet.size(), kSwitchSize);
  EXPECT_TRUE(packet.starts_with(numbered(number,
                                          "\xfe"
                                          "caching_sha2_password") +
                                 '\0'));
  EXPECT_EQ(packet.back(), '\0');
  EXPECT_EQ(packet.find('\0', kSwitchSize - 21), kSwitchSize - 1);  // none within the salt
}

TEST(AMysqlClient, OfCachingSha2PasswordThatHasSentNothingGetsASalt) {
  FakeMirror mirror(rows_for_all());
  MysqlMaster karmad(mirror);
  MysqlClient client(karmad.port(), MysqlClient::packet_of(libmysqlclient_hello(), 1));
  expect_salt(client.next_packet(), 2);
  client.send(MysqlClient::packet_of(std::string(32, 'h'), 3));
  EXPECT_EQ(client.next_packet(), numbered(4, "\1\3"));
  EXPECT_EQ(client.next_packet(), numbered(5, kOkOfHandshake));
  EXPECT_EQ(client.query("SELECT USER()").error, 0);

  MysqlClient without_password(karmad.port(), MysqlClient::packet_of(libmysqlclient_hello(), 1));
  expect_salt(without_password.next_packet(), 2);
  without_password.send(MysqlClient::packet_of({"\0", 1}, 3));
  EXPECT_EQ(without_password.next_packet(), numbered(4, kOkOfHandshake));

  MysqlClient with_data(karmad.port(), MysqlClient::packet_of(
                                           libmysqlclient_hello('\x20' + std::string(32, 'h')), 1));
  EXPECT_EQ(with_data.next_packet(), numbered(2, "\1\3"));
  EXPECT_EQ(with_data.next_packet(), numbered(3, kOkOfHandshake));
}

TEST(AMysqlClient, ChangesItsUserByAnyPlugin) {
  FakeMirror mirror(rows_for_all());
  MysqlMaster karmad(mirror);
  MysqlClient client(karmad.port());
  const auto change = [](std::string_view user, std::string_view proof, std::string_view plugin) {
    return MysqlClient::packet_of(
        '\x11' + std::string(user) + '\0' + static_cast<char>(proof.size()) + std::string(proof) +
            "market" + '\0' + std::string("\x2d\0", 2) + std::string(plugin) + '\0',
        0);
  };
  EXPECT_EQ(client.query("SET @a = 5, autocommit = 0").error, 0);
  client.send(change("eve", "", "caching_sha2_password"));
  expect_salt(client.next_packet(), 1);
  client.send(MysqlClient::packet_of(std::string(32, 'h'), 2));
  EXPECT_EQ(client.next_packet(), numbered(3, "\1\3"));
  EXPECT_EQ(client.next_packet(), numbered(4, kOkOfHandshake));
  EXPECT_EQ(client.query("SELECT DATABASE(), USER(), @a").rows, Rows{"market|eve@127.0.0.1|NULL"});
  client.send(change("ann", std::string(32, 'h'), "caching_sha2_password"));
  EXPECT_EQ(client.next_packet(), numbered(1, "\1\3"));
  EXPECT_EQ(client.next_packet(), numbered(2, kOkOfHandshake));
  client.send(change("bob", std::string(20, 'h'), "mysql_native_password"));
  EXPECT_EQ(client.next_packet(), numbered(1, kOkOfHandshake));
  client.send(change("kim", "", "client_ed25519"));
  EXPECT_TRUE(client.next_packet().starts_with(numbered(1,
                                                        "\xfe"
                                                        "mysql_native_password") +
                                               '\0'));
  client.send(MysqlClient::packet_of(std::string(20, 's'), 2) +
              MysqlClient::packet_of("\3SELECT USER()", 0));
  EXPECT_EQ(client.next_packet(), numbered(3, kOkOfHandshake));
  EXPECT_EQ(client.next_result().rows, Rows{"kim@127.0.0.1"});
}

TEST(AMysqlClient, IsAnsweredToACommandInTheSegmentOfItsHandshake) {
  FakeMirror mirror(rows_for_all());
  MysqlMaster karmad(mirror);
  const auto command = MysqlClient::packet_of("\3SELECT @@autocommit", 0);
  const auto data = '\x20' + std::string(32, 'h');
  MysqlClient client(karmad.port(),
                     MysqlClient::packet_of(libmysqlclient_hello(data), 1) + command + command);
  EXPECT_EQ(client.next_packet(), numbered(2, "\1\3"));
  EXPECT_EQ(client.next_packet(), numbered(3, kOkOfHandshake));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(client.next_packet(), numbered(1, "\1"));
    client.next_packet();
    EXPECT_EQ(client.next_packet(), numbered(3,
                                             "\1"
                                             "1"));
    EXPECT_EQ(client.next_packet().front(), 4);
  }
  // The salt is asked for first.
  MysqlClient waits(karmad.port(), MysqlClient::packet_of(libmysqlclient_hello(), 1));
  expect_salt(waits.next_packet(), 2);
  waits.send(MysqlClient::packet_of(std::string(32, 'h'), 3) + command);
  EXPECT_EQ(waits.next_packet(), numbered(4, "\1\3"));
  EXPECT_EQ(waits.next_packet(), numbered(5, kOkOfHandshake));
  EXPECT_EQ(waits.next_packet(), numbered(1, "\1"));
}

TEST(AMysqlClient, IsNotOfferedCompressionOrTls) {
  FakeMirror mirror(rows_for_all());
  MysqlMaster karmad(mirror);
  constexpr std::uint32_t kCompress = 1U << 5;
  constexpr std::uint32_t kZstd = 1U << 26;
  MysqlClient client(karmad.port(), kZstd);
  const auto flags = client.greeting().substr(client.version().size() + 2 + 4 + 9);
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(flags.at(at)); };
  const auto offered = byte(0) | byte(1) << 8 | byte(5) << 16 | byte(6) << 24;
  EXPECT_EQ(static_cast<std::uint32_t>(offered) & (kCompress | kZstd | 1U << 11), 0U);
  EXPECT_EQ(client.query("SELECT id FROM t").rows.size(), 2U);  // plain packets
  // As that of PHP, which compresses all the same.
  EXPECT_EQ(MysqlClient(karmad.port(), kCompress).welcome().error, 1043);
}

TEST(AMysqlClient, IsToldAboutKarmadAndTheConnection) {
  FakeMirror mirror(rows_for_all());
  MysqlMaster karmad(mirror);
  MysqlClient client(karmad.port(), MysqlClient::kDeprecateEof);
  const auto agents = client.query("SHOW AGENT STATUS LIKE 'ag_0_hostname'");
  EXPECT_EQ(agents.rows, Rows{"ag_0_hostname|" + mirror.address()});
  EXPECT_EQ(client.query("SHOW TABLES").rows.size(), 1U);
  EXPECT_EQ(client.query("SHOW META").rows.size(), 0U);  // there was no SELECT
  EXPECT_EQ(client.query("SELECT @@version_comment LIMIT 1").rows.size(), 1U);
  EXPECT_EQ(client.query("SET NAMES utf8mb4").error, 0);
  EXPECT_EQ(client.command(14).error, 0);         // ping
  EXPECT_EQ(client.command(2, "shop").error, 0);  // another database
  EXPECT_EQ(client.query("SELECT DATABASE()").rows, Rows{"shop"});
  EXPECT_EQ(client.command(0x1f).error, 0);  // reset
  const std::string other_user("eve\0\0market\0", 12);
  EXPECT_EQ(client.command(0x11, other_user).error, 0);
  EXPECT_EQ(client.query("SELECT DATABASE(), USER()").rows, Rows{"market|eve@127.0.0.1"});
  EXPECT_EQ(client.query("selec id FROM t").error, 1064);
  EXPECT_EQ(client.command(4, "t").error, 0);  // columns of a table: none
  EXPECT_EQ(client.command(0x55).error, 1047);
  EXPECT_EQ(client.query(" ; ").error, 1065);
  EXPECT_EQ(client.query("START TRANSACTION x").error, 1064);
  EXPECT_EQ(client.query("SELECT 1, DATABASE()").rows, Rows{"1|market"});
  EXPECT_EQ(mirror.requests(), 0U);
}

TEST(AMysqlClient, SetsTheOptionOfSeveralStatementsAndNoOther) {
  using namespace std::string_view_literals;
  const FakeMirror mirror(rows_for_all());
  const MysqlMaster karmad(mirror);
  MysqlClient client(karmad.port());
  const auto set = [&](std::string_view option) { return client.command(0x1b, option).error; };
  for (const auto option : {"\2\0"sv, "\0\1"sv, "\1"sv, ""sv}) EXPECT_EQ(set(option), 1047);
  EXPECT_EQ(client.query("BEGIN; COMMIT").error, 1064);
  EXPECT_EQ(set("\0\0"sv), 0);
  EXPECT_TRUE(client.query("BEGIN; COMMIT").more);
  EXPECT_FALSE(client.next_result().more);
  EXPECT_EQ(set("\1\0"sv), 0);
  EXPECT_EQ(client.query("BEGIN; COMMIT").error, 1064);
}

TEST(AMysqlClient, GetsTheStatisticsOfAllWorkers) {
  const FakeMirror mirror(rows_for_all());
  const MysqlMaster karmad(mirror, "workers = 2");
  std::deque<MysqlClient> clients;
  for (int i = 0; i < 9; ++i)
    EXPECT_EQ(clients.emplace_back(karmad.port()).query("SELECT id FROM t").rows.size(), 2U);
  for (auto& client : clients) {
    client.send(MysqlClient::packet_of("\t", 0));
    const auto packet = client.next_packet();
    EXPECT_TRUE(packet.ends_with("Statements: 9")) << packet;
  }
}

// What PyMySQL, MariaDB Connector/J and others send by themselves. The flags are the engine's.
TEST(AMysqlClient, SetsVariablesAndHasTransactionsWhoseStatementsTakeEffectAtOnce) {
  std::string changed = "1";
  FakeMirror mirror([&](const std::string& request) {
    if (body_in(request).starts_with("SELECT")) return json(kMysqlRows);
    return json(R"([{"total":)" + changed + R"(,"error":"","warning":""}])");
  });
  MysqlMaster karmad(mirror);
  MysqlClient client(karmad.port());
  const auto flags = [&](std::string_view statement) {
    const auto got = client.query(statement);
    EXPECT_EQ(got.error, 0) << statement << got.text;
    EXPECT_EQ(got.warnings, 0U) << statement;
    return got.status;
  };
  EXPECT_EQ(flags("SET autocommit=1, sql_mode = concat(@@sql_mode,',STRICT_TRANS_TABLES')"), 2U);
  EXPECT_EQ(client.query("SELECT @@sql_mode, @@autocommit").rows, Rows{"STRICT_TRANS_TABLES|1"});
  EXPECT_EQ(flags("SET autocommit = 0"), 0U);
  EXPECT_EQ(flags("ROLLBACK"), 0U);
  EXPECT_EQ(flags("UPDATE t SET a=1 WHERE id=1"), 0U);
  EXPECT_EQ(flags("COMMIT"), 0U);
  EXPECT_EQ(flags("SET autocommit = 1"), 2U);
  EXPECT_EQ(flags("BEGIN"), 3U);
  EXPECT_EQ(flags("SELECT id FROM t"), 3U);
  EXPECT_EQ(client.command(14).status, 3U);  // ping
  EXPECT_EQ(flags("REPLACE INTO t (id) VALUES (5)"), 3U);
  auto got = client.query("ROLLBACK");
  EXPECT_EQ(got.status, 2U);
  EXPECT_EQ(got.warnings, 1U);
  const auto warnings = client.query("SHOW WARNINGS");
  ASSERT_EQ(warnings.rows.size(), 1U);
  EXPECT_TRUE(warnings.rows[0].starts_with("Warning|1196|")) << warnings.rows[0];
  EXPECT_EQ(warnings.types, (Rows{"254", "3U", "254"}));
  changed = "0";
  EXPECT_EQ(flags("START TRANSACTION"), 3U);
  EXPECT_EQ(flags("UPDATE t SET a=1 WHERE id=77"), 3U);
  EXPECT_EQ(flags("ROLLBACK"), 2U);  // nothing was changed
  const auto before = mirror.requests();
  EXPECT_EQ(flags("START TRANSACTION READ ONLY"), 3U);
  EXPECT_EQ(client.query("DELETE FROM t WHERE id=1").error, 1792);
  EXPECT_EQ(mirror.requests(), before);
  EXPECT_EQ(client.command(0x1f).status, 2U);  // reset
  EXPECT_EQ(client.query("SELECT @@sql_mode").rows, Rows{""});
  EXPECT_EQ(mirror.seen().size(), 4U);
}

TEST(AMysqlClient, MayLimitTheRowsOfItsSelects) {
  FakeMirror mirror(rows_for_all());
  MysqlMaster karmad(mirror);
  MysqlClient client(karmad.port());
  EXPECT_EQ(client.query("SET sql_select_limit = 7").error, 0);
  const auto asked = [&](const std::string& select) {
    client.query(select);
    const auto by_text = body_in(mirror.seen().back());
    client.execute(client.prepare(select), {});
    EXPECT_EQ(body_in(mirror.seen().back()), by_text);
    return by_text;
  };
  for (const auto* same :
       {"SELECT id FROM t LIMIT 5", "SELECT id FROM t LIMIT 0, 5",
        "SELECT id FROM t LIMIT 5 OFFSET 0", "SELECT id FROM t LIMIT 30", "SELECT 1 + 1",
        "SELECT * FROM (SELECT id FROM t) ORDER BY id ASC LIMIT 5"})
    EXPECT_EQ(asked(same), same);
  EXPECT_EQ(asked("SELECT id FROM t"), "SELECT id FROM t LIMIT 7");
  client.query("SHOW META");
  EXPECT_TRUE(body_in(mirror.seen().back()).ends_with(" LIMIT 0,7; SHOW META"));
  EXPECT_EQ(asked("SELECT id FROM t WHERE MATCH('limit') OPTION cutoff=1 FACET a LIMIT 5"),
            "SELECT id FROM t WHERE MATCH('limit') LIMIT 7 OPTION cutoff=1 FACET a LIMIT 5");
  EXPECT_EQ(asked("SELECT * FROM (SELECT id FROM t LIMIT 5) ORDER BY id ASC"),
            "SELECT * FROM (SELECT id FROM t LIMIT 5) ORDER BY id ASC LIMIT 7");
  EXPECT_EQ(client.execute(client.prepare("SELECT id FROM t LIMIT ?"), {"5"}).error, 0);
  EXPECT_EQ(client.query("SELECT id FROM t UNION SELECT id FROM t LIMIT 5").error, 1064);
  EXPECT_EQ(client.query("SELECT DATABASE()").rows.size(), 1U);
  EXPECT_EQ(client.query("SET sql_select_limit = 20").error, 0);
  EXPECT_EQ(asked("SELECT id FROM t"), "SELECT id FROM t");
  EXPECT_EQ(client.query("SET SQL_SELECT_LIMIT = DEFAULT").error, 0);
  EXPECT_EQ(asked("SELECT id FROM t FACET a"), "SELECT id FROM t FACET a");
}

TEST(AMysqlClient, MayWaitLessThanClientTimeoutForItsNextCommand) {
  FakeMirror mirror(rows_for_all());
  MysqlMaster karmad(mirror);
  MysqlClient client(karmad.port());
  EXPECT_EQ(client.query("SET wait_timeout = 1").error, 0);
  EXPECT_EQ(client.query("SELECT @@wait_timeout").rows, Rows{"1"});
  EXPECT_EQ(client.next_result().error, 4031);
  EXPECT_TRUE(client.closed());
}

TEST(AMysqlClient, RunsPreparedStatementsWithItsValuesAsLiterals) {
  FakeMirror mirror(rows_for_all());
  MysqlMaster karmad(mirror);
  MysqlClient client(karmad.port());
  const auto id = client.prepare("SELECT id, title FROM t WHERE MATCH(?)");
  ASSERT_NE(id, 0U);
  for (const auto* value : {"x", "it's \\"})
    EXPECT_EQ(client.execute(id, {value}).rows, (Rows{"1|a \"b\"", "2|NULL"}));
  const auto seen = mirror.seen();
  EXPECT_EQ(body_in(seen.at(0)), "SELECT id, title FROM t WHERE MATCH( 'x' )");
  EXPECT_EQ(body_in(seen.at(1)), "SELECT id, title FROM t WHERE MATCH( 'it\\'s \\\\' )");
  EXPECT_EQ(client.execute(id, {std::string("a\0b", 3)}).error, 1210);
  EXPECT_EQ(client.execute(id, {"caf\xe9"}).error, 1210);
  EXPECT_EQ(mirror.seen().size(), seen.size());
  EXPECT_EQ(client.execute(id + 7, {"x"}).error, 1243);
  EXPECT_EQ(client.prepare("SELECT 'x"), 0U);
  const auto local = client.prepare("SELECT @@autocommit");
  EXPECT_EQ(client.execute(local, {}).rows, Rows{"1"});
}

// The second shard has a number that needs all 32 bits, and then has no rows.
TEST(AMysqlClient, GetsTheTypesThatTheEngineNamesWhateverTheShardsHave) {
  const auto shard = [](const std::string& rows) {
    return R"([{"columns":[{"id":{"type":"long long"}},{"n":{"type":"long"}},{"p":{"type":"float"}},)"
           R"({"s":{"type":"multi"}}],"data":[)" +
           rows +
           R"(],"total":0,"error":"","warning":""},{"columns":[{"Variable_name":)"
           R"({"type":"string"}},{"Value":{"type":"string"}}],"data":[{"Variable_name":)"
           R"("total_found","Value":"1"}],"total":1,"error":"","warning":""}])";
  };
  std::string of_first = R"({"id":1,"n":5,"p":0.5,"s":"1,2"})";
  std::string of_second = R"({"id":2,"n":3000000000,"p":1.500000,"s":""})";
  FakeMirror first([&](const std::string&) { return json(shard(of_first)); });
  FakeMirror second([&](const std::string&) { return json(shard(of_second)); });
  MysqlMaster karmad(first, "", "mysql", "agent = " + second.address() + ":t");
  MysqlClient client(karmad.port());
  const std::string select = "SELECT id, n, p, s FROM t ORDER BY id ASC";
  const Rows types{"8", "3U", "4", "254"};
  auto got = client.query(select);
  EXPECT_EQ(got.types, types) << got.text;
  EXPECT_EQ(got.rows, (Rows{"1|5|0.5|1,2", "2|3000000000|1.500000|"}));
  got = client.query("SHOW META LIKE 'total_found'");
  EXPECT_EQ(got.types, (Rows{"254", "254"}));
  EXPECT_EQ(got.rows, Rows{"total_found|2"});
  const auto prepared = client.prepare("SELECT id, n FROM t ORDER BY id ASC");
  EXPECT_EQ(client.execute(prepared, {}).error, 0);
  of_second.clear();
  EXPECT_EQ(client.query(select).types, types);
  of_first.clear();
  got = client.query(select);
  EXPECT_EQ(got.types, types);
  EXPECT_EQ(got.rows, Rows{});
}

// The packets are written of the merged rows, which refer to the replies of both shards.
TEST(AMysqlClient, GetsMergedGroupsUnderTheNamesThatItGaveThem) {
  const auto shard = [](const std::string& mean, int id) {
    const auto column = [](const char* name, const char* type) {
      return fmt::format(R"({{"{}":{{"type":"{}"}}}})", name, type);
    };
    return fmt::format(
        R"([{{"columns":[{},{},{},{},{},{},{}],"data":[{{"karmad_0":{},"brand":"\u00e4 \"b\"",)"
        R"("karmad_1":1,"karmad_2":{},"karmad_3":1,"karmad_4":77,"karmad_5":{}}}],"total":1,)"
        R"("error":"","warning":""}},{{"columns":[{},{}],"data":[{{"Variable_name":)"
        R"("total_found","Value":"1"}}],"total":1,"error":"","warning":""}}])",
        column("karmad_0", "double"), column("brand", "string"), column("karmad_1", "long"),
        column("karmad_2", "long long"), column("karmad_3", "long long"),
        column("karmad_4", "long long"), column("karmad_5", "double"), mean, id, mean,
        column("Variable_name", "string"), column("Value", "string"));
  };
  std::string mean = "4";
  FakeMirror first([&](const std::string&) { return json(shard(mean, 7)); });
  FakeMirror second([&](const std::string&) { return json(shard("2", 9)); });
  MysqlMaster karmad(first, "", "mysql", "agent = " + second.address() + ":t");
  MysqlClient client(karmad.port());
  const std::string select =
      "SELECT AVG(price) AS price, brand FROM t GROUP BY brand ORDER BY COUNT(*) DESC";
  auto got = client.query(select);
  ASSERT_EQ(got.error, 0) << got.text;
  EXPECT_EQ(got.columns, (Rows{"price", "brand"}));
  ASSERT_EQ(got.rows.size(), 1U);
  EXPECT_TRUE(got.rows[0].ends_with("|\xc3\xa4 \"b\"")) << got.rows[0];
  EXPECT_EQ(got.rows[0][0], '3');
  mean = "inf";
  got = client.query(select);
  ASSERT_EQ(got.error, 0) << got.text;
  ASSERT_EQ(got.rows.size(), 1U);
  EXPECT_TRUE(got.rows[0].starts_with("NULL|")) << got.rows[0];
}

TEST(AMysqlClient, MaySendSeveralStatementsIfItAskedForThat) {
  FakeMirror mirror(rows_for_all());
  MysqlMaster karmad(mirror);
  MysqlClient one(karmad.port());
  EXPECT_EQ(one.query("SELECT id FROM t; SELECT id FROM t").error, 1064);
  EXPECT_EQ(mirror.requests(), 0U);
  MysqlClient several(karmad.port(), MysqlClient::kMultiStatements);
  auto got =
      several.query("SELECT id FROM t; SET NAMES utf8; SELECT id FROM nope; SELECT id FROM t");
  EXPECT_TRUE(got.rows.size() == 2 && got.more);
  got = several.next_result();
  EXPECT_TRUE(got.error == 0 && got.more);
  EXPECT_EQ(several.next_result().error, 1146);  // and the rest is not run
  EXPECT_EQ(several.query("SELECT id FROM t").rows.size(), 2U);
  EXPECT_EQ(mirror.requests(), 2U);
}

TEST(AMysqlClient, OfAReadonlyListenerChangesNothing) {
  FakeMirror mirror(rows_for_all());
  MysqlMaster karmad(mirror, "", "mysql_readonly");
  MysqlClient client(karmad.port(), MysqlClient::kMultiStatements);
  EXPECT_EQ(client.query("UPDATE t SET a=1 WHERE id=1").error, 1290);
  EXPECT_EQ(client.query("SELECT id FROM t").rows.size(), 2U);
  EXPECT_EQ(client.query("SELECT id FROM t; DELETE FROM t WHERE id=1").rows.size(), 2U);
  EXPECT_EQ(client.next_result().error, 1290);
  EXPECT_EQ(mirror.requests(), 2U);
}

TEST(AMysqlClient, IsToldNoTablesWhereShowTablesIsRefused) {
  FakeMirror mirror([](const std::string&) {
    return json(R"([{"columns":[{"Field":{"type":"string"}},{"Type":{"type":"string"}}],)"
                R"("data":[{"Field":"id","Type":"bigint"}],"total":1,"error":"","warning":""}])");
  });
  MysqlMaster karmad(mirror);
  const auto ask_all = [&](int error, std::size_t rows) {
    MysqlClient client(karmad.port());
    for (const auto* lists :
         {"SHOW TABLES", "SHOW FULL TABLES", "SHOW TABLE STATUS",
          "SELECT TABLE_NAME FROM information_schema.tables WHERE TABLE_SCHEMA = DATABASE()",
          "SELECT s.table_name FROM `information_schema`.`STATISTICS` AS s",
          "SELECT COLUMN_NAME FROM information_schema.columns WHERE TABLE_NAME = 't'"}) {
      const auto got = client.query(lists);
      EXPECT_EQ(got.error, error) << lists;
      EXPECT_EQ(got.rows.size(), rows) << lists;
    }
    for (const auto* of_one : {"SHOW COLUMNS FROM t", "SHOW INDEX FROM t", "DESCRIBE t",
                               "SELECT ENGINE FROM information_schema.engines"})
      EXPECT_EQ(client.query(of_one).rows.size(), 1U) << of_one;
    EXPECT_EQ(client.query("SHOW VARIABLES LIKE 'lower_case_table_names'").rows.size(), 1U);
  };
  ask_all(0, 1);
  ASSERT_TRUE(karmad.reload("status_on_query_port = health"));
  ask_all(1227, 0);
  karmad.master().process().signal(SIGTERM);  // it may not tell that it is at rest
  EXPECT_EQ(karmad.master().process().wait(), 0);
}

TEST(AMysqlClient, ThatWasIdleAtAReloadIsAnsweredByTheNewConfiguration) {
  FakeMirror mirror(rows_for_all());
  MysqlMaster karmad(mirror);
  MysqlClient client(karmad.port());
  EXPECT_EQ(client.query("SHOW AGENT STATUS").error, 0);
  ASSERT_TRUE(karmad.reload("status_on_query_port = no"));
  EXPECT_EQ(client.query("SHOW AGENT STATUS").error, 1227);
  karmad.master().process().signal(SIGTERM);  // it may not tell that it is at rest
  EXPECT_EQ(karmad.master().process().wait(), 0);
}

TEST(AMysqlClient, GetsAnAnswerThatIsLongerThanTheReplyBuffer) {
  std::string answer = R"([{"columns":[{"s":{"type":"string"}}],"data":[)";
  constexpr std::size_t kRows = 30'000;
  for (std::size_t i = 0; i < kRows; ++i)
    answer += fmt::format(R"({}{{"s":"{}"}})", i == 0 ? "" : ",", std::string(100, 'x'));
  answer += R"(],"total":30000,"error":"","warning":""}])";
  FakeMirror mirror([&](const std::string&) { return json(answer); });
  MysqlMaster karmad(mirror, "agent_query_timeout = 1m");
  MysqlClient client(karmad.port());
  const auto got = client.query("SELECT s FROM t LIMIT 30000");
  EXPECT_EQ(got.error, 0);
  EXPECT_EQ(got.rows.size(), kRows);
  EXPECT_EQ(client.query("SELECT s FROM t LIMIT 30000").rows.size(), kRows);
}

// A row of 15 MB without escapes, and one with nothing else.
TEST(AMysqlClient, GetsLongRowsThatKarmadHoldsOnce) {
  constexpr std::int64_t kSlack = 6 << 20;
  const std::string plain(15'000'000, 'x');
  const std::string quotes(7'500'000, '"');
  std::string escaped;
  for (std::size_t i = 0; i < quotes.size(); ++i) escaped += R"(\")";
  const auto answer =
      fmt::format(R"([{{"columns":[{{"s":{{"type":"string"}}}}],"data":[{{"s":"{}"}},)"
                  R"({{"s":"{}"}}],"total":2,"error":"","warning":""}}])",
                  plain, escaped);
  FakeMirror mirror([&](const std::string&) { return json(answer); });
  MysqlMaster karmad(mirror, "workers = 1\n agent_query_timeout = 1m");
  MysqlClient client(karmad.port(), MysqlClient::kMultiStatements);
  ASSERT_EQ(client.query("SELECT @@autocommit").rows, Rows{"1"});
  const auto idle = karmad.master().process().most_memory();
  const auto expect_rows = [&](const MysqlReply& got) {
    EXPECT_EQ(got.error, 0);
    ASSERT_EQ(got.rows.size(), 2U);
    EXPECT_TRUE(got.rows[0] == plain);
    EXPECT_TRUE(got.rows[1] == quotes);
    if (kTrueSize) {
      EXPECT_LE(karmad.master().process().most_memory(),
                idle + static_cast<std::int64_t>(answer.size()) + kSlack);
    }
  };
  expect_rows(client.query("SELECT s FROM t LIMIT 2; SELECT s FROM t LIMIT 2"));
  expect_rows(client.next_result());
  expect_rows(client.execute(client.prepare("SELECT s FROM t LIMIT 2"), {}));
}

std::string id_of(MysqlClient& client) {
  return client.query("SELECT CONNECTION_ID()").rows.at(0);
}

// The connections are on any of the workers.
TEST(AMysqlClient, MayKillStatementsAndConnectionsOfItsUser) {
  FakeMirror mirror([](const std::string& request) {
    return body_in(request).contains("slow") ? silence() : json(kMysqlRows);
  });
  MysqlMaster karmad(mirror, "agent_query_timeout = 1h\n request_timeout = 1h\n workers = 2");
  MysqlClient killer(karmad.port());
  for (int round = 0; round < 4; ++round) {
    MysqlClient victim(karmad.port(), MysqlClient::kMultiStatements);
    const auto id = id_of(victim);
    const auto before = mirror.requests();
    victim.send(MysqlClient::packet_of("\3SELECT slow FROM t; SELECT id FROM t", 0));
    ASSERT_TRUE(eventually([&] { return mirror.requests() == before + 1; }));
    EXPECT_EQ(killer.query("KILL QUERY " + id).error, 0);
    EXPECT_EQ(victim.next_result().error, 1317);
    EXPECT_EQ(victim.query("SELECT id FROM t").rows.size(), 2U);  // it goes on
    EXPECT_EQ(mirror.requests(), before + 2);
    EXPECT_EQ(killer.query("KILL QUERY " + id).error, 0);  // it has no statement
    EXPECT_EQ(victim.query("SELECT id FROM t").rows.size(), 2U);
    victim.send(MysqlClient::packet_of("\3UPDATE t SET slow=1 WHERE id=1", 0));
    ASSERT_TRUE(eventually([&] { return mirror.requests() == before + 4; }));
    EXPECT_EQ(killer.query((round % 2 == 0 ? "KILL " : "KILL CONNECTION ") + id).error, 0);
    EXPECT_EQ(victim.next_result().error, 1317);
    EXPECT_EQ(victim.next_result().error, 1927);
    EXPECT_TRUE(victim.closed());
    EXPECT_EQ(killer.query("KILL " + id).error, 1094);
  }
  EXPECT_EQ(karmad.master().count("clients_left"), 0);
}

TEST(AMysqlClient, AsksNoKilledSelectAgainByShowMeta) {
  FakeMirror mirror([](const std::string& request) {
    return body_in(request).contains("heavy") ? silence() : json(kMysqlRows);
  });
  const MysqlMaster karmad(mirror, "agent_query_timeout = 1h\n request_timeout = 1h");
  MysqlClient killer(karmad.port());
  MysqlClient victim(karmad.port());
  const auto id = id_of(victim);
  EXPECT_EQ(victim.query("SELECT id FROM t").rows.size(), 2U);
  victim.send(MysqlClient::packet_of("\3SELECT heavy FROM t", 0));
  ASSERT_TRUE(eventually([&] { return mirror.requests() == 2; }));
  EXPECT_EQ(killer.query("KILL QUERY " + id).error, 0);
  EXPECT_EQ(victim.next_result().error, 1317);
  EXPECT_EQ(victim.query("SHOW META").rows.at(0), "error|Query execution was interrupted");
  EXPECT_EQ(victim.query("SHOW PLAN").error, 1064);
  EXPECT_EQ(mirror.requests(), 2);
}

TEST(AMysqlClient, MayKillAnIdleConnectionByACommand) {
  FakeMirror mirror(rows_for_all());
  MysqlMaster karmad(mirror, "workers = 2");
  MysqlClient killer(karmad.port());
  const auto bytes_of = [](std::string_view id) {
    const auto number = static_cast<std::uint32_t>(std::stoul(std::string(id)));
    std::string bytes;
    for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(number >> shift);
    return bytes;
  };
  for (int round = 0; round < 4; ++round) {
    MysqlClient victim(karmad.port());
    EXPECT_EQ(killer.command(0x0c, bytes_of(id_of(victim))).error, 0);
    EXPECT_EQ(victim.next_result().error, 1927);
    EXPECT_TRUE(victim.closed());
  }
  EXPECT_EQ(killer.command(0x0c, bytes_of("99999")).error, 1094);
  EXPECT_EQ(killer.query("KILL QUERY " + id_of(killer)).error, 1317);
  EXPECT_EQ(killer.query("SELECT id FROM t").rows.size(), 2U);
  EXPECT_EQ(killer.command(0x0c, bytes_of(id_of(killer))).error, 1317);
  EXPECT_EQ(killer.next_result().error, 1927);
  EXPECT_TRUE(killer.closed());
}

TEST(AMysqlClient, MayNotKillTheStatementOfAnotherUserButAnOperatorMay) {
  FakeMirror mirror([](const std::string&) { return silence(); });
  MysqlMaster karmad(mirror,
                     "agent_query_timeout = 1h\n request_timeout = 1h\n workers = 2\n "
                     "listen = 127.0.0.1:0:admin");
  MysqlClient victim(karmad.port());
  const auto id = id_of(victim);
  MysqlClient other(karmad.port(), MysqlClient::packet_of(libmysqlclient_hello("\1x"), 1));
  EXPECT_EQ(other.next_packet(), numbered(2, "\1\3"));
  EXPECT_EQ(other.next_packet(), numbered(3, kOkOfHandshake));
  victim.send(MysqlClient::packet_of("\3SELECT id FROM t", 0));
  ASSERT_TRUE(eventually([&] { return mirror.requests() == 1; }));
  EXPECT_EQ(other.query("KILL QUERY " + id).error, 1095);
  EXPECT_EQ(other.query("KILL " + id).error, 1095);
  const auto line = karmad.master().process().wait_for(":admin");
  ASSERT_TRUE(line);
  const auto admin = port_in(line->substr(0, line->rfind(':')));
  const auto ask = [&](int port, const std::string& statement) {
    return post(port, "/sql?mode=raw", statement).status;
  };
  EXPECT_EQ(ask(admin, "KILL QUERY 99999"), 404);
  EXPECT_EQ(ask(admin, "SET @a = 1"), 404);
  EXPECT_EQ(ask(admin, "KILL QUERY " + id), 200);
  EXPECT_EQ(victim.next_result().error, 1317);
}

std::unique_ptr<MysqlClient> client_of(std::string_view user, int port) {
  auto client = std::make_unique<MysqlClient>(port);
  client->send(MysqlClient::packet_of(
      "\x11" + std::string(user) + std::string("\0\0\0\x2d\0", 5) + "mysql_native_password" + '\0',
      0));
  EXPECT_EQ(client->next_packet(), numbered(1, kOkOfHandshake));
  return client;
}

// The rows fill the buffers of the sockets, as the victim reads none; the killer is on any worker.
TEST(AMysqlClient, MayKillAStatementWhoseRowsAreBeingSent) {
  constexpr std::size_t kRows = 1000;
  std::string answer = R"([{"columns":[{"s":{"type":"string"}}],"data":[)";
  for (std::size_t i = 0; i < kRows; ++i)
    answer += fmt::format(R"({}{{"s":"{}"}})", i == 0 ? "" : ",", std::string(40'000, 'x'));
  answer += R"(],"total":1000,"error":"","warning":""}])";
  FakeMirror mirror([&](const std::string& request) {
    return json(body_in(request).contains("long") ? answer : std::string(kMysqlRows));
  });
  const MysqlMaster karmad(
      mirror,
      "workers = 2\n network_timeout = 1h\n agent_query_timeout = 1h\n request_timeout = 1h");
  MysqlClient killer(karmad.port());
  const auto is_sent = [&](const std::string& id) {
    return killer.query("SELECT state FROM information_schema.processlist WHERE id=" + id).rows ==
           Rows{"Sending to client"};
  };
  for (const std::string kill : {"KILL QUERY ", "KILL QUERY ", "KILL ", "KILL CONNECTION "}) {
    MysqlClient victim(karmad.port(), MysqlClient::kMultiStatements);
    const auto id = id_of(victim);
    victim.send(MysqlClient::packet_of("\3SELECT `long` FROM t; SELECT id FROM t", 0));
    ASSERT_TRUE(eventually([&] { return is_sent(id); }));
    EXPECT_EQ(killer.query(kill + id).error, 0);
    const auto got = victim.next_result();
    EXPECT_LT(got.rows.size(), kRows);
    if (kill != "KILL QUERY ") {
      EXPECT_EQ(got.error, -1);
      EXPECT_TRUE(eventually([&] { return killer.query(kill + id).error == 1094; }));
      continue;
    }
    EXPECT_GT(got.rows.size(), 0U);
    for (const auto& row : got.rows) EXPECT_EQ(row.size(), 40'000U);
    EXPECT_EQ(got.error, 1317);
    EXPECT_EQ(victim.query("SELECT id FROM t").rows.size(), 2U);  // it goes on
  }
}

TEST(AMysqlClient, SeesTheConnectionsOfItsUserAndAnOperatorAll) {
  FakeMirror mirror([](const std::string& request) {
    return body_in(request).contains("slow") ? silence() : json(kMysqlRows);
  });
  MysqlMaster karmad(mirror,
                     "agent_query_timeout = 1h\n request_timeout = 1h\n workers = 2\n "
                     "listen = 127.0.0.1:0:admin");
  MysqlClient own(karmad.port());
  const auto id = id_of(own);
  const auto slow = "SELECT id FROM t WHERE MATCH('" + std::string(200, 'a') + "slow')";
  std::vector<std::unique_ptr<MysqlClient>> others;  // on both workers
  for (const auto* user : {"bob", "eve", "eve", "a@b"})
    others.push_back(client_of(user, karmad.port()));
  const auto slow_id = id_of(*others[1]);
  EXPECT_EQ(others[1]->command(2, "shop").error, 0);
  others[1]->send(MysqlClient::packet_of('\3' + slow, 0));
  ASSERT_TRUE(eventually([&] { return mirror.requests() == 1; }));

  const auto alone = own.query("SHOW PROCESSLIST");
  EXPECT_EQ(alone.columns, (Rows{"Id", "User", "Host", "db", "Command", "Time", "State", "Info"}));
  ASSERT_EQ(alone.rows.size(), 1U);
  EXPECT_TRUE(alone.rows[0].starts_with(id + "|reader|127.0.0.1:")) << alone.rows[0];
  EXPECT_TRUE(alone.rows[0].ends_with("|Manticore|Query|0|executing|SHOW PROCESSLIST"))
      << alone.rows[0];
  const auto of_eve = others[2]
                          ->query(
                              "SELECT id, user, db, command, state, info FROM information_schema."
                              "processlist WHERE command = 'Query' ORDER BY time DESC, id")
                          .rows;
  ASSERT_EQ(of_eve.size(), 2U);
  EXPECT_NE(std::ranges::find(of_eve, slow_id + "|eve|shop|Query|executing|" + slow), of_eve.end())
      << of_eve[0];
  EXPECT_EQ(others[0]->query("SHOW FULL PROCESSLIST").rows.size(), 1U);
  EXPECT_TRUE(others[3]->query("SHOW FULL PROCESSLIST").rows.at(0).contains("|a@b|127.0.0.1:"));

  const auto line = karmad.master().process().wait_for(":admin");
  ASSERT_TRUE(line);
  const auto admin = port_in(line->substr(0, line->rfind(':')));
  const auto all = post(admin, "/sql?mode=raw", "SHOW PROCESSLIST");
  EXPECT_EQ(all.status, 200);
  EXPECT_TRUE(all.body.contains(R"("total":5)")) << all.body;
  EXPECT_TRUE(all.body.contains(R"("Info":")" + slow.substr(0, 100) + "\"")) << all.body;
  const auto full = post(admin, "/sql?mode=raw", "SHOW FULL PROCESSLIST LIKE '" + slow_id + "'");
  EXPECT_TRUE(full.body.contains(R"("total":1)") && full.body.contains(slow)) << full.body;
  EXPECT_EQ(post(admin, "/sql?mode=raw", "SHOW FULL TABLES").status, 404);
  // Requests of HTTP have no numbers: their clients own no connection.
  const auto over_http = post(karmad.master().port(), "/sql?mode=raw", "SHOW PROCESSLIST");
  EXPECT_EQ(over_http.status, 200);
  EXPECT_TRUE(over_http.body.contains(R"("total":0)")) << over_http.body;
  EXPECT_EQ(own.query("KILL " + slow_id).error, 1095);
  EXPECT_EQ(others[2]->query("KILL " + slow_id).error, 0);
  EXPECT_EQ(others[1]->next_result().error, 1317);
}

TEST(AMysqlClient, WhoLeavesEndsItsStatement) {
  FakeMirror mirror([](const std::string&) { return silence(); });
  MysqlMaster karmad(mirror, "agent_query_timeout = 1h\n request_timeout = 1h");
  std::optional<MysqlClient> client(karmad.port());
  client->send(std::string("\x11\0\0\0\3SELECT id FROM t", 21));
  ASSERT_TRUE(eventually([&] { return mirror.requests() == 1; }));
  client.reset();
  EXPECT_TRUE(eventually([&] { return karmad.master().count("clients_left") == 1; }));
}

// It is asked whether it is there, and its reader does not notice.
TEST(AMysqlClient, WhoClosesTheSendingHalfGetsTheAnswer) {
  for (const std::string wait : {"1ms", "1h"}) {
    FakeMirror mirror(rows_for_all());
    MysqlMaster karmad(
        mirror, "agent_query_timeout = 1h\n request_timeout = 1h\n half_close_wait = " + wait);
    mirror.hold();
    MysqlClient client(karmad.port());
    MysqlClient other(karmad.port());
    for (auto* each : {&client, &other}) {
      each->send(MysqlClient::packet_of("\3SELECT id, title FROM t", 0));
      each->end_sending();
    }
    ASSERT_TRUE(eventually([&] { return mirror.requests() == 2; }));
    if (wait == "1ms") {
      // A third client, which leaves later than the others are asked.
      std::optional<MysqlClient> third(karmad.port());
      third->send(MysqlClient::packet_of("\3SELECT id FROM t", 0));
      ASSERT_TRUE(eventually([&] { return mirror.requests() == 3; }));
      third.reset();
      EXPECT_TRUE(eventually([&] { return karmad.master().count("clients_left") == 1; }));
    }
    mirror.release();
    for (auto* each : {&client, &other}) {
      EXPECT_EQ(each->next_result().rows, (Rows{"1|a \"b\"", "2|NULL"})) << wait;
      EXPECT_TRUE(each->closed());
    }
  }
}

TEST(AMysqlClient, WhoClosesTheSendingHalfHasLeftIfTheConfigurationSaysSo) {
  FakeMirror mirror([](const std::string&) { return silence(); });
  MysqlMaster karmad(mirror,
                     "agent_query_timeout = 1h\n request_timeout = 1h\n half_close_wait = 0");
  MysqlClient client(karmad.port());
  client.send(MysqlClient::packet_of("\3SELECT id FROM t", 0));
  client.end_sending();
  EXPECT_TRUE(eventually([&] { return karmad.master().count("clients_left") == 1; }));
  EXPECT_TRUE(client.closed());
}

TEST(AMysqlClient, ThatIsIdleIsToldThatTheServerStops) {
  FakeMirror mirror(rows_for_all());
  MysqlMaster karmad(mirror);
  MysqlClient idle(karmad.port());
  EXPECT_EQ(idle.query("SELECT id FROM t").error, 0);
  karmad.master().process().signal(SIGTERM);
  EXPECT_EQ(idle.next_result().error, 1053);
  EXPECT_TRUE(idle.closed());
  EXPECT_EQ(karmad.master().process().wait(), 0);
}

TEST(AMysqlClient, ThatIsIdleTooLongIsToldSo) {
  FakeMirror mirror(rows_for_all());
  MysqlMaster karmad(mirror, "client_timeout = 200ms");
  MysqlClient idle(karmad.port());
  EXPECT_EQ(idle.next_result().error, 4031);
  EXPECT_TRUE(idle.closed());
}

// Its command is answered, and the process does not wait for it to close.
TEST(AMysqlClient, ThatSendsACommandAfterTermDelaysTheEndNoLongerThanOthers) {
  FakeMirror mirror(rows_for_all());
  MysqlMaster karmad(mirror, "network_timeout = 1h\n shutdown_timeout = 1h\n drain_delay = 0");
  MysqlClient busy(karmad.port());
  MysqlClient idle(karmad.port());
  EXPECT_EQ(busy.query("SELECT id FROM t").rows.size(), 2U);
  karmad.master().process().signal(SIGTERM);
  ASSERT_TRUE(karmad.master().process().wait_for("stopping; requests in progress"));
  EXPECT_EQ(busy.query("SELECT id FROM t").rows.size(), 2U);
  EXPECT_EQ(busy.next_result().error, 1053);
  EXPECT_EQ(idle.next_result().error, 1053);
  EXPECT_EQ(karmad.master().process().wait(), 0);  // the sockets of both are still open here
}

// Nor for one that has not said who it is.
TEST(AMysqlClient, ThatHasNotLoggedInIsToldThatTheServerStops) {
  FakeMirror mirror(rows_for_all());
  MysqlMaster karmad(mirror, "network_timeout = 1h\n shutdown_timeout = 1h");
  MysqlClient client(karmad.port(), "");
  ASSERT_FALSE(client.greeting().empty());
  karmad.master().process().signal(SIGTERM);
  const auto last = client.next_packet();
  EXPECT_TRUE(last.starts_with("\2\xff\x1d\4#08S01")) << "1053, behind the login: " << last;
  EXPECT_TRUE(client.closed());
  EXPECT_EQ(karmad.master().process().wait(), 0);
}

// The socket goes to the successor; a client of the former process is told to connect again.
TEST(AMysqlClient, IsServedByTheSuccessorAfterATakeover) {
  FakeMirror mirror(rows_for_all());
  const TempDir dir;
  const auto config = dir.file(
      "karmad.conf", fmt::format("searchd {{\n listen = 127.0.0.1:0:mysql\n takeover_socket = {}\n"
                                 " ha_ping_interval = 0\n}}\ntable t {{\n type = distributed\n "
                                 "agent = {}:t\n}}\n",
                                 dir.path() + "/takeover", mirror.address()));
  Process former("karmad", {"--config", config});
  const auto line = former.wait_for("listening on 127");
  ASSERT_TRUE(line && former.wait_for("a successor may connect"));
  const auto port = port_in(line->substr(0, line->rfind(':')));
  MysqlClient idle(port);
  EXPECT_EQ(idle.query("SELECT id FROM t").error, 0);
  Process successor("karmad", {"--config", config, "--takeover"});
  ASSERT_TRUE(successor.wait_for("a successor may connect")) << successor.output();
  EXPECT_EQ(idle.next_result().error, 1053);
  EXPECT_EQ(former.wait(), 0) << former.output();
  MysqlClient client(port);
  EXPECT_EQ(client.query("SELECT id FROM t").rows.size(), 2U);
  successor.signal(SIGTERM);
  EXPECT_EQ(successor.wait(), 0) << successor.output();
}

}  // namespace
}  // namespace karmad::test
