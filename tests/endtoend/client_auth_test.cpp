// Which clients are served (`auth`).
#include <crypt.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <chrono>
#include <filesystem>
#include <thread>
#include <vector>

#include "tests/support/fake_set.hpp"
#include "tests/support/mysql_client.hpp"

namespace karmad::test {
namespace {

constexpr std::string_view kAnn = "Authorization: Basic YW5uOnRlYXBvdC0xOA==\r\n";  // teapot-18
constexpr std::string_view kWrongAnn =
    "Authorization: Basic YW5uOnRlYXBvdC0xOQ==\r\n";                                   // teapot-19
constexpr std::string_view kNobody = "Authorization: Basic emVkOnRlYXBvdC0xOA==\r\n";  // zed

/// A line of the file with users: the password's bcrypt of 2^cost rounds.
std::string user_line(const std::string& user, const std::string& password, unsigned cost = 4) {
  char salt[CRYPT_GENSALT_OUTPUT_SIZE];
  ::crypt_gensalt_rn("$2b$", cost, nullptr, 0, salt, sizeof salt);
  crypt_data data{};
  return user + ':' + ::crypt_r(password.c_str(), salt, &data) + '\n';
}

/// A master whose clients need credentials, which the test itself sends in these fields.
struct GuardedMaster : Master {
  GuardedMaster(const std::string& searchd, const std::string& rest, std::string_view fields = kAnn)
      : Master(searchd, rest) {
    identify(fields);
  }
};

class ClientAuth : public ::testing::Test {
 protected:
  std::string searchd(const std::string& more = {}) const {
    return taking_turns("workers = 1\n auth = basic " + users + "\n " + more);
  }
  Response search(const Master& master, std::string_view fields) const {
    return ask(master.port(), "POST", "/search", kFindAll, fields);
  }

