#include "agent/ping_kinds/ping_kinds.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>

namespace karmad {
namespace {

constexpr std::string_view kMe = "10.0.0.1:8983";

/// What a kind makes of answers that all came with status 200.
std::expected<Description, std::string> described(std::string_view kind,
                                                  std::vector<std::string_view> bodies,
                                                  std::string_view table = "books") {
  std::vector<PingAnswer> answers;
  for (const auto body : bodies) answers.push_back({200, body});
  return ping_kind(kind)->describe(answers, kMe, table);
}

/// What a kind makes of answers with statuses of their own.
std::expected<Description, std::string> described_as(std::string_view kind,
                                                     const std::vector<PingAnswer>& answers) {
  return ping_kind(kind)->describe(answers, kMe, "books");
}

std::string complaint(const std::expected<Description, std::string>& description) {
  return description ? "none" : description.error();
}

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

TEST(PingKinds, AskWhereThePathSays) {
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

TEST(HttpPing, TakesAnySuccessForLife) {
  EXPECT_EQ(described_as("http", {{204, ""}}), Description{});
  EXPECT_EQ(complaint(described_as("http", {{301, ""}})), "answered the ping with status 301");
}

constexpr std::string_view kNative =
    R"({"ok":1,"set":"books","me":"10.0.0.1:8983","role":"primary","hidden":false,"draining":0,)"
    R"("tags":{"rack":"2","dc":"ny"},"last_write_ms":1764000000123,"generation":18446744073709551615,)"
    R"("election_id":"7fffffff0000000000000002","set_version":3,"process_id":"p1","counter":4,)"
    R"("api":1,"load":0.25,"colour":["blue"]})";

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

TEST(NativePing, ReadsWhatTheDemoAgentSays) {
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

/// An answer to SHOW STATUS as Manticore lays it out.
std::string show_status(std::initializer_list<std::pair<std::string_view, std::string_view>> rows) {
  std::string out =
      "[{\n\"columns\":[{\"Counter\":{\"type\":\"string\"}},{\"Value\":{\"type\":\"string\"}}],\n"
      "\"data\":[\n";
  std::string_view between;
  for (const auto& [name, value] : rows) {
    out.append(between).append(R"({"Counter":")").append(name);
    out.append(R"(","Value":")").append(value).append("\"}");
    between = ",\n";
  }
  return out.append("\n],\n\"total\":")
      .append(std::to_string(rows.size()))
      .append(",\n\"error\":\"\",\n\"warning\":\"\"\n}]");
}

std::string one_cluster(std::string_view status, std::string_view state) {
  return show_status({{"cluster_name", "posts"},
                      {"cluster_posts_state_uuid", "c2ad40a1-0000-11ee-b5ff-7e4a41a05ea5"},
                      {"cluster_posts_conf_id", "5"},
                      {"cluster_posts_status", status},
                      {"cluster_posts_size", "3"},
                      {"cluster_posts_node_state", state},
                      {"cluster_posts_indexes", "books,authors"},
                      {"cluster_posts_last_committed", "4711"},
                      {"cluster_posts_local_state_comment", "Synced"},
                      {"cluster_posts_ist_receive_status", ""}});
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
        Case{"primary", "", "its state in cluster posts is not said"},
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

constexpr std::string_view kHealth =
    R"({"cluster_name":"library","status":"yellow","timed_out":false,"number_of_nodes":3,)"
    R"("number_of_data_nodes":2,"discovered_master":true,"discovered_cluster_manager":true,)"
    R"("active_primary_shards":6,"active_shards":9,"active_shards_percent_as_number":75.0})";
constexpr std::string_view kNode =
    R"({"nodes":{"cPUqTLm4Skq1U9hrCkBaoA":{"name":"es-7","attributes":)"
    R"({"zone":"b","node":"shadowed","xpack.installed":"true","odd":7}}}})";

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

constexpr std::string_view kCore =
    R"({"responseHeader":{"status":0,"QTime":1},"initFailures":{},"status":{"books":{"name":"books",)"
    R"("uptime":99,"index":{"numDocs":4,"version":57,"segmentCount":1,"current":true}}}})";
constexpr std::string_view kNoCore =
    R"({"responseHeader":{"status":0},"initFailures":{},"status":{"books":{}}})";
constexpr std::string_view kNoCloud =
    R"({"error":{"msg":"Solr instance is not running in SolrCloud mode.","code":400}})";

std::string replica(std::string_view name, std::string_view core, std::string_view node,
                    std::string_view rest) {
  std::string out;
  out.append("\"").append(name).append(R"(":{"core":")").append(core);
  out.append(R"(","node_name":")").append(node).append("_solr\",");
  out.append(R"("base_url":"http://)").append(node).append("/solr\",");
  return out.append(rest).append("}");
}

/// The cluster's state with these replicas in the only shard of the collection.
std::string cluster_state(std::string_view replicas, std::string_view collection = "books") {
  std::string out = R"({"responseHeader":{"status":0},"cluster":{"collections":{"other":{"shards":)"
                    R"({"shard1":{"replicas":{"core_node9":{"core":"o1","state":"down",)"
                    R"("node_name":"10.0.0.1:8983_solr"}}}}},")";
  out.append(collection).append(R"(":{"router":{"name":"compositeId"},"shards":{"shard2":{)");
  out.append(R"("range":"0-7fffffff","state":"active","replicas":{)").append(replicas);
  return out.append(R"(}}}}},"live_nodes":["10.0.0.1:8983_solr"]}})");
}

const std::string kElsewhere = replica("core_node1", "books_shard2_replica_n1", "10.0.0.1:89830",
                                       R"("state":"down","type":"NRT","leader":"true")");

TEST(SolrPing, FindsTheReplicaAtItsAddress) {
  struct Case {
    std::string_view rest;
    Role role;
    std::string_view type, why;
  };
  for (const auto& [rest, role, type, why] :
       {Case{R"("state":"active","type":"NRT","leader":"true")", Role::primary, "nrt", ""},
        Case{R"("state":"active","type":"TLOG","leader":true)", Role::primary, "tlog", ""},
        Case{R"("state":"active","type":"NRT","force_set_state":"false")", Role::replica, "nrt",
             ""},
        Case{R"("state":"active","type":"TLOG")", Role::replica, "tlog", ""},
        Case{R"("state":"active","type":"PULL","leader":"false")", Role::replica, "pull", ""},
        Case{R"("state":"active")", Role::replica, "nrt", ""},
        Case{R"("state":"recovering","type":"NRT")", Role::other, "nrt",
             "the replica is recovering"},
        Case{R"("state":"down","type":"NRT","leader":"true")", Role::other, "nrt",
             "the replica is down"},
        Case{R"("state":"recovery_failed","type":"PULL")", Role::other, "pull",
             "the replica is recovery_failed"},
        Case{R"("type":"PULL")", Role::other, "pull", "the replica is without a state"}}) {
    const auto state = cluster_state(
        kElsewhere + "," + replica("core_node2", "books_shard2_replica_n2", "10.0.0.1:8983", rest));
    EXPECT_EQ(described("solr", {kNoCore, state}),
              (Description{.role = role,
                           .why = std::string(why),
                           .tags = {{"shard", "shard2"}, {"type", std::string(type)}}}))
        << rest;
  }
}

TEST(SolrPing, TakesTheVersionOfIndexesThatAreCopiedForTheGeneration) {
  struct Case {
    std::string_view rest;
    std::optional<std::uint64_t> generation;
  };
  for (const auto& [rest, generation] :
       {Case{R"("state":"active","type":"NRT","leader":"true")", 57},
        Case{R"("state":"active","type":"PULL")", 57},
        Case{R"("state":"active","type":"TLOG")", 57},
        Case{R"("state":"active","type":"NRT")", std::nullopt}}) {
    const auto state = cluster_state(replica("n", "books", "10.0.0.1:8983", rest), "all_books");
    const auto description = described("solr", {kCore, state});
    ASSERT_TRUE(description) << description.error();
    EXPECT_EQ(description->generation, generation) << rest;
  }
}

TEST(SolrPing, KnowsACoreByItsNameWhenTheClusterCallsTheNodeOtherwise) {
  const auto one = replica("n", "books", "solr-a:8983", R"("state":"active","type":"PULL")");
  const auto two = replica("m", "books", "solr-b:8983", R"("state":"down","type":"PULL")");
  EXPECT_EQ(described("solr", {kCore, cluster_state(one, "all")})->role, Role::replica);
  const auto unclear = described("solr", {kCore, cluster_state(one + "," + two, "all")});
  EXPECT_EQ(unclear->role, Role::other);
  EXPECT_EQ(unclear->why, "no replica of 'books' is at 10.0.0.1:8983");
}

TEST(SolrPing, LetsTheWorstReplicaOnANodeSpeakForIt) {
  const auto lead = replica("a", "b1", "10.0.0.1:8983", R"("state":"active","leader":"true")");
  const auto follow = replica("b", "b2", "10.0.0.1:8983", R"("state":"active")");
  const auto ill = replica("c", "b3", "10.0.0.1:8983", R"("state":"recovering")");
  EXPECT_EQ(described("solr", {kNoCore, cluster_state(lead + "," + follow)})->role, Role::replica);
  EXPECT_EQ(described("solr", {kNoCore, cluster_state(ill + "," + follow)})->role, Role::other);
}

TEST(SolrPing, TakesAServerOfItsOwnAsItIs) {
  EXPECT_EQ(described_as("solr", {{200, kCore}, {400, kNoCloud}}),
            (Description{.role = Role::router, .generation = 57}));
  EXPECT_EQ(described_as("solr", {{200, kNoCore}, {400, kNoCloud}}),
            (Description{.role = Role::other, .why = "there is no core 'books'"}));
}

TEST(SolrPing, RefusesAnswersOfAnotherShape) {
  EXPECT_FALSE(described("solr", {"{}", cluster_state("")}));
  EXPECT_FALSE(described("solr", {kCore, "{}"}));
  EXPECT_FALSE(described("solr", {kCore, R"({"cluster":{"collections":[]}})"}));
  EXPECT_EQ(described("solr", {kNoCore, cluster_state("")})->role, Role::other);
}

/// Every kind with answers it understands.
struct Known {
  std::string_view kind;
  std::vector<std::string> bodies;
};
std::vector<Known> known_answers() {
  return {{"native", {std::string(kNative)}},
          {"manticore", {one_cluster("primary", "synced")}},
          {"elasticsearch", {std::string(kHealth), std::string(kNode)}},
          {"solr",
           {std::string(kCore),
            cluster_state(replica("n", "books", "10.0.0.1:8983", R"("state":"active")"))}}};
}

/// Describes from bytes in blocks of exactly their size, so that a sanitizer sees a look beyond.
bool survives(std::string_view kind, const std::vector<std::string>& bodies) {
  std::vector<std::unique_ptr<char[]>> blocks;
  std::vector<PingAnswer> answers;
  for (const auto& body : bodies) {
    auto& block = blocks.emplace_back(std::make_unique<char[]>(body.size()));
    std::memcpy(block.get(), body.data(), body.size());
    answers.push_back({200, {block.get(), body.size()}});
  }
  return ping_kind(kind)->describe(answers, kMe, "books").has_value();
}

TEST(PingAnswers, CutShortAreRefused) {
  for (const auto& [kind, bodies] : known_answers()) {
    EXPECT_TRUE(survives(kind, bodies)) << kind;
    for (std::size_t i = 0; i < bodies.size(); ++i)
      for (std::size_t size = 0; size < bodies[i].size(); ++size) {
        auto cut = bodies;
        cut[i].resize(size);
        EXPECT_FALSE(survives(kind, cut)) << kind << ' ' << size;
      }
  }
}

TEST(PingAnswers, WithFlippedBytesNeverCrash) {
  std::mt19937 random(1);
  std::size_t refused = 0;
  for (const auto& [kind, bodies] : known_answers())
    for (int round = 0; round < 5'000; ++round) {
      auto flipped = bodies;
      auto& body = flipped[random() % flipped.size()];
      constexpr std::string_view kLikely = "{}[]\",:\\0-.eEtfn \xFF\x00u";
      for (auto n = 1 + random() % 3; n > 0; --n)
        body[random() % body.size()] =
            random() % 2 == 0 ? kLikely[random() % kLikely.size()] : static_cast<char>(random());
      refused += survives(kind, flipped) ? 0 : 1;
    }
  EXPECT_GT(refused, 5'000U);
}

TEST(PingAnswers, NestedWithoutEndAreRefused) {
  for (const auto depth : {32U, 33U, 500'000U}) {
    const auto nested =
        std::string(R"({"x":)") + std::string(depth - 1, '[') + std::string(depth - 1, ']') + "}";
    EXPECT_EQ(parse_description(nested).has_value(), depth <= 32) << depth;
    for (const auto& [kind, bodies] : known_answers())
      survives(kind, std::vector(bodies.size(), nested));
  }
  EXPECT_FALSE(parse_description(std::string("{}\0{}", 5)));
}

}  // namespace
}  // namespace karmad
