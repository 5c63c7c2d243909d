// TLS with clients of HTTP and MySQL, and with agents.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/support/cluster.hpp"
#include "tests/support/fake_set.hpp"
#include "tests/support/tls.hpp"

namespace karmad::test {
namespace {

std::string web_table_at(const std::string& agents, const std::string& more = {}) {
  return fmt::format(
      "table w {{\n type = distributed\n dialect = http\n route = /w\n agent = {}\n{}}}\n", agents,
      more);
}

/// karmad with a listener for TLS, in front of one mirror.
struct TlsMaster {
  explicit TlsMaster(const std::string& searchd = {}, const std::string& certificate_names = {})
      : certificate(authority.issue("first.pem", certificate_names.empty()
                                                     ? "DNS:search.example,IP:127.0.0.1"
                                                     : certificate_names)),
        lines(fmt::format("listen = 127.0.0.1:0:https\n workers = 1\n ha_ping_interval = 0\n "
                          "tls_certificate = {}\n {}",
                          certificate, searchd)),
        master(lines, web_table_at(mirror.address())) {
    if (const auto line = master.process().wait_for(":https"))
      port = std::stoi(line->substr(line->find("127.0.0.1:") + 10));
  }

  TempDir dir;
  Authority authority{dir.path()};
  std::string certificate;
  FakeMirror mirror{always(json(R"({"from":"mirror"})")), /*pings_too=*/true};
  std::string lines;
  Master master;
  int port = 0;
};

TEST(ClientTls, CarriesRequestsOfBothVersionsAndResumesSessions) {
  TlsMaster karmad;
  for (const auto version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    TlsConnection first(karmad.port, {.root = karmad.authority.root(),
                                      .name = "search.example",
                                      .version = version,
                                      .protocols = "\x02h2\x08http/1.1"});
    ASSERT_EQ(first.failure(), "");
    EXPECT_EQ(first.protocol(), "http/1.1");
    EXPECT_TRUE(first.get("/w/x").contains(R"({"from":"mirror"})"));
    auto* const session = first.session();
    TlsConnection second(karmad.port, {.root = karmad.authority.root(),
                                       .name = "search.example",
                                       .version = version,
                                       .session = session});
    ASSERT_EQ(second.failure(), "");
    EXPECT_TRUE(second.resumed());
    EXPECT_TRUE(second.get("/w/y").contains("200 OK"));
    ::SSL_SESSION_free(session);
  }
  EXPECT_EQ(karmad.master.count("tls_failures"), 0);
}

TEST(ClientTls, CarriesPipelinedRequestsAndLongAnswersInOrder) {
  const std::string large(3'000'000, 'x');
  TempDir dir;
  const Authority authority(dir.path());
  const FakeMirror mirror(always(json("\"" + large + "\"")), /*pings_too=*/true);
  Master master(fmt::format("listen = 127.0.0.1:0:https\n tls_certificate = {}\n workers = 1",
                            authority.issue("c.pem", "IP:127.0.0.1")),
                web_table_at(mirror.address()));
  const auto line = master.process().wait_for(":https");
  ASSERT_TRUE(line);
  TlsConnection client(std::stoi(line->substr(line->find("127.0.0.1:") + 10)), TlsWishes{});
  ASSERT_TRUE(
      client.send("GET /w/1 HTTP/1.1\r\nHost: x\r\n\r\n"
                  "GET /w/2 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
  const auto both = client.rest();
  EXPECT_GT(both.size(), 2 * large.size());
  EXPECT_TRUE(both.ends_with("x\""));
}

TEST(ClientTls, RefusesOldVersionsPlainTextAndOtherProtocolsWithOneLineEach) {
  TlsMaster karmad;
  TlsConnection old(karmad.port, {.version = TLS1_1_VERSION});
  EXPECT_NE(old.failure(), "");
  EXPECT_TRUE(karmad.master.process().wait_for("the peer wants a version of TLS below 1.2"));
  TlsConnection plain(karmad.port);
  const auto answer = plain.get("/w");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 ")) << answer;
  EXPECT_TRUE(answer.contains("TLS is spoken here: use https://")) << answer;
  TlsConnection other(karmad.port);
  other.send("SSH-2.0-x\r\n");
  other.rest();
  EXPECT_TRUE(eventually([&] { return karmad.master.count("tls_failures") == 3; }));
  TlsConnection http2(karmad.port, {.protocols = "\x02h2"});
  EXPECT_EQ(http2.failure(), "tlsv1 alert no application protocol");
}

TEST(ClientTls, ChoosesTheCertificateByTheNameThatIsAskedFor) {
  TempDir dir;
  const Authority authority(dir.path());
  const FakeMirror mirror(always(json("{}")), /*pings_too=*/true);
  Master master(fmt::format("listen = 127.0.0.1:0:https\n tls_certificate = {}, {}\n workers = 1",
                            authority.issue("a.pem", "DNS:a.example"),
                            authority.issue("b.pem", "DNS:b.example,DNS:*.b.example")),
                web_table_at(mirror.address()));
  const auto line = master.process().wait_for(":https");
  ASSERT_TRUE(line);
  const auto port = std::stoi(line->substr(line->find("127.0.0.1:") + 10));
  for (const auto& [name, subject] : {std::pair("a.example", "/CN=a.example"),
                                      {"b.example", "/CN=b.example"},
                                      {"x.b.example", "/CN=b.example"}}) {
    const TlsConnection client(port, {.root = authority.root(), .name = name});
    EXPECT_EQ(client.failure(), "");
    EXPECT_EQ(client.subject(), subject);
  }
  const TlsConnection unknown(port, {.name = {}});
  EXPECT_EQ(unknown.subject(), "/CN=a.example");
}

TEST(ClientTls, DemandsACertificateWithOneOfTheNames) {
  TempDir clients;
  const Authority signer(clients.path());
  TlsMaster karmad(
      fmt::format("tls_client_ca = {}\n tls_client_names = app.example, 10.1.2.3", signer.root()));
  const auto code_of = [&](const std::string& certificate) {
    TlsConnection client(karmad.port, {.certificate = certificate});
    return client.failure().empty() ? client.get("/w").substr(0, 12) : "";
  };
  EXPECT_EQ(code_of(signer.issue("app.pem", "DNS:app.example")), "HTTP/1.1 200");
  EXPECT_EQ(code_of(signer.issue("ip.pem", "IP:10.1.2.3")), "HTTP/1.1 200");
  EXPECT_EQ(code_of(signer.issue("other.pem", "DNS:other.example")), "");
  EXPECT_TRUE(karmad.master.process().wait_for("hostname mismatch"));
  EXPECT_EQ(code_of({}), "");
  const Authority stranger(karmad.dir.path());
  EXPECT_EQ(code_of(stranger.issue("s.pem", "DNS:app.example")), "");
  EXPECT_TRUE(eventually([&] { return karmad.master.count("tls_failures") == 3; }));
}

TEST(ClientTls, FollowsItsFilesAtAReloadAndWarnsOfThoseThatExpire) {
  TlsMaster karmad;
  TlsConnection kept(karmad.port, TlsWishes{});
  EXPECT_EQ(kept.subject(), "/CN=search.example");
  karmad.authority.issue("first.pem", "DNS:renewed.example", /*days=*/3);
  ASSERT_TRUE(karmad.master.reload(karmad.lines, web_table_at(karmad.mirror.address())));
  EXPECT_TRUE(karmad.master.process().wait_for("the changed certificates"));
  EXPECT_TRUE(karmad.master.process().wait_for("expires in 2 days"));
  EXPECT_EQ(TlsConnection(karmad.port, TlsWishes{}).subject(), "/CN=renewed.example");
  EXPECT_TRUE(kept.get("/w").contains("200 OK")) << "an open connection stays";
  EXPECT_TRUE(get(karmad.master.port(), "/readyz").body.contains("expires in 2 days"));
  EXPECT_TRUE(get(karmad.master.port(), "/metrics").body.contains("karmad_tls_certificate_time_"));
}

TEST(ClientTls, KeepsTheFormerCertificatesWhereTheNewFilesAreBroken) {
  TlsMaster karmad;
  karmad.dir.file("first.pem", "no certificate");
  EXPECT_TRUE(karmad.master.process().wait_for("the former certificates stay in use"));
  EXPECT_EQ(TlsConnection(karmad.port, TlsWishes{}).subject(), "/CN=search.example");
  karmad.master.reload(karmad.lines, web_table_at(karmad.mirror.address()));
  EXPECT_TRUE(karmad.master.process().wait_for("the old configuration stays in use"));
}

TEST(ClientTls, WaitsForNoPipeAndReadsNoDevice) {
  TlsMaster karmad;
  std::filesystem::remove(karmad.certificate);
  ASSERT_EQ(::mkfifo(karmad.certificate.c_str(), 0600), 0);
  EXPECT_TRUE(karmad.master.process().wait_for("first.pem: it is not a regular file"));
  EXPECT_EQ(TlsConnection(karmad.port, TlsWishes{}).subject(), "/CN=search.example");
  const auto events = get(karmad.master.port(), "/events").body;
  EXPECT_TRUE(events.contains(R"("event":"certificates")")) << events;
  EXPECT_FALSE(events.contains("reload_failed")) << events;
  EXPECT_TRUE(get(karmad.master.port(), "/readyz").body.contains("it is not a regular file"));
  std::filesystem::remove(karmad.certificate);
  karmad.authority.issue("first.pem", "DNS:next.example");
  EXPECT_TRUE(karmad.master.process().wait_for("the changed certificates"));
  EXPECT_FALSE(get(karmad.master.port(), "/readyz").body.contains("warning"));
}

TEST(ClientTls, IsOfferedToClientsOfMysql) {
  TempDir dir;
  const Authority authority(dir.path());
  const DemoAgent agent("0/1");
  Master master(fmt::format("listen = 127.0.0.1:0:mysql\n tls_certificate = {}\n workers = 1",
                            authority.issue("c.pem", "DNS:search.example")),
                fmt::format("table products {{\n type = distributed\n agent = {}:products\n}}\n",
                            agent.address()));
  const auto line = master.process().wait_for(":mysql");
  ASSERT_TRUE(line);
  ASSERT_TRUE(master.ready());
  const auto port = line->substr(line->find("127.0.0.1:") + 10);
  for (const auto* tls : {"--ssl", "--skip-ssl"}) {
    Process mariadb(
        "/usr/bin/mariadb",
        {"--no-defaults", "-h", "127.0.0.1", "-P", port.substr(0, port.find(':')), tls, "-N", "-e",
         "SELECT COUNT(*) FROM products; SELECT @@have_ssl, @@have_openssl; \\s"});
    ASSERT_EQ(mariadb.wait(), 0) << mariadb.output();
    EXPECT_TRUE(mariadb.output().contains("4000\nYES\tYES")) << mariadb.output();
    EXPECT_EQ(mariadb.output().contains("Cipher in use is TLS_"), tls == std::string("--ssl"))
        << mariadb.output();
  }
}

// A proxy, or a late packet, may join what the client has sent in two.
TEST(ClientTls, OfMysqlMayBeginInTheBytesOfTheRequestForIt) {
  TlsMaster karmad("listen = 127.0.0.1:0:mysql\n");
  const auto line = karmad.master.process().wait_for(":mysql");
  ASSERT_TRUE(line);
  for (const auto version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    TlsConnection client(std::stoi(line->substr(line->find("127.0.0.1:") + 10)));
    ASSERT_GT(client.take(40).size(), 40u);  // the greeting, in one piece
    constexpr std::string_view kWantsTls(
        "\x20\0\0\x01\0\x8a\x08\0\0\0\0\x01\x21\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 36);
    client.hold_back(true);
    ASSERT_TRUE(client.send(kWantsTls));
    EXPECT_EQ(client.begin({.root = karmad.authority.root(), .version = version}), "");
  }
}

TEST(ClientTls, ThatEndsBehindARequestEndsTheConnectionBehindTheAnswer) {
  const TlsMaster karmad;
  for (const bool at_once : {true, false}) {
    TlsConnection client(karmad.port, TlsWishes{});
    ASSERT_EQ(client.failure(), "");
    client.hold_back(at_once);
    ASSERT_TRUE(client.send("GET /w/x HTTP/1.1\r\nHost: x\r\n\r\n"));
    client.finish();
    client.hold_back(false);
    EXPECT_TRUE(client.rest().ends_with(R"({"from":"mirror"})")) << at_once;
  }
}

// The connection itself stays open: some clients wait for its end.
TEST(ClientTls, ThatEndsWithinAnAnswerWithAnOpenEndIsNoticed) {
  TlsMaster karmad("half_close_wait = 50ms\n stream_timeout = 1h\n");
  karmad.mirror.react([](const std::string&) {
    return Reaction{.bytes =
                        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                        "Transfer-Encoding: chunked\r\n\r\n3\r\none\r\n",
                    .then = Reaction::Then::hang};
  });
  TlsConnection client(karmad.port, TlsWishes{});
  ASSERT_TRUE(client.send("GET /w/x HTTP/1.1\r\nHost: x\r\n\r\n"));
  std::string got;
  while (!got.contains("one")) {
    const auto more = client.take(1);
    ASSERT_NE(more, "");
    got += more;
  }
  client.finish();
  EXPECT_TRUE(eventually([&] { return karmad.master.count("clients_left") == 1; }));
}

TEST(AgentTls, VerifiesTheAgentAndNeverFallsBackToPlainText) {
  TlsMaster agent;
  const auto tables = [&](const std::string& settings) {
    return web_table_at(fmt::format("127.0.0.1:{}", agent.port),
                        fmt::format(" path = /w\n {}\n", settings));
  };
  const auto trusted = fmt::format("agent_tls = yes\n agent_tls_ca = {}", agent.authority.root());
  Master master("workers = 1\n ha_ping_interval = 0", tables(trusted));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(get(master.port(), "/w/q").status, 200);
  EXPECT_EQ(agent.mirror.requests(), 3u);

  ASSERT_TRUE(master.reload("workers = 1\n ha_ping_interval = 0", tables("agent_tls = yes")));
  EXPECT_GE(get(master.port(), "/w/q").status, 500);
  EXPECT_TRUE(
      eventually([&] { return master.word("/tables/0/shards/0/mirrors/0/state") == "untrusted"; }));
  EXPECT_TRUE(master.word("/tables/0/shards/0/mirrors/0/reason").contains("certificate"));

  ASSERT_TRUE(master.reload("workers = 1\n ha_ping_interval = 0",
                            tables(trusted + "\n agent_tls_name = wrong.example")));
  EXPECT_GE(get(master.port(), "/w/q").status, 500);
  EXPECT_EQ(agent.mirror.requests(), 3u);
  ASSERT_TRUE(
      master.reload("workers = 1\n ha_ping_interval = 0", tables("agent_tls = unverified")));
  EXPECT_TRUE(eventually([&] { return get(master.port(), "/w/q").status == 200; }));
}

TEST(AgentTls, ShowsItsCertificateAndPingsInTheSameWay) {
  TempDir dir;
  const Authority signer(dir.path());
  TlsMaster agent(fmt::format("tls_client_ca = {}", signer.root()));
  Master master(
      fmt::format("workers = 1\n ha_ping_interval = 100ms\n agent_tls_certificate = {}\n "
                  "agent_tls_ca = {}",
                  signer.issue("karmad.pem", "DNS:karmad.example"), agent.authority.root()),
      web_table_at(
          fmt::format("127.0.0.1:{}[agent_tls=yes,agent_tls_name=search.example]", agent.port),
          " path = /w\n ping_path = /healthz\n"));
  EXPECT_TRUE(master.ready());
  EXPECT_EQ(get(master.port(), "/w/q").status, 200);
}

TEST(AgentTls, SaysWhatWentWrongBehindTheHandshake) {
  TempDir dir;
  const TlsMaster agent(fmt::format("tls_client_ca = {}", Authority(dir.path()).root()));
  const Master master("workers = 1\n ha_ping_interval = 0\n agent_tls = unverified",
                      web_table_at(fmt::format("127.0.0.1:{}", agent.port), " path = /w\n"));
  const std::string_view why = "TLS: tlsv13 alert certificate required";
  const auto answer = get(master.port(), "/w/q");
  EXPECT_TRUE(answer.body.contains(why)) << answer.body;
  const auto last = master.word("/tables/0/shards/0/mirrors/0/last_error");
  EXPECT_TRUE(last.contains(why)) << last;
}

TEST(ClientTls, IsCheckedWithTheFile) {
  TempDir dir;
  const Authority authority(dir.path());
  const auto good = authority.issue("good.pem", "DNS:a.example");
  const auto other = authority.issue("other.pem", "DNS:b.example");
  const auto pipe = dir.path() + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const auto& [lines, problem] :
       {std::pair(std::string("listen = 1:https"), std::string("*:1:https needs tls_certificate")),
        {"tls_client_ca = " + good, "tls_client_ca has no effect without tls_certificate"},
        {"tls_certificate = /does/not/exist", "/does/not/exist: no certificate in PEM"},
        {fmt::format("tls_certificate = {}\n tls_key = {}", good, other),
         fmt::format("k.conf:3:12: tls_key: {}: ", other)},
        {fmt::format("tls_key = {}\n tls_certificate = {}", pipe, good),
         fmt::format("k.conf:2:12: tls_key: {}: it is not a regular file", pipe)},
        {fmt::format("tls_certificate = {}\n tls_client_ca = /dev/zero", good),
         "k.conf:3:18: tls_client_ca: /dev/zero: it is not a regular file"},
        {fmt::format("agent_tls = unverified\n agent_tls_ca = {}", pipe),
         fmt::format("k.conf:3:17: agent_tls_ca: {}: it is not a regular file", pipe)},
        {"agent_tls_certificate = /no/such\n agent_tls = yes",
         "k.conf:2:26: agent_tls_certificate: /no/such: "},
        {fmt::format("tls_certificate = {}\n tls_key = {}, {}", good, good, other),
         "tls_key has 2 and tls_certificate 1"}}) {
    const auto file = dir.file(
        "k.conf", fmt::format("searchd {{\n {}\n}}\n{}", lines, web_table_at("127.0.0.1:1")));
    Process check("karmad", {"--check", "--config", file});
    EXPECT_EQ(check.wait(), 78) << lines << "\n" << check.output();
    EXPECT_TRUE(check.output().contains(problem)) << check.output();
    EXPECT_TRUE(check.output().contains("k.conf:2:") || check.output().contains("k.conf:3:"))
        << check.output();
  }
}

TEST(ClientTls, IsCheckedForCertificatesThatExpire) {
  const TempDir dir;
  const Authority authority(dir.path());
  const auto good = authority.issue("good.pem", "DNS:a.example");
  for (const auto& [days, warning] : {std::pair(-2, "has expired"),
                                      {9, "expires in 8 days"},
                                      {2, "expires in 1 day\n"},
                                      {40, ""}}) {
    const auto other = authority.issue("other.pem", "DNS:b.example", days);
    const auto file = dir.file(
        "k.conf", fmt::format("searchd {{\n listen = 1:https\n tls_certificate = {}, {}\n}}\n{}",
                              good, other, web_table_at("127.0.0.1:2")));
    Process check("karmad", {"--check", "--config", file});
    EXPECT_EQ(check.wait(), 0) << check.output();
    const auto warned = fmt::format("k.conf:3:20: warning: tls_certificate {} {}", other, warning);
    EXPECT_EQ(check.output().contains(warned), *warning != '\0') << check.output();
    EXPECT_EQ(check.output().contains("warning"), *warning != '\0') << check.output();
  }
}

}  // namespace
}  // namespace karmad::test
