// What agents get in Authorization, and what becomes of their 401 and 403.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/support/fake_set.hpp"

namespace karmad::test {
namespace {

constexpr std::string_view kClients = "Authorization: ApiKey Y2xpZW50OmtleQ==\r\n";
constexpr std::string_view kClientsLine = "ApiKey Y2xpZW50OmtleQ==";
constexpr std::string_view kOwnLine = "Basic a2FybWFkOnMzY3JldC13b3Jk";  // karmad:s3cret-word
constexpr std::string_view kOwnSecret = "s3cret-word";

/// The values of Authorization in a request, joined by a comma.
std::string authorization_in(std::string request) {
  std::string found;
  constexpr std::string_view kName = "\r\nauthorization: ";
  auto folded = request;
  std::ranges::transform(folded, folded.begin(), [](unsigned char c) { return std::tolower(c); });
  for (auto at = folded.find(kName); at != folded.npos; at = folded.find(kName, at + 1)) {
    const auto begin = at + kName.size();
    if (!found.empty()) found += ", ";
    found += request.substr(begin, request.find("\r\n", begin) - begin);
  }
  return found;
}

std::string last_authorization(const FakeMirror& mirror) {
  return authorization_in(mirror.seen().back());
}

Reaction denied(int status = 401) {
  return refused(status,
                 "Content-Type: application/json\r\nWWW-Authenticate: Basic realm=\"es\"\r\n"
                 "WWW-Authenticate: ApiKey\r\n",
                 R"({"error":"missing authentication credentials: connection refused"})");
}

/// Requests of every kind to the table `t`, which the mirrors answer with nothing found.
const struct {
  std::string_view method, target, body;
} kAsked[] = {
    {"POST", "/search", R"({"table":"t","query":{"match_all":{}}})"},
    {"POST", "/sql?mode=raw", "query=SELECT * FROM t"},
    {"POST", "/sql?mode=raw", "query=SHOW CREATE TABLE t"},
    {"POST", "/t/_search", R"({"query":{"match_all":{}}})"},
    {"POST", "/_msearch", "{\"index\":\"t\"}\n{\"query\":{\"match_all\":{}}}\n"},
    {"POST", "/insert", R"({"table":"t","id":7,"doc":{"a":1}})"},
};

class AgentCredentials : public ::testing::TestWithParam<bool> {
 protected:
  bool several_shards() const { return GetParam(); }
  std::string table(const std::string& settings) const {
    const auto line = " agent = " + a.address() + ":t\n";
    const auto second = several_shards() ? " agent = " + b.address() + ":t\n" : std::string();
    return fmt::format("table t {{\n type = distributed\n shard_by = id\n {}\n{}{}}}\n", settings,
                       line, second);
  }
  /// What the mirrors get with each request; nothing: none of them was asked.
  std::vector<std::string> sent_with(const Master& master, std::string_view fields) {
    std::vector<std::string> sent;
    for (const auto& [method, target, body] : kAsked) {
      const auto before = a.seen().size() + b.seen().size();
      ask(master.port(), method, target, body, fields);
      EXPECT_GT(a.seen().size() + b.seen().size(), before) << target << ' ' << body;
      for (const auto* mirror : {&a, &b})
        if (!mirror->seen().empty()) sent.push_back(last_authorization(*mirror));
    }
    std::ranges::sort(sent);
    const auto rest = std::ranges::unique(sent);
    sent.erase(rest.begin(), rest.end());
    return sent;
  }

