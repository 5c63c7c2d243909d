#include <gtest/gtest.h>

#include <algorithm>

#include "tests/agent/ping_kinds/ping_answers.hpp"

namespace karmad {
namespace {

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

}  // namespace
}  // namespace karmad
