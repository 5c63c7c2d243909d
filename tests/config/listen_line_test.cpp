#include "config/load.hpp"

#include <gtest/gtest.h>

#include "tests/config/written.hpp"

namespace karmad {
namespace {

struct ListenRead {
  std::optional<Listen> listen;
  Lines problems;
  Lines notices;
};

ListenRead read_listen_line(std::string_view line) {
  Problems problems;
  Problems notices;
  auto listen = parse_listen(source(line), problems, notices);
  return {std::move(listen), lines(problems), lines(notices)};
}

const std::string kKnownOptions = "; known are proxy, no-auth, users=, tokens=";

TEST(Listen, TakesLinesWithoutAProtocolAndHttp) {
  struct {
    const char* line;
    const char* address;
  } const cases[] = {{"9308", "*:9308"},
                     {"9308:http", "*:9308"},
                     {"*:9308", "*:9308"},
                     {"127.0.0.1:9308", "127.0.0.1:9308"},
                     {"127.0.0.1:0", "127.0.0.1:0"},
                     {"Localhost:9308:HTTP", "localhost:9308"},
                     {"localhost", "localhost:9308"},
                     {"localhost:http", "localhost:9308"},
                     {"[::1]:9308", "[::1]:9308"},
                     {"[::]:9308:http", "[::]:9308"},
                     {"/run/karmad.sock", "/run/karmad.sock"},
                     {"/run/karmad.sock:http", "/run/karmad.sock"}};
  for (const auto& c : cases) {
    const auto read = read_listen_line(c.line);
    EXPECT_EQ(read.problems, Lines{}) << c.line;
    EXPECT_EQ(read.notices, Lines{}) << c.line;
    ASSERT_TRUE(read.listen) << c.line;
    EXPECT_EQ(text(read.listen->address), c.address);
  }
}

TEST(Listen, IgnoresTheOtherProtocolsWithANotice) {
  for (const char* line : {"9312:sphinx", "192.168.1.1:9360-9370:replication",
                           "/run/m.sock:sphinxse", "9312:sphinx_vip"}) {
    const auto read = read_listen_line(line);
    EXPECT_EQ(read.problems, Lines{}) << line;
    EXPECT_FALSE(read.listen) << line;
    EXPECT_EQ(read.notices.size(), 1U) << line;
  }
  EXPECT_EQ(read_listen_line("9312:sphinx").notices,
            Lines{"c:1:1: listen = 9312:sphinx is ignored: karmad does not support sphinx"});
}

TEST(Listen, TakesTheMysqlProtocolInAllItsForms) {
  struct {
    const char* line;
    const char* meaning;
  } const cases[] = {{"9306:mysql", "*:9306:mysql"},
                     {"*:9306:MySQL", "*:9306:mysql"},
                     {"127.0.0.1:9306:mysql41", "127.0.0.1:9306:mysql"},
                     {"127.0.0.1:mysql", "127.0.0.1:9306:mysql"},
                     {"[::1]:9306:mysql_readonly", "[::1]:9306:mysql_readonly"},
                     {"/run/m.sock:mysql41_readonly", "/run/m.sock:mysql_readonly"}};
  for (const auto& c : cases) {
    const auto read = read_listen_line(c.line);
    EXPECT_EQ(read.problems, Lines{}) << c.line;
    EXPECT_EQ(read.notices, Lines{}) << c.line;
    ASSERT_TRUE(read.listen) << c.line;
    EXPECT_EQ(text(*read.listen), c.meaning);
  }
}

TEST(Listen, IgnoresVipOfMysqlWithANoticeAndKeepsReadonly) {
  const auto read = read_listen_line("9306:mysql41_vip_readonly");
  ASSERT_TRUE(read.listen);
  EXPECT_EQ(text(*read.listen), "*:9306:mysql_readonly");
  EXPECT_EQ(read.notices, Lines{"c:1:6: karmad reads mysql41_vip_readonly as mysql41_readonly: the "
                                "suffix _vip is ignored"});
}

TEST(Listen, TakesAnOptionBehindTheProtocol) {
  const std::pair<const char*, const char*> cases[] = {
      {"9308:http,proxy", "*:9308:http,proxy"},
      {"127.0.0.1:9308:HTTP,Proxy", "127.0.0.1:9308:http,proxy"},
      {"127.0.0.1:9308,proxy", "127.0.0.1:9308:http,proxy"},
      {"[::1]:9309:admin,proxy", "[::1]:9309:admin,proxy"},
      {"9306:mysql_readonly,proxy", "*:9306:mysql_readonly,proxy"},
      {"/run/k.sock:http,proxy", "/run/k.sock:http,proxy"},
      {"9308:https,NO-AUTH,proxy", "*:9308:https,proxy,no-auth"},
  };
  for (const auto& [line, meaning] : cases) {
    const auto read = read_listen_line(line);
    EXPECT_EQ(read.problems, Lines{}) << line;
    ASSERT_TRUE(read.listen) << line;
    EXPECT_EQ(text(*read.listen), meaning);
    EXPECT_TRUE(read.listen->proxy);
    EXPECT_EQ(text(*read_listen_line(meaning).listen), meaning) << "is read as it is written";
  }
}

TEST(Listen, MayBeOpenToClientsWithoutCredentials) {
  for (const auto& [line, meaning] :
       {std::pair{"127.0.0.1:9308,no-auth", "127.0.0.1:9308:http,no-auth"},
        {"127.0.0.1:9306:mysql,no-auth", "127.0.0.1:9306:mysql,no-auth"},
        {"/run/k.sock:http,no-auth,proxy", "/run/k.sock:http,proxy,no-auth"}}) {
    const auto read = read_listen_line(line);
    ASSERT_TRUE(read.listen) << line;
    EXPECT_TRUE(read.listen->no_auth);
    EXPECT_EQ(text(*read.listen), meaning);
  }
  EXPECT_FALSE(read_listen_line("9308:http,proxy").listen->no_auth);
  EXPECT_EQ(read_listen_line("9308:http,noauth").problems,
            Lines{"c:1:11: unknown option 'noauth' of a listener; did you mean 'no-auth'?" +
                  kKnownOptions});
}

TEST(Listen, MayHaveItsOwnFileOfClients) {
  using Kind = ClientAuth::Kind;
  for (const auto& [line, kind, file] :
       {std::tuple{"9308:http,users=/etc/k/Team", Kind::basic, "/etc/k/Team"},
        {"9306:mysql,proxy,users=/u", Kind::basic, "/u"},
        {"[::1]:443:https,tokens=/etc/t.1", Kind::bearer, "/etc/t.1"}}) {
    const auto read = read_listen_line(line);
    ASSERT_TRUE(read.listen) << line;
    ASSERT_TRUE(read.listen->auth);
    EXPECT_EQ(*read.listen->auth, (ClientAuth{kind, file}));
    const auto again = read_listen_line(text(*read.listen).c_str());
    ASSERT_TRUE(again.listen && again.listen->auth) << text(*read.listen);
    EXPECT_EQ(*again.listen->auth, *read.listen->auth);
  }
  EXPECT_FALSE(read_listen_line("9308:http,proxy").listen->auth);
  EXPECT_EQ(read_listen_line("9308:http,users=here").problems,
            Lines{"c:1:11: users= needs the absolute path of a file"});
  EXPECT_EQ(read_listen_line("9308:http,tokens=").problems,
            Lines{"c:1:11: tokens= needs the absolute path of a file"});
  EXPECT_FALSE(read_listen_line("9308:http,user=/x").listen);
  EXPECT_EQ(
      read_listen_line("9308:https,tokens=/t,proxy,users=/u").problems,
      Lines{"c:1:28: users= is the second file with credentials of this listener; it has one"});
  EXPECT_EQ(
      read_listen_line("9308:http,users=/a,users=/b").problems,
      Lines{"c:1:20: users= is the second file with credentials of this listener; it has one"});
}

TEST(Listen, AcceptsHttpWithASuffixAndReportsThatItIgnoresTheSuffix) {
  const auto read = read_listen_line("9308:http_vip");
  EXPECT_TRUE(read.listen);
  EXPECT_EQ(read.notices, Lines{"c:1:6: karmad reads http_vip as http: the suffix is ignored"});
}

TEST(Listen, ReportsMistakesAtTheirCharacter) {
  struct {
    const char* line;
    std::string problem;
  } const cases[] = {
      {"70000", "c:1:1: port 70000 is larger than 65535"},
      {"127.0.0.1:70000", "c:1:11: port 70000 is larger than 65535"},
      {"127.0.0.1:", "c:1:11: a value is missing"},
      {"", "c:1:1: a host is missing"},
      {"9308:htpt", "c:1:6: unknown protocol 'htpt'; did you mean 'http'?"},
      {"9308:http,proxi",
       "c:1:11: unknown option 'proxi' of a listener; did you mean 'proxy'?" + kKnownOptions},
      {"9308:http,accept-proxy",
       "c:1:11: unknown option 'accept-proxy' of a listener; did you mean 'proxy'?" +
           kKnownOptions},
      {"9308:mysql,proxy,", "c:1:18: unknown option '' of a listener" + kKnownOptions},
      {"9308:http,tfo", "c:1:11: unknown option 'tfo' of a listener" + kKnownOptions},
      {"9308:htpt,proxy", "c:1:6: unknown protocol 'htpt'; did you mean 'http'?"},
      {"9308:mysql:x", "c:1:12: 'x' is not expected behind the protocol"},
      {"a:9308:htpt", "c:1:8: unknown protocol 'htpt'; did you mean 'http'?"},
      {"/run/x:htpt", "c:1:8: unknown protocol 'htpt'; did you mean 'http'?"},
      {"1.2.3:9308", "c:1:1: '1.2.3' is neither a host name nor an IPv4 address"},
      {"a b:9308", "c:1:2: ' ' cannot be part of a host name"},
      {"::1", "c:1:1: an IPv6 address needs brackets, as in [::1]:9308"},
      {"[::1:9308", "c:1:1: the '[' of an IPv6 address has no ']'"},
      {"9306-9309", "c:1:1: '9306-9309' is neither a host name nor an IPv4 address"}};
  for (const auto& c : cases) {
    const auto read = read_listen_line(c.line);
    EXPECT_EQ(read.problems, Lines{c.problem}) << c.line;
    EXPECT_FALSE(read.listen) << c.line;
  }
}

}  // namespace
}  // namespace karmad