  TempDir dir;
  FakeMirror a{always(nothing_found())};
  FakeMirror b{always(nothing_found())};
  const std::string file = dir.file("credentials", "basic karmad:s3cret-word\n");
};

TEST_P(AgentCredentials, OfClientsTravelOnWhereTheTableSaysSo) {
  using Sent = std::vector<std::string>;
  const Master quiet(taking_turns(), table(""));
  EXPECT_EQ(sent_with(quiet, kClients), Sent{""});
  const Master passing(taking_turns(), table("pass_authorization = yes"));
  EXPECT_EQ(sent_with(passing, kClients), Sent{std::string(kClientsLine)});
  EXPECT_EQ(sent_with(passing, ""), Sent{""});
}

TEST_P(AgentCredentials, OfTheTableReplaceThoseOfClientsUnlessTheseArePassedOn) {
  using Sent = std::vector<std::string>;
  const Master own(taking_turns(), table("credentials = " + file));
  EXPECT_EQ(sent_with(own, kClients), Sent{std::string(kOwnLine)});
  EXPECT_EQ(sent_with(own, ""), Sent{std::string(kOwnLine)});
  const Master both(taking_turns(), table("pass_authorization = yes\n credentials = " + file));
  EXPECT_EQ(sent_with(both, kClients), Sent{std::string(kClientsLine)});
  EXPECT_EQ(sent_with(both, ""), Sent{std::string(kOwnLine)});
}

TEST_P(AgentCredentials, OfTheTableThatOneMirrorRefusesCostNoClientItsAnswer) {
  const auto mirrors = " agent = " + a.address() + "|" + b.address() + ":t\n";
  const Master master(taking_turns("agent_retry_count = 1"),
                      fmt::format("table t {{\n type = distributed\n pass_authorization = yes\n"
                                  " credentials = {}\n{}{}}}\n",
                                  file, mirrors, several_shards() ? mirrors : ""));
  a.react(always(denied()));
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(ask(master.port(), "POST", "/search", R"({"table":"t"})", "").status, 200) << i;
  EXPECT_GT(master.count("agent_retry"), 0);
  // Those of a client are its own mistake, and tell nothing about the mirror.
  const auto retries = master.count("agent_retry");
  int denied_ones = 0;
  for (int i = 0; i < 4; ++i)
    denied_ones +=
        ask(master.port(), "POST", "/search", R"({"table":"t"})", kClients).status == 401;
  EXPECT_GT(denied_ones, 0);
  EXPECT_EQ(master.count("agent_retry"), retries);
}

TEST_P(AgentCredentials, ADeniedQueryIsTheAnswerOfItsClientInEveryDialect) {
  const RestingMaster master(taking_turns("agent_retry_count = 3"),
                             table("pass_authorization = yes"));
  for (const int status : {401, 403}) {
    a.react(always(denied(status)));
    b.react(always(denied(status)));
    for (const auto& [method, target, body] : kAsked) {
      if (target == "/_msearch") continue;  // has a status for each of its searches
      const auto answer = ask(master.port(), method, target, body, kClients);
      EXPECT_EQ(answer.status, status) << target << ' ' << body << '\n' << answer.body;
      EXPECT_TRUE(answer.body.contains("missing authentication credentials")) << answer.body;
      EXPECT_EQ(answer.fields.contains("www-authenticate"), status == 401) << target;
    }
    const auto several = ask(master.port(), "POST", "/_msearch", kAsked[4].body, kClients);
    EXPECT_TRUE(several.body.contains(fmt::format(R"("status":{})", status))) << several.body;
  }
  EXPECT_EQ(master.count("agent_retry"), 0);
  EXPECT_EQ(master.number_of(0, "errors_in_a_row"), 0) << "a mirror that denies works";
  EXPECT_GT(master.count("client_mistakes"), 0);
}

INSTANTIATE_TEST_SUITE_P(OneAndTwoShards, AgentCredentials, ::testing::Bool());

TEST(HttpCredentials, TravelOnUnlessTheTableSaysNo) {
  const TempDir dir;
  const auto file = dir.file("key", "apikey b3duLWtleS1vZi1rYXJtYWQ=\n");
  FakeMirror mirror(always(nothing_found()));
  const auto table = [&](std::string_view settings) {
    return fmt::format(
        "table t {{\n type = distributed\n dialect = http\n route = /t\n {}\n agent = {}\n}}\n",
        settings, mirror.address());
  };
  const auto sent = [&](std::string_view settings, std::string_view fields) {
    const Master master(taking_turns(), table(settings));
    EXPECT_EQ(ask(master.port(), "GET", "/t/x", "", fields).status, 200);
    return last_authorization(mirror);
  };
  const auto own = "credentials = " + file;
  EXPECT_EQ(sent("", kClients), kClientsLine);
  EXPECT_EQ(sent("pass_authorization = no", kClients), "");
  EXPECT_EQ(sent(own, kClients), "ApiKey b3duLWtleS1vZi1rYXJtYWQ=");
  EXPECT_EQ(sent(own + "\n pass_authorization = yes", kClients), kClientsLine);
  EXPECT_EQ(sent(own + "\n pass_authorization = yes", ""), "ApiKey b3duLWtleS1vZi1rYXJtYWQ=");
}

TEST(HttpCredentials, OfTheOperatorReachNoAgent) {
  const TempDir dir;
  const auto token = dir.file("token", "the-token-of-the-operator\n");
  const auto file = dir.file("key", "apikey b3duLWtleS1vZi1rYXJtYWQ=\n");
  FakeMirror mirror(always(nothing_found()));
  const auto sent = [&](std::string_view settings, std::string_view fields) {
    const Master master(
        taking_turns("admin_on_query_port = 1\n admin_token_file = " + token),
        fmt::format("table t {{\n type = distributed\n dialect = http\n route = /t\n {}\n "
                    "agent = {}\n agent_blackhole = {}\n}}\n",
                    settings, mirror.address(), mirror.address()));
    const auto before = mirror.seen().size();
    EXPECT_EQ(ask(master.port(), "GET", "/t/x", "", fields).status, 200);
    EXPECT_TRUE(eventually([&] { return mirror.seen().size() >= before + 2; }));
    return last_authorization(mirror);
  };
  constexpr std::string_view kOperator = "Authorization: Bearer the-token-of-the-operator\r\n";
  const auto own = "pass_authorization = yes\n credentials = " + file;
  EXPECT_EQ(sent("", kClients), kClientsLine);
  EXPECT_EQ(sent("", kOperator), "");
  EXPECT_EQ(sent(own, kOperator), "ApiKey b3duLWtleS1vZi1rYXJtYWQ=");
  for (const auto& request : mirror.seen()) EXPECT_FALSE(request.contains("operator")) << request;
}

/// A secured Elasticsearch: whatever it is asked without its credentials, it says 401.
Reaction secured(const std::string& request) {
  if (authorization_in(request) != kOwnLine) return denied();
  if (request.contains("/_cluster/health")) return json(R"({"status":"green"})");
  if (request.contains("/_nodes/_local"))
    return json(R"({"nodes":{"x":{"name":"es-3","attributes":{"zone":"b"}}}})");
  return json(R"({"hits":{"total":{"value":3},"hits":[]}})");
}

TEST(SecuredElasticsearch, IsUsableWithTheCredentialsOfClientsAlone) {
  FakeMirror mirror(secured, true);
  const auto table = [&](std::string_view settings) {
    return fmt::format(
        "table t {{\n type = distributed\n dialect = http\n route = /books\n ping_type = "
        "elasticsearch\n {}\n agent = {}\n}}\n",
        settings, mirror.address());
  };
  const TempDir dir;
  const auto file = dir.file("credentials", "basic karmad:s3cret-word\n");
  RestingMaster master(taking_turns("ha_ping_interval = 500ms"), table(""));
  EXPECT_TRUE(master.ready()) << "401 to a ping means alive";
  const auto search = [&](std::string_view fields) {
    return ask(master.port(), "POST", "/books/_search", "{}", fields);
  };
  EXPECT_EQ(search(fmt::format("Authorization: {}\r\n", kOwnLine)).status, 200);
  const auto without = search("");
  EXPECT_EQ(without.status, 401);
  EXPECT_TRUE(without.fields.contains("www-authenticate"));
  // With credentials the node tells its tags, and clients need none.
  ASSERT_TRUE(
      master.reload(taking_turns("ha_ping_interval = 500ms"), table("credentials = " + file)));
  EXPECT_TRUE(eventually([&] { return get(master.port(), "/agents").body.contains("es-3"); }));
  EXPECT_EQ(search("").status, 200);
  // The secret is read again at a reload, also if the configuration is the same.
  dir.file("credentials", "basic karmad:changed\n");
  ASSERT_TRUE(
      master.reload(taking_turns("ha_ping_interval = 500ms"), table("credentials = " + file)));
  EXPECT_TRUE(eventually([&] { return search("").status == 401; }));
}

TEST(Secrets, AreShownNowhere) {
  const TempDir dir;
  const auto file = dir.file("credentials", "basic karmad:s3cret-word\n");
  std::filesystem::permissions(file, std::filesystem::perms(0644));
  FakeMirror mirror(secured, true);
  const auto table =
      fmt::format("table t {{\n type = distributed\n credentials = {}\n agent = {}:t\n}}\n", file,
                  mirror.address());
  const auto config =
      dir.file("karmad.conf", "searchd {\n listen = 127.0.0.1:0\n log_level = debug\n}\n" + table);
  std::string shown;
  for (const auto* flag : {"--check", "--dump-config"}) {
    Process process("karmad", {"--config", config, flag});
    EXPECT_EQ(process.wait(), 0) << process.output();
    shown += process.output();
  }
  EXPECT_TRUE(shown.contains("every user of this host may read it; chmod o-r")) << shown;
  Process probe("karmad", {"--config", config, "--check", "--probe"});
  probe.wait();
  shown += probe.output();
  Master master(taking_turns("log_level = debug\n ha_ping_interval = 500ms\n access_log = " +
                             dir.path() + "/access.log"),
                table);
  ASSERT_TRUE(master.ready());
  for (const auto* path : {"/agents", "/status", "/metrics", "/admission", "/admin/config",
                           "/config", "/explain", "/events?follow=0"})
    shown += get(master.port(), path).body;
  const auto answer = ask(master.port(), "POST", "/search", kFindAll,
                          "X-Karmad-Trace: 1\r\nX-Karmad-Explain: 1\r\nAuthorization: Basic "
                          "Y2xpZW50Om93bi1zM2NyZXQ=\r\n");
  for (const auto& [name, value] : answer.fields) shown += value;
  shown += answer.body;
  for (const auto* statement : {"SHOW STATUS", "SHOW AGENT STATUS", "SHOW VARIABLES"})
    shown += post(master.port(), "/sql?mode=raw", fmt::format("query={}", statement)).body;
  ASSERT_TRUE(master.reload("log_level = debug", table));
  shown += master.process().output();
  for (const auto text : {kOwnSecret, kOwnLine.substr(6), std::string_view("own-s3cret"),
                          std::string_view("Y2xpZW50Om93bi1zM2NyZXQ=")})
    EXPECT_FALSE(shown.contains(text)) << text;
}

TEST(Secrets, ThatCannotBeReadAreProblemsWithTheirPlace) {
  const TempDir dir;
  const auto file = dir.file("credentials", "basic\ts3cret-word\n");
  const auto config =
      dir.file("karmad.conf",
               fmt::format("searchd {{\n listen = 127.0.0.1:0\n}}\ntable t {{\n type = "
                           "distributed\n credentials = {}\n agent = 127.0.0.1:1:t\n}}\n"
                           "table s : t {{\n type = distributed\n agent = 127.0.0.1:2:t\n}}\n",
                           file));
  for (const auto& arguments : {std::vector<std::string>{"--config", config},
                                std::vector<std::string>{"--config", config, "--check"}}) {
    Process process("karmad", arguments);
    EXPECT_EQ(process.wait(), 78);
    EXPECT_TRUE(
        process.output().contains(file + ":1:7: credentials: expected USER:PASSWORD after basic"))
        << process.output();
    EXPECT_TRUE(process.output().contains("1 problem in")) << process.output();
    EXPECT_FALSE(process.output().contains(kOwnSecret)) << process.output();
  }
}

}  // namespace
}  // namespace karmad::test
