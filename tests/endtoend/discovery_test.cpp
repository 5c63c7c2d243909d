// Mirrors that come and go while karmad runs: from a file, from etcd, from Kubernetes.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "tests/support/cluster.hpp"
#include "tests/support/encrypted_front.hpp"
#include "tests/support/fake_mirror.hpp"
#include "tests/support/load.hpp"

namespace karmad::test {
namespace {

Reaction finds_nothing(const std::string&) {
  return nothing_found();
}

const std::string kSearch = R"({"table":"t","query":{"match_all":{}}})";
const std::string kNoPings = "ha_ping_interval = 0";

std::string discovered(const std::string& source, const std::string& more = "") {
  return fmt::format("table t {{\n type = distributed\n discovery = {}\n {}\n}}\n", source, more);
}

std::string entry(const FakeMirror& mirror, const std::string& more = "") {
  return fmt::format(R"({{"address":"{}"{}}})", mirror.address(), more);
}

/// Writes the whole file, then puts it in its place.
void write_file(const std::string& path, const std::string& text) {
  std::ofstream(path + ".new") << text;
  ASSERT_EQ(std::rename((path + ".new").c_str(), path.c_str()), 0);
}

std::string told_events(const Master& master) {
  return get(master.port(), "/events").body;
}

bool answers(const Master& master) {
  return master.search(kSearch).status == 200;
}

bool is_failing(const Master& master, const std::string& source) {
  return master.status(source + "_source_failing") == "yes";
}

TEST(FileDiscovery, MirrorsComeAndGoWithoutALostQuery) {
  const TempDir dir;
  const auto path = dir.path() + "/m.json";
  FakeMirror first(finds_nothing);
  FakeMirror second(finds_nothing);
  write_file(path, fmt::format("[{}]", entry(first)));
  Master master(kNoPings, discovered("file " + path));
  EXPECT_TRUE(answers(master));
  const Load load(master.port(), 4, expecting_200(kSearch));
  write_file(path, fmt::format("[{},{}]", entry(first), entry(second, R"(,"weight":3)")));
  EXPECT_TRUE(eventually([&] { return second.requests() > 10; }));
  write_file(path, fmt::format("[{}]", entry(second)));
  EXPECT_TRUE(eventually([&] { return first.open_connections() == 0; }));
  const auto asked = first.requests();
  EXPECT_TRUE(load.more(200));
  EXPECT_EQ(first.requests(), asked);
  EXPECT_EQ(load.wrong(), "");
  const auto told = told_events(master);
  EXPECT_TRUE(told.contains(R"("event":"mirrors_changed")")) << told;
  EXPECT_TRUE(told.contains("1 gone (" + first.address())) << told;
}

TEST(FileDiscovery, KeepsConnectionsOfMirrorsThatStay) {
  const TempDir dir;
  const auto path = dir.path() + "/m.json";
  FakeMirror stays(finds_nothing);
  FakeMirror comes(finds_nothing);
  write_file(path, fmt::format("[{}]", entry(stays)));
  Master master(kNoPings + "\n workers = 1", discovered("file " + path));
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(answers(master));
  const auto connections = stays.connections();
  write_file(path, fmt::format("[{},{}]", entry(stays), entry(comes)));
  EXPECT_TRUE(eventually([&] { return answers(master) && comes.requests() > 0; }));
  EXPECT_EQ(stays.connections(), connections);
}

TEST(FileDiscovery, HoldsTheLastPictureWhenTheFileIsWrong) {
  const TempDir dir;
  const auto path = dir.path() + "/m.json";
  const auto source = "file " + path;
  FakeMirror mirror(finds_nothing);
  const auto good = fmt::format("[{}]", entry(mirror));
  write_file(path, good);
  Master master(kNoPings, discovered(source));
  const Load load(master.port(), 2, expecting_200(kSearch));
  const std::string wrong[] = {"[",
                               "[]",
                               "{}",
                               R"([{"address":"127.0.0.1:1","weight":"x"}])",
                               R"([{"address":"127.0.0.1:1","table":"other"}])",
                               R"([{"address":"127.0.0.1:1","role":"standalone"},)"
                               R"({"address":"127.0.0.1:2","role":"standalone"}])",
                               fmt::format(R"([{{"address":"127.0.0.1:{}"}}])", master.port()),
                               std::string((1 << 20) + 1, ' ')};
  for (const auto& text : wrong) {
    write_file(path, text);
    EXPECT_TRUE(eventually([&] { return is_failing(master, source); })) << text.substr(0, 80);
    write_file(path, good);
    EXPECT_TRUE(eventually([&] { return !is_failing(master, source); }));
  }
  std::filesystem::remove(path);
  EXPECT_TRUE(eventually([&] { return is_failing(master, source); }));
  write_file(path, R"([{"address":"127.0.0.1:1","color":"red"}])");
  EXPECT_TRUE(eventually([&] { return told_events(master).contains("color"); }))
      << "another mistake while it fails";
  EXPECT_TRUE(load.more(100));
  EXPECT_EQ(load.wrong(), "");
  const auto told = told_events(master);
  EXPECT_TRUE(told.contains("line 1, column 2: not valid JSON")) << told;
  EXPECT_TRUE(told.contains("cannot be read: No such file")) << told;
  EXPECT_TRUE(told.contains("mirror 1: 'weight': expected a whole number")) << told;
  EXPECT_TRUE(told.contains("is karmad itself")) << told;
}

TEST(FileDiscovery, StartsWithoutTheFileWithTheMirrorsThatAreWritten) {
  const TempDir dir;
  FakeMirror mirror(finds_nothing);
  Master master(kNoPings,
                discovered("file " + dir.path() + "/none", "agent = " + mirror.address()));
  EXPECT_TRUE(answers(master));
}

TEST(FileDiscovery, WithoutAnyMirrorAnswers503WithTheReason) {
  const TempDir dir;
  const auto path = dir.path() + "/m.json";
  FakeMirror mirror(finds_nothing);
  Master master(kNoPings, discovered("file " + path));
  const auto refused = master.search(kSearch);
  EXPECT_EQ(refused.status, 503) << refused.body;
  EXPECT_TRUE(refused.body.contains("cannot be read: No such file")) << refused.body;
  write_file(path, fmt::format("[{}]", entry(mirror)));
  EXPECT_TRUE(eventually([&] { return answers(master); }));
}

// What the state file has was judged where the former process listened.
TEST(FileDiscovery, StartsWithoutAFormerMirrorThatIsKarmadNow) {
  const TempDir dir;
  const auto path = dir.path() + "/m.json";
  const auto config = kNoPings + "\n state_file = " + dir.path() + "/state";
  int port = 0;
  {
    const FakeMirror mirror(finds_nothing);
    port = mirror.port();
    write_file(path, fmt::format("[{}]", entry(mirror)));
    Master master(config, discovered("file " + path));
    EXPECT_TRUE(answers(master));
    EXPECT_TRUE(eventually([&] { return std::filesystem::exists(dir.path() + "/state"); }));
    master.process().signal(SIGTERM);
    EXPECT_EQ(master.process().wait(), 0);
  }
  std::filesystem::remove(path);
  Master master(config + fmt::format("\n listen = 127.0.0.1:{}", port), discovered("file " + path));
  EXPECT_TRUE(master.process().output().contains(fmt::format(
      "the former mirrors of table t cannot be used: 127.0.0.1:{} is karmad itself", port)))
      << master.process().output();
  EXPECT_EQ(master.search(kSearch).status, 503);
}

TEST(FileDiscovery, KeepsAShardThatHasNoMirrorsAnyMoreUntilAReload) {
  const TempDir dir;
  const auto path = dir.path() + "/m.json";
  const auto source = "file " + path;
  FakeMirror first(finds_nothing);
  FakeMirror second(finds_nothing);
  write_file(path, fmt::format("[{},{}]", entry(first), entry(second, R"(,"shard":2)")));
  Master master(kNoPings, discovered(source));
  EXPECT_TRUE(answers(master));
  EXPECT_EQ(second.requests(), 1u);
  write_file(path, fmt::format("[{}]", entry(first)));
  EXPECT_TRUE(eventually([&] { return is_failing(master, source); }));
  EXPECT_TRUE(answers(master));
  EXPECT_EQ(second.requests(), 2u);
  ASSERT_TRUE(master.reload(kNoPings, discovered(source)));
  EXPECT_TRUE(answers(master));
  EXPECT_EQ(second.requests(), 2u);
}

/// etcd as a real process; no port: it is not installed.
class Etcd {
 public:
  Etcd() {
    if (::access("/usr/bin/etcd", X_OK) != 0) return;
    start();
  }
  bool installed() const { return port_ != 0; }
  void start() {
    if (port_ == 0) port_ = ClosedPort().port();
    const auto url = fmt::format("http://127.0.0.1:{}", port_);
    const auto peers = fmt::format("http://127.0.0.1:{}", ClosedPort().port());
    process_.emplace(
        "/usr/bin/etcd",
        std::vector<std::string>{"--data-dir", dir_.path() + "/data", "--listen-client-urls", url,
                                 "--advertise-client-urls", url, "--listen-peer-urls", peers,
                                 "--initial-advertise-peer-urls", peers, "--initial-cluster",
                                 "default=" + peers});
    EXPECT_TRUE(eventually([&] { return get(port_, "/health").status == 200; }));
  }
  void stop() { process_.reset(); }
  std::string address() const { return fmt::format("127.0.0.1:{}", port_); }
  std::string source() const { return fmt::format("etcd http://{}/karmad/t/", address()); }
  /// Values of these keys must be written in base64.
  void put(const std::string& key, const std::string& value) const {
    ask("/v3/kv/put",
        fmt::format(R"({{"key":"{}","value":"{}"}})", in_base64(key), in_base64(value)));
  }
  void remove(const std::string& key) const {
    ask("/v3/kv/deleterange", fmt::format(R"({{"key":"{}"}})", in_base64(key)));
  }
  /// From now on only `root` with this password is answered.
  void wants_password(const std::string& password) const {
    ask("/v3/auth/user/add", fmt::format(R"({{"name":"root","password":"{}"}})", password));
    ask("/v3/auth/role/add", R"({"name":"root"})");
    ask("/v3/auth/user/grant", R"({"user":"root","role":"root"})");
    ask("/v3/auth/enable", "{}");
  }

