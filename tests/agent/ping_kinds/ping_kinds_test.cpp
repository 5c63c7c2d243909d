#include "agent/ping_kinds/ping_kinds.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/agent/ping_kinds/ping_answers.hpp"

namespace karmad {
namespace {

TEST(PingKinds, AreFoundByName) {
  for (const auto name : ping_kind_names()) {
    const auto* kind = ping_kind(name);
    ASSERT_EQ(kind == nullptr, name == "none") << name;
    if (kind != nullptr) {
      EXPECT_EQ(kind->name, name);
    }
  }
  EXPECT_EQ(ping_kind("redis"), nullptr);
  EXPECT_FALSE(ping_kind("http")->describes);
  EXPECT_TRUE(ping_kind("native")->describes);
}

TEST(PingKinds, SendRequestsToTheConfiguredPath) {
  struct Case {
    std::string_view kind, path;
    std::vector<std::string> targets;
  };
  for (const auto& [kind, path, targets] :
       {Case{"http", "", {"/"}}, Case{"http", "/healthz", {"/healthz"}},
        Case{"native", "", {"/hello"}}, Case{"native", "/karma?x=1", {"/karma?x=1"}},
        Case{"manticore", "", {"/sql?mode=raw"}},
        Case{"opensearch",
             "",
             {"/_cluster/health?local=true",
              "/_nodes/_local?filter_path=nodes.*.name,nodes.*.attributes"}},
        Case{"elasticsearch",
             "/es/",
             {"/es/_cluster/health?local=true",
              "/es/_nodes/_local?filter_path=nodes.*.name,nodes.*.attributes"}},
        Case{"solr",
             "",
             {"/solr/admin/cores?action=STATUS&core=b%20%26%2F%C3%BC&wt=json",
              "/solr/admin/collections?action=CLUSTERSTATUS&wt=json"}},
        Case{"solr",
             "/search",
             {"/search/admin/cores?action=STATUS&core=b%20%26%2F%C3%BC&wt=json",
              "/search/admin/collections?action=CLUSTERSTATUS&wt=json"}}}) {
    std::vector<std::string> asked;
    for (const auto& request : ping_kind(kind)->requests(path, "b &/ü"))
      asked.push_back(request.target);
    EXPECT_EQ(asked, targets) << kind << ' ' << path;
  }
}

TEST(PingKinds, PostTheStatementOfManticoreAsAForm) {
  const auto requests = ping_kind("manticore")->requests("", "t");
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].method, "POST");
  EXPECT_EQ(requests[0].content_type, "application/x-www-form-urlencoded");
  EXPECT_EQ(requests[0].body, "query=SHOW%20STATUS%20LIKE%20%27cluster_%25%27");
}

// SD-008
TEST(PingKinds, CallOtherStatusesAnError) {
  for (const auto name : ping_kind_names()) {
    if (name == "none") continue;
    std::vector<PingAnswer> answers(ping_kind(name)->requests("", "t").size(), {503, "{}"});
    EXPECT_EQ(complaint(ping_kind(name)->describe(answers, kMe, "t")),
              "answered the ping with status 503")
        << name;
    EXPECT_EQ(complaint(ping_kind(name)->describe({}, kMe, "t")), "did not answer the ping");
  }
}

TEST(PingKinds, TakeAnAgentThatWantsCredentialsForAlive) {
  for (const auto name : ping_kind_names()) {
    if (name == "none") continue;
    for (const int status : {401, 403}) {
      const std::vector<PingAnswer> answers(2, {status, "{}"});
      EXPECT_EQ(describe_ping(*ping_kind(name), answers, kMe, "books"), Description{.denied = true})
          << name << ' ' << status;
    }
    const std::vector<PingAnswer> answers(2, {404, "{}"});
    EXPECT_FALSE(describe_ping(*ping_kind(name), answers, kMe, "books")) << name;
  }
}

TEST(PingKinds, UseWhatAnAgentTellsBeforeItWantsCredentials) {
  const auto node = described_as("elasticsearch", {{200, kHealth}, {403, "{}"}});
  ASSERT_TRUE(node) << node.error();
  EXPECT_EQ(*node, Description{});
  const auto core = described_as("solr", {{200, kCore}, {401, ""}});
  ASSERT_TRUE(core) << core.error();
  EXPECT_EQ(core->role, Role::router);
  EXPECT_EQ(core->generation, 57U);
}

TEST(HttpPing, TakesAnySuccessForLife) {
  EXPECT_EQ(described_as("http", {{204, ""}}), Description{});
  EXPECT_EQ(complaint(described_as("http", {{301, ""}})), "answered the ping with status 301");
}

const Description kDescription{.role = Role::primary,
                               .set = "books",
                               .me = "10.0.0.1:8983",
                               .tags = {{"dc", "ny"}, {"rack", "2"}},
                               .last_write_ms = 1'764'000'000'123,
                               .generation = 18'446'744'073'709'551'615U,
                               .election_id = "7fffffff0000000000000002",
                               .set_version = 3,
                               .version = VersionMark{"p1", 4},
                               .api = 1,
                               .load = 0.25};

