// Clients and mirrors that speak another protocol are named as such.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string_view>

#include "tests/endtoend/mysql_master.hpp"
#include "tests/support/cluster.hpp"
#include "tests/support/fake_set.hpp"

namespace karmad::test {
namespace {

using namespace std::string_view_literals;

const std::string kClientHello =
    std::string("\x16\x03\x01\x01\x2c\x01\x00\x01\x28\x03\x03", 11) + std::string(290, 'x');
constexpr auto kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"sv;
constexpr auto kProxy1 = "PROXY TCP4 10.0.0.1 10.0.0.2 5000 80\r\nGET / HTTP/1.1\r\n\r\n"sv;
constexpr auto kProxy2 = "\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\x7f\0\0\1\x7f\0\0\1\1\2\3\4GET /"sv;

std::string table_of_one(const std::string& mirror) {
  return fmt::format("table t {{\n type = distributed\n agent = {}\n}}\n", mirror);
}

struct WrongBytes {
  std::string_view bytes;
  std::string_view answer;
  std::string_view log;
};

TEST(WrongProtocols, OfClientsOfTheHttpListenerAreNamedInTheAnswerAndTheLog) {
  const FakeMirror mirror(always(nothing_found()));
  const WrongBytes cases[] = {
      {kClientHello, "400 Bad Request", "spoke TLS (a ClientHello) to the plain HTTP listener"},
      {kProxy1, "this is the PROXY protocol, but the port speaks HTTP/1.1",
       "spoke the PROXY protocol (version 1) to the plain HTTP listener"},
      {kProxy2, "this is the PROXY protocol, but the port speaks HTTP/1.1",
       "spoke the PROXY protocol (version 2) to the plain HTTP listener"},
      {"SSH-2.0-OpenSSH_9.6\r\n", "this is SSH, but the port speaks HTTP/1.1",
       "spoke SSH (SSH-2.0-OpenSSH_9.6) to the plain HTTP listener"},
      {kPreface,
       "\0\0\0\4\0\0\0\0\0\0\0\x1e\7\0\0\0\0\0\0\0\0\0\0\0\0\x0d"
       "karmad speaks HTTP/1.1"sv,
       "spoke HTTP/2 (its preface) to the plain HTTP listener"},
  };
  for (const auto& [bytes, expected, log] : cases) {
    Master master("workers = 1", table_of_one(mirror.address()));
    HttpClient client(master.port());
    ASSERT_TRUE(client.send(bytes));
    client.finish();
    const auto answer = client.rest();
    EXPECT_TRUE(answer.contains(expected)) << answer;
    const auto line = master.process().wait_for(std::string(log));
    ASSERT_TRUE(line) << log;
    EXPECT_TRUE(line->contains("client 127.0.0.1 ")) << *line;
    EXPECT_TRUE(line->contains(fmt::format(" 127.0.0.1:{}: ", master.port()))) << *line;
    EXPECT_EQ(master.count("wrong_protocols"), 1);
    EXPECT_EQ(master.count("bad_requests"), 1);
  }
}

TEST(WrongProtocols, OfClientsOfTheMysqlListenerAreNamedInTheAnswerAndTheLog) {
  const FakeMirror mirror(rows_for_all());
  const WrongBytes cases[] = {
      {kClientHello, "this is TLS, but the port speaks the MySQL protocol",
       "spoke TLS (a ClientHello) to the MySQL listener"},
      {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "this is HTTP, but the port speaks the MySQL protocol",
       "spoke HTTP to the MySQL listener"},
      {kProxy1, "this is the PROXY protocol, but the port speaks the MySQL protocol",
       "spoke the PROXY protocol (version 1) to the MySQL listener"},
      {kProxy2, "this is the PROXY protocol, but the port speaks the MySQL protocol",
       "spoke the PROXY protocol (version 2) to the MySQL listener"},
  };
  for (const auto& [bytes, expected, log] : cases) {
    MysqlMaster karmad(mirror, "workers = 1");
    HttpClient client(karmad.port());
    ASSERT_TRUE(client.send(bytes));
    const auto answer = client.rest();
    EXPECT_TRUE(answer.contains(expected)) << log;
    const auto line = karmad.master().process().wait_for(std::string(log));
    ASSERT_TRUE(line) << log;
    EXPECT_TRUE(line->contains(fmt::format(" 127.0.0.1:{}: ", karmad.port()))) << *line;
    EXPECT_EQ(karmad.master().count("wrong_protocols"), 1);
  }
}

TEST(WrongProtocols, AreLoggedOnceASecondAndAllCounted) {
  const FakeMirror mirror(always(nothing_found()));
  Master master("workers = 1", table_of_one(mirror.address()));
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 50; ++i) {
    HttpClient client(master.port());
    ASSERT_TRUE(client.send(kClientHello));
    EXPECT_TRUE(client.receive());
  }
  const auto seconds = std::chrono::steady_clock::now() - began;
  EXPECT_EQ(master.count("wrong_protocols"), 50);
  ASSERT_TRUE(master.process().wait_for("spoke TLS"));
  const auto& log = master.process().output();
  std::size_t lines = 0;
  for (auto at = log.find("spoke TLS"); at != log.npos; at = log.find("spoke TLS", at + 1)) ++lines;
  EXPECT_LE(lines, 1 + static_cast<std::size_t>(seconds / 1s));
}

// Such bytes in the middle of a connection are something else.
TEST(WrongProtocols, AreThoseOfTheFirstBytesOfAConnection) {
  const FakeMirror mirror(always(nothing_found()));
  const Master master("workers = 1", table_of_one(mirror.address()));
  HttpClient client(master.port());
  EXPECT_EQ(client.request("GET", "/healthz")->status, 200);
  ASSERT_TRUE(client.send(kClientHello));
  EXPECT_EQ(client.receive()->status, 400);
  EXPECT_EQ(master.count("wrong_protocols"), 0);
}

TEST(WrongProtocols, OfMirrorsAreNamedInTheErrorInTheStatusAndByTheProbe) {
  const std::pair<std::string, std::string_view> cases[] = {
      {std::string("\x4a\0\0\0\x0a"
                   "8.0.33\0\x08\0\0\0",
                   15),
       "speaks MySQL (a greeting of 8.0.33), not HTTP: check the port"},
      {std::string("\x17\0\0\0\xff\x10\x04#08004Too many conns", 27),
       "speaks MySQL (error 1040: Too many conns), not HTTP: check the port"},
      {"SSH-2.0-OpenSSH_9.6\r\n", "speaks SSH (SSH-2.0-OpenSSH_9.6), not HTTP: check the port"},
      {std::string("\x15\x03\x01\0\x02\x02\x46", 7),
       "speaks TLS (an alert), not plain HTTP: check the port"},
      {std::string("\0\0\x06\x04\0\0\0\0\0\0\3\0\0\0\x80", 15),
       "speaks HTTP/2 (a SETTINGS frame), not HTTP/1.1: check the port"},
      {"-ERR unknown command 'POST'\r\n",
       "speaks Redis (-ERR unknown command 'POST'), not HTTP: check the port"},
      {"220 mail.\x1b[31m\xff ESMTP\r\n", "it begins with '220 mail.?[31m? ESMTP"},
  };
  for (const auto& [bytes, named] : cases) {
    const FakeMirror mirror(always({.bytes = bytes, .then = Reaction::Then::close}), true);
    const auto table = table_of_one(mirror.address());
    const Master master("workers = 1\n ha_ping_interval = 0", table);
    const auto answer = master.search(R"({"table":"t"})");
    EXPECT_EQ(answer.status, 502);
    EXPECT_TRUE(answer.body.contains(named)) << answer.body;
    EXPECT_TRUE(master.word("/tables/0/shards/0/mirrors/0/last_error").contains(named));
    const TempDir dir;
    Process probe("karmad", {"--check", "--probe", "--config",
                             dir.file("k.conf", "searchd {\n listen = 127.0.0.1:1\n}\n" + table)});
    EXPECT_EQ(probe.wait(), 1);
    EXPECT_TRUE(probe.output().contains("it cannot be asked: ")) << probe.output();
    EXPECT_TRUE(probe.output().contains(named)) << probe.output();
  }
}

// It greets before it is asked.
TEST(WrongProtocols, AMysqlListenerThatIsConfiguredAsAMirrorIsNamed) {
  const FakeMirror mirror(rows_for_all());
  MysqlMaster below(mirror);
  const Master master("ha_ping_interval = 0",
                      table_of_one(fmt::format("127.0.0.1:{}", below.port())));
  for (int i = 0; i < 5; ++i) {
    const auto answer = master.search(R"({"table":"t"})");
    EXPECT_EQ(answer.status, 502);
    EXPECT_TRUE(answer.body.contains("speaks MySQL (a greeting of ")) << answer.body;
  }
}

}  // namespace
}  // namespace karmad::test
