// Clients of the MySQL protocol: the real program, and packets written by hand.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <optional>
#include <random>

#include "tests/support/cluster.hpp"
#include "tests/support/fake_mirror.hpp"
#include "tests/support/mysql_client.hpp"

namespace karmad::test {
namespace {

using Rows = std::vector<std::string>;

constexpr std::string_view kMysqlRows =
    R"([{"columns":[{"id":{"type":"long long"}},{"title":{"type":"string"}}],
"data":[{"id":1,"title":"a \"b\""},{"id":2,"title":null}],"total":2,"error":"","warning":""}])";

constexpr std::string_view kOneChanged = R"([{"total":1,"error":"","warning":""}])";

std::string body_in(const std::string& request) {
  return request.substr(request.find("\r\n\r\n") + 4);
}

/// karmad with a table `t` of one mirror, and with a MySQL listener.
class MysqlMaster {
 public:
  explicit MysqlMaster(const FakeMirror& mirror, const std::string& searchd = "",
                       const std::string& protocol = "mysql", const std::string& more_of_table = "")
      : listen_(fmt::format(" listen = 127.0.0.1:0:{}\n ha_ping_interval = 0\n", protocol)),
        table_(fmt::format("table t {{\n type = distributed\n agent = {}:t\n {}\n}}\n",
                           mirror.address(), more_of_table)),
        master_(listen_ + searchd, table_) {
    const auto line = master_.process().wait_for(":" + protocol);
    if (line) port_ = port_in(line->substr(0, line->rfind(':')));
  }
  int port() const { return port_; }
  Master& master() { return master_; }
  bool reload(const std::string& searchd) { return master_.reload(listen_ + searchd, table_); }

 private:
  const std::string listen_;
  const std::string table_;
  Master master_;
  int port_ = 0;
};

FakeMirror::React rows_for_all() {
  return [](const std::string&) { return json(kMysqlRows); };
}

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
  EXPECT_EQ(client.query("START TRANSACTION").error, 1105);
  EXPECT_EQ(mirror.requests(), 0U);
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
  EXPECT_EQ(client.execute(id + 7, {"x"}).error, 1243);
  EXPECT_EQ(client.prepare("SELECT 'x"), 0U);
  const auto local = client.prepare("SELECT @@autocommit");
  EXPECT_EQ(client.execute(local, {}).rows, Rows{"1"});
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

TEST(AMysqlClient, IsRefusedByTheSameLimitsAsARequest) {
  FakeMirror mirror(rows_for_all());
  MysqlMaster karmad(mirror,
                     "max_connections = 2\n ingress_request_rate = 1/s\n "
                     "ingress_request_burst = 1s\n status_on_query_port = no\n "
                     "max_packet_size = 1M");
  MysqlClient client(karmad.port());
  EXPECT_EQ(client.query("SHOW AGENT STATUS").error, 1227);
  EXPECT_EQ(client.query("SELECT id FROM t").error, 1040);  // the rate
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

TEST(AMysqlClient, IsToldWhyAChangeFailedInPart) {
  FakeMirror good([](const std::string&) { return json(kOneChanged); });
  FakeMirror full([](const std::string&) { return json(R"({"error":"disk full"})", 500); });
  MysqlMaster karmad(good, "", "mysql", fmt::format("agent = {}:t", full.address()));
  MysqlClient client(karmad.port());
  const auto got = client.query("UPDATE t SET a=1 WHERE a=2");
  EXPECT_EQ(got.error, 1105);
  EXPECT_TRUE(got.text.contains("disk full")) << got.text;
}

TEST(AMysqlClient, GetsAnAnswerThatIsLongerThanTheReplyBuffer) {
  std::string answer = R"([{"columns":[{"s":{"type":"string"}}],"data":[)";
  constexpr std::size_t kRows = 30'000;
  for (std::size_t i = 0; i < kRows; ++i)
    answer += fmt::format(R"({}{{"s":"{}"}})", i == 0 ? "" : ",", std::string(100, 'x'));
  answer += R"(],"total":30000,"error":"","warning":""}])";
  FakeMirror mirror([&](const std::string&) { return json(answer); });
  MysqlMaster karmad(mirror);
  MysqlClient client(karmad.port());
  const auto got = client.query("SELECT s FROM t LIMIT 30000");
  EXPECT_EQ(got.error, 0);
  EXPECT_EQ(got.rows.size(), kRows);
  EXPECT_EQ(client.query("SELECT s FROM t LIMIT 30000").rows.size(), kRows);
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

TEST(AMysqlClient, WithHostileBytesHarmsNobody) {
  FakeMirror mirror(rows_for_all());
  MysqlMaster karmad(mirror, "network_timeout = 100ms");
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
  }
  MysqlClient good(karmad.port());
  EXPECT_EQ(good.query("SELECT id FROM t").rows.size(), 2U);
}

}  // namespace
}  // namespace karmad::test