TEST(NativePing, ReadsEveryMemberAndIgnoresOthers) {
  EXPECT_EQ(complaint(described("native", {kNative})), "none");
  EXPECT_EQ(described("native", {kNative}), kDescription);
}

TEST(NativePing, ComesBackAsItWasWritten) {
  auto odd = kDescription;
  odd.tags = {{"\"\\\n", "\x01 ü"}, {"z", ""}};
  odd.load = 1e-7;
  odd.last_write_ms = -1;
  const Description waiting{.role = Role::other, .why = "draining", .set = "s"};
  for (const auto& description :
       {kDescription, odd, waiting, Description{}, Description{.role = Role::arbiter},
        Description{.role = Role::ghost}})
    EXPECT_EQ(parse_description(text(description)), description) << text(description);
}

TEST(NativePing, ReadsTheDescriptionOfTheDemoAgent) {
  const auto description = parse_description(
      R"({"ok":true,"role":"replica","set":"books","me":"127.0.0.1:9321","hidden":false,)"
      R"("draining":false,"tags":{"dc":"ny"},"last_write_ms":1763999998500,"generation":7,)"
      R"("process_id":"p","counter":6,"api":2})");
  EXPECT_EQ(description, (Description{.role = Role::replica,
                                      .set = "books",
                                      .me = "127.0.0.1:9321",
                                      .tags = {{"dc", "ny"}},
                                      .last_write_ms = 1'763'999'998'500,
                                      .generation = 7,
                                      .version = VersionMark{"p", 6}}));
}

TEST(NativePing, SaysNothingByDefault) {
  EXPECT_EQ(parse_description("{}"), Description{.role = Role::standalone});
  EXPECT_EQ(parse_description(R"({"ok":true,"set":null,"tags":{},"role":"router"})"),
            Description{});
}

// SS-037
TEST(NativePing, MakesHiddenAndDrainingMirrorsOther) {
  for (const auto& [json, why] :
       {std::pair{R"({"role":"replica","hidden":true})", "hidden"},
        std::pair{R"({"role":"primary","draining":1})", "draining"},
        std::pair{R"({"role":"other","why":"recovering"})", "recovering"}}) {
    const auto description = parse_description(json);
    ASSERT_TRUE(description) << description.error();
    EXPECT_EQ(description->role, Role::other);
    EXPECT_EQ(description->why, why);
  }
}

// SD-014: elections are compared as text of one length.
TEST(NativePing, WritesElectionsThatAreNumbersSoThatTheyCompareAsText) {
  const auto older = parse_description(R"({"election_id":9})");
  const auto newer = parse_description(R"({"election_id":10})");
  ASSERT_TRUE(older && newer);
  EXPECT_LT(*older->election_id, *newer->election_id);
  EXPECT_EQ(older->election_id->size(), newer->election_id->size());
}

TEST(NativePing, NamesTheMemberThatIsWrong) {
  for (const auto& [json, member] : {std::pair{R"({"ok":0})", "'ok'"},
                                     std::pair{R"({"ok":"yes"})", "'ok'"},
                                     std::pair{R"({"set":1})", "'set'"},
                                     std::pair{R"({"me":[]})", "'me'"},
                                     std::pair{R"({"role":"king"})", "'role'"},
                                     std::pair{R"({"role":"unknown"})", "'role'"},
                                     std::pair{R"({"role":2})", "'role'"},
                                     std::pair{R"({"hidden":"no"})", "'hidden'"},
                                     std::pair{R"({"draining":2})", "'draining'"},
                                     std::pair{R"({"tags":["dc:ny"]})", "'tags'"},
                                     std::pair{R"({"tags":{"dc":1}})", "'tags'"},
                                     std::pair{R"({"last_write_ms":"now"})", "'last_write_ms'"},
                                     std::pair{R"({"last_write_ms":1.5})", "'last_write_ms'"},
                                     std::pair{R"({"generation":-1})", "'generation'"},
                                     std::pair{R"({"election_id":-1})", "'election_id'"},
                                     std::pair{R"({"election_id":{}})", "'election_id'"},
                                     std::pair{R"({"set_version":true})", "'set_version'"},
                                     std::pair{R"({"process_id":7})", "'process_id'"},
                                     std::pair{R"({"counter":"1"})", "'counter'"},
                                     std::pair{R"({"api":"2"})", "'api'"},
                                     std::pair{R"({"api":4294967297})", "'api'"},
                                     std::pair{R"({"load":"high"})", "'load'"}})
    EXPECT_NE(complaint(parse_description(json)).find(member), std::string::npos) << json;
  for (const auto* json : {"", "[]", "7", "{\"role\":", "{} {}"})
    EXPECT_EQ(complaint(parse_description(json)), "the description is not a JSON object") << json;
}

TEST(NativePing, TakesALimitedNumberOfTags) {
  std::string json = R"({"tags":{)";
  for (int i = 0; i < 65; ++i)
    json.append(i == 0 ? "\"t" : ",\"t").append(std::to_string(i)).append("\":\"\"");
  EXPECT_NE(complaint(parse_description(json.append("}}"))).find("at most 64"), std::string::npos);
}