  static std::string in_base64(const std::string& text) {
    static constexpr std::string_view kDigits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    for (std::size_t i = 0; i < text.size(); i += 3) {
      unsigned bits = 0;
      for (std::size_t k = 0; k < 3; ++k)
        bits = bits << 8 | (i + k < text.size() ? static_cast<unsigned char>(text[i + k]) : 0U);
      for (std::size_t k = 0; k < 4; ++k)
        out += k <= text.size() - i ? kDigits[bits >> (18 - 6 * k) & 63] : '=';
    }
    return out;
  }

 private:
  void ask(const std::string& target, const std::string& body) const {
    HttpClient client(port_);
    const auto answer = client.request("POST", target, body);
    EXPECT_TRUE(answer && answer->status == 200);
  }

  TempDir dir_;
  int port_ = 0;
  std::optional<Process> process_;
};

TEST(EtcdDiscovery, FollowsItsKeysAndHoldsThePictureWhileItIsAway) {
  Etcd etcd;
  if (!etcd.installed()) GTEST_SKIP() << "/usr/bin/etcd is not installed (package etcd-server)";
  FakeMirror first(finds_nothing);
  FakeMirror second(finds_nothing);
  etcd.put("/karmad/t/1", entry(first));
  Master master(kNoPings, discovered(etcd.source()));
  EXPECT_TRUE(answers(master));
  const Load load(master.port(), 2, expecting_200(kSearch));
  etcd.put("/karmad/t/2", entry(second));
  EXPECT_TRUE(eventually([&] { return second.requests() > 0; }));
  etcd.remove("/karmad/t/1");
  EXPECT_TRUE(eventually([&] { return first.open_connections() == 0; }));

  etcd.put("/karmad/t/3", "{\"address\":7}");
  EXPECT_TRUE(eventually([&] { return is_failing(master, etcd.source()); }));
  EXPECT_TRUE(told_events(master).contains("key /karmad/t/3: 'address': expected a text"))
      << told_events(master);
  etcd.remove("/karmad/t/3");
  EXPECT_TRUE(eventually([&] { return !is_failing(master, etcd.source()); }));

  etcd.stop();
  EXPECT_TRUE(eventually([&] { return is_failing(master, etcd.source()); }));
  EXPECT_TRUE(load.more(100));
  etcd.start();
  EXPECT_TRUE(eventually([&] { return !is_failing(master, etcd.source()); }));
  const auto asked = first.requests();
  etcd.put("/karmad/t/1", entry(first));
  EXPECT_TRUE(eventually([&] { return first.requests() > asked; }));
  EXPECT_EQ(load.wrong(), "");
}

std::string slice(const std::string& addresses, int port) {
  return fmt::format(R"({{"kind":"EndpointSlice","addressType":"IPv4","metadata":{{"name":"s-1"}},)"
                     R"("ports":[{{"name":"http","port":{}}}],"endpoints":[{}]}})",
                     port, addresses);
}

std::string endpoint(const std::string& address, bool ready = true) {
  return fmt::format(R"({{"addresses":["{}"],"conditions":{{"ready":{}}}}})", address, ready);
}

TEST(EtcdDiscovery, UsesTlsWithACertificateOfItsOwn) {
  const Etcd etcd;
  if (!etcd.installed()) GTEST_SKIP() << "/usr/bin/etcd is not installed (package etcd-server)";
  const TempDir dir;
  const Authority clients(dir.path());
  const EncryptedFront front(etcd.address(), "tls_client_ca = " + clients.root());
  FakeMirror first(finds_nothing);
  FakeMirror second(finds_nothing);
  etcd.put("/karmad/t/1", entry(first));
  const auto source = fmt::format("etcd https://{}/karmad/t/", front.address);
  const auto table = [&](const std::string& more) {
    return discovered(source, fmt::format("discovery_ca = {}\n {}", front.authority.root(), more));
  };
  Master master(kNoPings, table(""));
  EXPECT_TRUE(eventually([&] { return is_failing(master, source); }));
  ASSERT_TRUE(master.reload(
      kNoPings, table("discovery_certificate = " + clients.issue("k.pem", "DNS:karmad.example"))));
  EXPECT_TRUE(eventually([&] { return answers(master); }));
  etcd.put("/karmad/t/1", entry(second));
  EXPECT_TRUE(eventually([&] { return answers(master) && second.requests() > 0; }));
}

std::string with_token(const EncryptedFront& front, const std::string& file) {
  return discovered(
      fmt::format("etcd https://{}/karmad/t/", front.address),
      fmt::format("discovery_ca = {}\n discovery_token = {}", front.authority.root(), file));
}

TEST(EtcdDiscovery, LogsInToAServerWithUsers) {
  const Etcd etcd;
  if (!etcd.installed()) GTEST_SKIP() << "/usr/bin/etcd is not installed (package etcd-server)";
  FakeMirror mirror(finds_nothing);
  etcd.put("/karmad/t/1", entry(mirror));
  etcd.wants_password("s:e~cret");
  const TempDir dir;
  const auto file = dir.path() + "/user";
  write_file(file, "root:another\n");
  const EncryptedFront front(etcd.address());
  Master master(kNoPings, with_token(front, file));
  EXPECT_TRUE(eventually([&] {
    return told_events(master).contains("authentication failed: the answer has status 400");
  })) << told_events(master);
  write_file(file, "root:s:e~cret\n");
  EXPECT_TRUE(eventually([&] { return answers(master); }));
}

/// Answers as etcd with one user, whose token ends with each change; each watch tells one at once.
FakeMirror::React etcd_of_user(const std::string& login, const std::string& value, int& token) {
  return [=, &token](const std::string& request) {
    if (request.starts_with("POST /v3/auth/authenticate ")) {
      if (!request.contains(login) || request.contains("Authorization"))
        return json(R"({"error":"etcdserver: authentication failed, invalid user ID or password",)"
                    R"("code":3})",
                    400);
      return json(fmt::format(R"({{"token":"t.{}"}})", token));
    }
    if (!request.contains(fmt::format("\r\nAuthorization: t.{}\r\n", token)))
      return json(R"({"error":"etcdserver: invalid auth token","code":16})", 401);
    if (request.starts_with("POST /v3/kv/range "))
      return json(
          fmt::format(R"({{"header":{{"revision":"1"}},"kvs":[{{"key":"{}","value":"{}"}}]}})",
                      Etcd::in_base64("/karmad/t/1"), Etcd::in_base64(value)));
    ++token;
    return json("{\"result\":{\"events\":[{}]}}\n");
  };
}

TEST(EtcdDiscovery, GetsATokenForItsPasswordAndAnotherWhenThatEnds) {
  FakeMirror mirror(finds_nothing);
  int token = 7;
  const FakeMirror etcd(
      etcd_of_user(R"({"name":"karmad","password":"two\"words"})", entry(mirror), token));
  const TempDir dir;
  const auto file = dir.path() + "/user";
  write_file(file, "karmad:one-word\n");
  const EncryptedFront front(etcd.address());
  Master master(kNoPings, with_token(front, file));
  const auto source = fmt::format("etcd https://{}/karmad/t/", front.address);
  EXPECT_TRUE(eventually([&] { return master.count(source + "_source_failures") >= 2; }));
  EXPECT_LT(etcd.requests(), 20u);
  EXPECT_TRUE(told_events(master).contains("authentication failed: the answer has status 400"))
      << told_events(master);
  EXPECT_FALSE(told_events(master).contains("one-word"));
  EXPECT_FALSE(master.process().output().contains("one-word"));

  write_file(file, "karmad:two\"words\n");
  EXPECT_TRUE(eventually([&] { return answers(master); }));
  const auto failures = master.count(source + "_source_failures");
  const auto asked = etcd.requests();
  EXPECT_TRUE(eventually([&] { return etcd.requests() > asked + 12; }));
  EXPECT_EQ(master.count(source + "_source_failures"), failures) << told_events(master);
}

/// Answers as the API server: 127.0.0.1 is ready, and then only 127.0.0.2 is.
FakeMirror::React api_with_port(int port) {
  return [port](const std::string& request) {
    if (!request.contains("watch=1"))
      return json(fmt::format(
          R"({{"kind":"EndpointSliceList","metadata":{{"resourceVersion":"7"}},"items":[{}]}})",
          slice(endpoint("127.0.0.1") + "," + endpoint("127.0.0.2", false), port)));
    const auto event =
        fmt::format(R"({{"type":"MODIFIED","object":{}}})", slice(endpoint("127.0.0.2"), port)) +
        "\n";
    return Reaction{.bytes = fmt::format("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
                                         "Content-Type: application/json\r\n\r\n{:x}\r\n{}\r\n",
                                         event.size(), event),
                    .then = Reaction::Then::hang};
  };
}

TEST(KubernetesDiscovery, ListsTheSlicesAndFollowsTheirChanges) {
  FakeMirror first(finds_nothing);
  FakeMirror second(finds_nothing, "127.0.0.2", first.port());
  FakeMirror api(api_with_port(first.port()), /*pings_too=*/true);
  Master master(kNoPings, discovered("kubernetes prod/search:http http://" + api.address()));
  EXPECT_TRUE(eventually([&] { return answers(master) && second.requests() > 0; }));
  const auto asked = api.seen();
  ASSERT_GE(asked.size(), 2u);
  EXPECT_TRUE(asked[0].starts_with("GET /apis/discovery.k8s.io/v1/namespaces/prod/endpointslices?"))
      << asked[0];
  EXPECT_TRUE(asked[1].contains("resourceVersion=7")) << asked[1];
  EXPECT_FALSE(asked[0].contains("Authorization"));
}

TEST(KubernetesDiscovery, ReachesTheApiWithTlsAndATokenThatMayChange) {
  FakeMirror first(finds_nothing);
  FakeMirror second(finds_nothing, "127.0.0.2", first.port());
  FakeMirror api(api_with_port(first.port()), /*pings_too=*/true);
  const TempDir dir;
  const auto token = dir.path() + "/token";
  write_file(dir.path() + "/known", "a-token-of-the-account\n");
  write_file(token, "another-token\n");
  EncryptedFront front(api.address(), fmt::format("auth = bearer {}/known", dir.path()));
  front.master.identify("Authorization: Bearer a-token-of-the-account\r\n");
  const auto source = fmt::format("kubernetes prod/search:http https://{}", front.address);
  const auto table = [&](const std::string& root) {
    return discovered(source, fmt::format("discovery_ca = {}\n discovery_token = {}", root, token));
  };
  const auto told = [](Master& master, std::string_view what) {
    return eventually([&] { return told_events(master).contains(what); });
  };
  Master master(kNoPings, table(front.authority.root()));
  EXPECT_TRUE(told(master, "the answer has status 401")) << told_events(master);
  EXPECT_EQ(api.requests(), 0u);
  write_file(token, "a-token-of-the-account\n");
  EXPECT_TRUE(eventually([&] { return answers(master) && second.requests() > 0; }));

  const TempDir other;
  ASSERT_TRUE(master.reload(kNoPings, table(Authority(other.path()).root())));
  EXPECT_TRUE(told(master, "the certificate of the peer is not accepted")) << told_events(master);
  EXPECT_TRUE(answers(master));
  write_file(token, "a b\n");
  ASSERT_TRUE(master.reload(kNoPings + "\n workers = 1", table(front.authority.root())));
  EXPECT_TRUE(told(master, "its first line must be a token")) << told_events(master);
  EXPECT_FALSE(told_events(master).contains("a-token"));
}

TEST(KubernetesDiscovery, SaysThatAnAnswerIsLargerThanASourceMayHave) {
  const std::string piece = "40000\r\n" + std::string(0x40000, ' ') + "\r\n";
  std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 5; ++i) chunked += piece;
  const std::pair<Reaction, std::string> answers_and_texts[] = {
      {json(std::string(1'048'577, ' ')), "its answer of 1048577 bytes"},
      {Reaction{chunked + "0\r\n\r\n"}, "its answer"}};
  for (const auto& [answer, text] : answers_and_texts) {
    const FakeMirror api([&](const std::string&) { return answer; }, /*pings_too=*/true);
    const Master master(kNoPings, discovered("kubernetes a/b http://" + api.address()));
    const auto told = text + " is larger than what a source may have (1048576)";
    EXPECT_TRUE(eventually([&] { return told_events(master).contains(told); }))
        << told_events(master);
  }
}

TEST(KubernetesDiscovery, SaysWhichFilesAreWrong) {
  const TempDir dir;
  const auto table = [&](const std::string& scheme, const std::string& more) {
    return discovered(fmt::format("kubernetes a/b {}://127.0.0.1:1", scheme), more);
  };
  Master master(kNoPings, table("http", ""));
  const auto path = dir.path() + "/none.pem";
  EXPECT_TRUE(master.reload(kNoPings, table("https", "discovery_ca = " + path)));
  EXPECT_TRUE(master.process().output().contains("discovery_ca: " + path +
                                                 ": no certificates in PEM can be read"))
      << master.process().output();
  EXPECT_TRUE(master.reload(kNoPings, table("http", "discovery_token = " + path)));
  EXPECT_TRUE(master.process().output().contains("discovery_token has no effect"))
      << master.process().output();
}

}  // namespace
}  // namespace karmad::test