  TempDir dir;
  std::string users = dir.file("users", "# staff\n" + user_line("ann", "teapot-18"));
  FakeSet set{1};
};

TEST_F(ClientAuth, IsNeededForAllButHealth) {
  const GuardedMaster master(searchd(), set.table());
  for (const auto* path : {"/healthz", "/readyz"})
    EXPECT_EQ(get(master.port(), path).status, 200) << path;
  for (const auto* path : {"/agents", "/metrics", "/dashboard", "/hello", "/nothing"})
    EXPECT_EQ(get(master.port(), path).status, 401) << path;
  const auto without = search(master, "");
  EXPECT_EQ(without.status, 401);
  EXPECT_EQ(without.fields.at("www-authenticate"), R"(Basic realm="karmad", charset="UTF-8")");
  EXPECT_EQ(without.body,
            R"x({"error":"this needs a user and a password (Authorization: Basic)"})x");
  const auto elastic = ask(master.port(), "POST", "/t/_search", "{}");
  EXPECT_EQ(elastic.status, 401);
  EXPECT_TRUE(elastic.body.contains(R"("reason":"this needs a user)")) << elastic.body;
  EXPECT_EQ(search(master, kWrongAnn).status, 401);
  EXPECT_EQ(search(master, kNobody).status, 401);
  EXPECT_EQ(search(master, std::string(kAnn).append(kNobody)).status, 400);
  EXPECT_EQ(search(master, std::string(kWrongAnn).append(kAnn)).status, 400);
  EXPECT_EQ(set.requests(), 0U);
  EXPECT_EQ(search(master, kAnn).status, 200);
  EXPECT_EQ(set.requests(), 1U);
  EXPECT_FALSE(set[0].seen().back().contains("Authorization"));
}

TEST_F(ClientAuth, RemembersWhatItVerifiedUntilTheFileChanges) {
  GuardedMaster master(searchd("auth_failure_rate = unlimited"), set.table());
  const auto verified = [&] { return master.count("auth_verified"); };
  for (int i = 0; i < 20; ++i) ASSERT_EQ(search(master, kAnn).status, 200);
  EXPECT_EQ(verified(), 1);
  EXPECT_EQ(search(master, kWrongAnn).status, 401);
  EXPECT_EQ(search(master, kWrongAnn).status, 401);
  EXPECT_EQ(verified(), 3);
  dir.file("users", "\xef\xbb\xbf" + user_line("ann", "teapot-19"));
  ASSERT_TRUE(master.reload(searchd("auth_failure_rate = unlimited"), set.table()));
  EXPECT_EQ(search(master, kAnn).status, 401);
  EXPECT_EQ(search(master, kWrongAnn).status, 200);
  master.identify(kWrongAnn);
  const auto log = master.process().output();
  EXPECT_TRUE(log.contains("client 127.0.0.1 was refused: the password of user 'ann' is wrong"))
      << log;
  for (const auto* secret : {"teapot", "YW5uOnRlYXBvdC0x", "$2b$"})
    EXPECT_FALSE(log.contains(secret)) << secret;
}

TEST_F(ClientAuth, OfOpenConnectionsIsThatOfTheReload) {
  const auto open_to_all = taking_turns("workers = 1");
  GuardedMaster master(open_to_all, set.table());
  HttpClient used(master.port());
  ASSERT_EQ(used.request("POST", "/search", kFindAll)->status, 200);
  HttpClient unused(master.port());
  ASSERT_TRUE(master.reload(searchd(), set.table()));
  EXPECT_EQ(used.request("POST", "/search", kFindAll)->status, 401);
  EXPECT_EQ(unused.request("POST", "/search", kFindAll)->status, 401);
  EXPECT_EQ(used.request("POST", "/search", kFindAll, kAnn)->status, 200);
  dir.file("users", user_line("zed", "teapot-18"));
  ASSERT_TRUE(master.reload(searchd(), set.table()));
  EXPECT_EQ(used.request("POST", "/search", kFindAll, kAnn)->status, 401) << "no user any more";
  const auto zed = kNobody;
  EXPECT_EQ(unused.request("POST", "/search", kFindAll, zed)->status, 200) << "a new user";
}

TEST_F(ClientAuth, GuessesOfAnAddressAreLimited) {
  const GuardedMaster master(searchd("auth_failure_rate = 1/h\n auth_failure_burst = 3h"),
                             set.table());
  EXPECT_EQ(search(master, kAnn).status, 200);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(search(master, kWrongAnn).status, 401);
  const auto limited = search(master, kWrongAnn);
  EXPECT_EQ(limited.status, 429);
  EXPECT_TRUE(limited.fields.contains("retry-after"));
  EXPECT_EQ(search(master, kNobody).status, 429);
  EXPECT_EQ(search(master, kAnn).status, 200) << "it is remembered";
  HttpClient other(master.port(), 0, "127.0.0.2");
  EXPECT_EQ(other.request("POST", "/search", kFindAll, kWrongAnn)->status, 401);
}

TEST_F(ClientAuth, AVerificationDelaysNoOtherQuery) {
  users = dir.file("users", user_line("ann", "teapot-18") + user_line("zed", "x", 13));
  const GuardedMaster master(searchd(), set.table());
  EXPECT_EQ(search(master, kAnn).status, 200);
  HttpClient slow(master.port());
  ASSERT_TRUE(
      slow.send(fmt::format("POST /search HTTP/1.1\r\nHost: h\r\n{}Content-Length: {}\r\n\r\n{}",
                            kNobody, kFindAll.size(), kFindAll)));
  // bcrypt with 2^13 rounds takes half a second.
  int answered = 0;
  while (!slow.has(1, std::chrono::milliseconds(1))) {
    ASSERT_EQ(search(master, kAnn).status, 200);
    ++answered;
  }
  EXPECT_GT(answered, 3);
  EXPECT_EQ(slow.receive()->status, 401);
}

TEST_F(ClientAuth, WithTokensNeedsAKnownOne) {
  const auto tokens =
      dir.file("tokens",
               "a-token-of-somebody\nsha256:"
               "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\n");  // of abc
  const GuardedMaster master(taking_turns("auth = bearer " + tokens), set.table(),
                             "Authorization: Bearer abc\r\n");
  EXPECT_EQ(search(master, "").fields.at("www-authenticate"), R"(Bearer realm="karmad")");
  EXPECT_EQ(search(master, kAnn).status, 401);
  EXPECT_EQ(search(master, "Authorization: Bearer a-token-of-somebodx\r\n").status, 401);
  EXPECT_EQ(search(master, "Authorization: Bearer a-token-of-somebody\r\n").status, 200);
  EXPECT_EQ(search(master, "authorization: bearer abc\r\n").status, 200);
}

std::string sha1(const std::string& text) {
  std::string digest(20, '\0');
  EVP_Digest(text.data(), text.size(), reinterpret_cast<unsigned char*>(digest.data()), nullptr,
             EVP_sha1(), nullptr);
  return digest;
}

/// What a server of MySQL says to this user with this password: the first byte of its answer, 0 for
/// a welcome.
int says_to(int port, const std::string& user, const std::string& password) {
  constexpr std::uint32_t kCapabilities = (1U << 9) | (1U << 15) | (1U << 19);
  std::string login;
  for (unsigned shift = 0; shift < 32; shift += 8)
    login.push_back(static_cast<char>(kCapabilities >> shift));
  login.append(4, '\0').append(1, 33).append(23, '\0').append(user).append(2, '\0');
  login.append("mysql_native_password").append(1, '\0');
  MysqlClient client(port, MysqlClient::packet_of(login, 1));
  const auto asked = client.next_packet();
  if (asked.size() > 1 && asked[1] == '\0') return 0;  // it asks for no proof
  const auto salt_at = asked.find('\0', 2) + 1;
  if (asked.size() < salt_at + 20 || !asked.contains("mysql_native_password")) return -1;
  const auto once = sha1(password);
  auto proof = sha1(asked.substr(salt_at, 20) + sha1(once));
  for (std::size_t i = 0; i < proof.size(); ++i) proof[i] = static_cast<char>(proof[i] ^ once[i]);
  client.send(MysqlClient::packet_of(proof, 3));
  const auto answer = client.next_packet();
  return answer.size() > 1 ? static_cast<unsigned char>(answer[1]) : -1;
}

TEST_F(ClientAuth, AsksClientsOfMysqlForTheirOwnPassword) {
  std::string hex;
  for (const char byte : sha1(sha1("mirror-ball")))
    hex += fmt::format("{:02X}", static_cast<unsigned char>(byte));
  users =
      dir.file("users", user_line("ann", "teapot-18") + fmt::format("ann:mysql_native:*{}\n", hex));
  GuardedMaster master(searchd("listen = 127.0.0.1:0:mysql"), set.table());
  const auto line = master.process().wait_for(":mysql");
  ASSERT_TRUE(line);
  const auto port = port_in(line->substr(0, line->rfind(':')));
  EXPECT_EQ(says_to(port, "ann", "mirror-ball"), 0);
  EXPECT_EQ(says_to(port, "ann", "mirror-bal"), 255);
  EXPECT_EQ(says_to(port, "ann", "teapot-18"), 255) << "that one is for HTTP";
  EXPECT_EQ(says_to(port, "zed", "mirror-ball"), 255);
  EXPECT_EQ(says_to(port, "", ""), 255);
  EXPECT_EQ(search(master, "Authorization: Basic YW5uOm1pcnJvci1iYWxs\r\n").status, 401)
      << "and that one is for MySQL";
  EXPECT_EQ(master.count("auth_refused"), 5);
}

TEST_F(ClientAuth, IsNotForListenersThatSayNoAuth) {
  GuardedMaster master(
      searchd("listen = 127.0.0.1:0:http,no-auth\n listen = 127.0.0.1:0:mysql,no-auth"),
      set.table());
  const auto port_of = [&](const std::string& kind) {
    const auto line = master.process().wait_for(kind);
    return line ? port_in(line->substr(0, line->rfind(':'))) : 0;
  };
  const auto open = port_of(":http,no-auth");
  for (const auto fields : {std::string_view(), kAnn, kWrongAnn})
    EXPECT_EQ(ask(open, "POST", "/search", kFindAll, fields).status, 200) << fields;
  EXPECT_EQ(says_to(port_of(":mysql,no-auth"), "zed", "any"), 0);
  EXPECT_EQ(search(master, "").status, 401);
  EXPECT_EQ(search(master, kWrongAnn).status, 401);
}

TEST_F(ClientAuth, IsAnotherForListenersWithTheirOwnFile) {
  const auto tokens = dir.file("tokens", "a-token-of-sixteen\n");
  const auto staff = dir.file(
      "staff", user_line("zed", "teapot-18") + "zed:mysql_native:*" + std::string(40, 'A') + "\n");
  const auto more = fmt::format(
      "listen = 127.0.0.1:0:http,tokens={}\n listen = 127.0.0.1:0:http,users={}\n "
      "listen = 127.0.0.1:0:mysql,users={}",
      tokens, staff, staff);
  constexpr std::string_view kToken = "Authorization: Bearer a-token-of-sixteen\r\n";
  for (const bool others_have_one : {true, false}) {
    const auto settings = others_have_one ? searchd(more) : taking_turns("workers = 1\n " + more);
    GuardedMaster master(settings, set.table());
    const auto port_of = [&](const std::string& kind) {
      const auto line = master.process().wait_for(kind);
      return line ? port_in(line->substr(0, line->rfind(":" + kind.substr(1, 4)))) : 0;
    };
    const auto by_token = port_of(":http,tokens=");
    const auto by_user = port_of(":http,users=");
    const auto status = [&](int port, std::string_view fields) {
      return ask(port, "POST", "/search", kFindAll, fields).status;
    };
    EXPECT_EQ(status(by_token, kToken), 200);
    EXPECT_EQ(status(by_token, kAnn), 401);
    EXPECT_EQ(status(by_token, ""), 401);
    EXPECT_EQ(status(by_user, kNobody), 200) << "zed is known there";
    EXPECT_EQ(status(by_user, kAnn), 401);
    EXPECT_EQ(status(by_user, kToken), 401);
    EXPECT_EQ(status(master.port(), ""), others_have_one ? 401 : 200);
    EXPECT_EQ(status(master.port(), kAnn), 200);
    EXPECT_EQ(says_to(port_of(":mysql,users="), "zed", "wrong"), 255);
    // What is known there is read again, also if the line has another file only after a restart.
    dir.file("tokens", "another-token-of-sixteen\n");
    ASSERT_TRUE(master.reload(settings, set.table()));
    EXPECT_EQ(status(by_token, kToken), 401);
    dir.file("tokens", "a-token-of-sixteen\n");
    ASSERT_TRUE(master.reload(settings, set.table()));
    EXPECT_EQ(status(by_token, kToken), 200);
    const auto next = fmt::format("listen = 127.0.0.1:0:http,tokens={}",
                                  dir.file("next", "the-next-token-of-sixteen\n"));
    for (const auto& lines : {next, std::string()}) {
      ASSERT_TRUE(master.reload(searchd(lines), set.table()));
      EXPECT_EQ(status(by_token, kToken), 200) << lines;
      EXPECT_EQ(status(by_token, "Authorization: Bearer the-next-token-of-sixteen\r\n"), 401);
    }
    std::filesystem::remove(tokens);
    ASSERT_TRUE(master.reload(searchd(next), set.table()));
    EXPECT_TRUE(master.process().output().contains("listen, in use until a restart: " + tokens));
    EXPECT_EQ(status(by_token, kToken), 200);
    dir.file("tokens", "a-token-of-sixteen\n");
  }
}

TEST_F(ClientAuth, OfAListenerThatIsOpenOrForTheOperatorIsAMistake) {
  const auto trouble = [&](const std::string& listen) {
    const auto config =
        dir.file("k.conf", fmt::format("searchd {{\n listen = {}\n}}\n{}", listen, set.table()));
    Process process("karmad", {"--config", config, "--check"});
    EXPECT_EQ(process.wait(), 78);
    return process.output();
  };
  EXPECT_TRUE(trouble("9308:http,no-auth,users=" + users).contains("leave out one of the two"));
  EXPECT_TRUE(trouble("9310:admin,users=" + users).contains("leave out one of the two"));
  EXPECT_TRUE(trouble("9306:mysql,tokens=" + users).contains("have no tokens"));
  EXPECT_TRUE(trouble("9308:http,users=/nowhere").contains("listen /nowhere: "));
}

TEST_F(ClientAuth, WithTokensLeavesNoListenerForMysql) {
  const auto config =
      dir.file("karmad.conf",
               fmt::format("searchd {{\n listen = 9308\n listen = 127.0.0.1:9306:mysql\n auth "
                           "= bearer {}\n}}\n{}",
                           users, set.table()));
  Process process("karmad", {"--config", config, "--check"});
  EXPECT_EQ(process.wait(), 78);
  EXPECT_TRUE(process.output().contains("have no tokens")) << process.output();
  Process open(
      "karmad",
      {"--check", "--config",
       dir.file("open.conf",
                fmt::format("searchd {{\n listen = 9308\n listen = "
                            "127.0.0.1:9306:mysql,no-auth\n auth = bearer {}\n}}\n{}",
                            dir.file("tokens", std::string(64, 'a') + "\n"), set.table()))});
  EXPECT_EQ(open.wait(), 0) << open.output();
}

}  // namespace
}  // namespace karmad::test