TEST(ManticorePing, SearchesNodesThatAreSyncedOrGiveTheirStateToAnother) {
  for (const auto* state : {"synced", "donor"}) {
    const auto answer = one_cluster("primary", state);
    EXPECT_EQ(described("manticore", {answer}),
              (Description{.role = Role::router, .set = "posts", .generation = 4711}));
  }
}

TEST(ManticorePing, KeepsNodesThatAreOutOfTheirClusterFromSearches) {
  struct Case {
    std::string_view status, state, why;
  };
  for (const auto& [status, state, why] :
       {Case{"primary", "joining", "its state in cluster posts is joining"},
        Case{"primary", "closed", "its state in cluster posts is closed"},
        Case{"primary", "", "its state in cluster posts is unknown"},
        Case{"non_primary", "synced", "cluster posts is non_primary"},
        Case{"disconnected", "synced", "cluster posts is disconnected"}}) {
    const auto answer = one_cluster(status, state);
    EXPECT_EQ(
        described("manticore", {answer}),
        (Description{
            .role = Role::other, .why = std::string(why), .set = "posts", .generation = 4711}))
        << status << ' ' << state;
  }
}

TEST(ManticorePing, TakesAServerWithoutClustersAsItIs) {
  EXPECT_EQ(described("manticore", {show_status({})}), Description{});
  EXPECT_EQ(described("manticore", {R"([{"total":0,"error":"","warning":""}])"}), Description{});
}

TEST(ManticorePing, LetsTheWorstOfSeveralClustersDecideAndNamesNoSet) {
  const auto answer = show_status({{"cluster_name", "a_status"},
                                   {"cluster_a_status_status", "primary"},
                                   {"cluster_a_status_node_state", "synced"},
                                   {"cluster_a_status_last_committed", "1"},
                                   {"cluster_name", "b"},
                                   {"cluster_b_status", "primary"},
                                   {"cluster_b_node_state", "joining"}});
  EXPECT_EQ(described("manticore", {answer}),
            (Description{.role = Role::other, .why = "its state in cluster b is joining"}));
}

TEST(ManticorePing, RefusesAnswersOfAnotherShape) {
  for (const auto* body :
       {"{}", "[]", "[7]", "null", R"([{"data":7}])", R"([{"data":[{"Counter":1,"Value":"2"}]}])",
        R"([{"data":[{"Counter":"cluster_name"}]}])", "<html>"})
    EXPECT_FALSE(described("manticore", {body})) << body;
  EXPECT_EQ(complaint(described("manticore", {R"([{"total":0,"error":"no","warning":""}])"})),
            "SHOW STATUS failed: no");
}

TEST(ElasticsearchPing, TakesNameAndAttributesOfTheNodeForLabels) {
  for (const auto* kind : {"elasticsearch", "opensearch"})
    EXPECT_EQ(
        described(kind, {kHealth, kNode}),
        (Description{.role = Role::router,
                     .tags = {{"node", "es-7"}, {"xpack.installed", "true"}, {"zone", "b"}}}));
  // Elasticsearch does not say whether it found a master; a node may have no attributes.
  EXPECT_EQ(described("elasticsearch",
                      {R"({"status":"green","timed_out":false})", R"({"nodes":{"x":{}}})"}),
            Description{});
}

TEST(ElasticsearchPing, KeepsNodesWithoutAWholeClusterFromSearches) {
  for (const auto& [health, why] :
       {std::pair{R"({"status":"green","timed_out":true})", "cluster health timed out"},
        std::pair{R"({"status":"red","discovered_master":false})",
                  "the node knows no master of its cluster"},
        std::pair{R"({"status":"green","discovered_cluster_manager":false})",
                  "the node knows no master of its cluster"}}) {
    const auto description = described("opensearch", {health, kNode});
    ASSERT_TRUE(description) << description.error();
    EXPECT_EQ(description->role, Role::other);
    EXPECT_EQ(description->why, why);
    EXPECT_EQ(description->tags.size(), 3U);
  }
}

TEST(ElasticsearchPing, KnowsTheStatusOfAHealthThatTimedOut) {
  const auto description = described_as(
      "elasticsearch", {{408, R"({"status":"yellow","timed_out":true})"}, {200, kNode}});
  ASSERT_TRUE(description) << description.error();
  EXPECT_EQ(description->why, "cluster health timed out");
}

TEST(ElasticsearchPing, RefusesAnswersOfAnotherShape) {
  EXPECT_FALSE(described("elasticsearch", {"{}", kNode}));
  EXPECT_FALSE(described("elasticsearch", {"[]", kNode}));
  EXPECT_FALSE(described("elasticsearch", {kHealth, "[]"}));
  EXPECT_FALSE(described("elasticsearch", {kHealth, ""}));
  EXPECT_FALSE(described("elasticsearch", {kHealth}));
  EXPECT_EQ(described("elasticsearch", {kHealth, R"({"nodes":[]})"}), Description{});
}

}  // namespace
}  // namespace karmad
