// How parts of a request change on the way to the mirrors, and names on the way back.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <initializer_list>

#include "tests/support/cluster.hpp"
#include "tests/support/fake_mirror.hpp"

namespace karmad::test {
namespace {

/// `table products`, with one line for each of the agents; all call it `s1`.
std::string products(std::initializer_list<const FakeMirror*> agents) {
  std::string text = "table products {\n type = distributed\n updates = any\n";
  for (const auto* agent : agents) text += fmt::format(" agent = {}:s1\n", agent->address());
  return text + "}\n";
}

std::string body_of(const std::string& request) {
  return request.substr(request.find("\r\n\r\n") + 4);
}

TEST(TableNames, OfARequestHaveNoCaseAndTableComesBeforeIndex) {
  const FakeMirror mirror([](const std::string&) { return nothing_found(); });
  const Master master("ha_ping_interval = 0", products({&mirror}));
  for (const auto* request : {R"({"table":"Products"})", R"({"index":"PRODUCTS"})",
                              R"({"index":"no such table","table":"products"})",
                              R"({"table":"products","index":"products"})"})
    EXPECT_EQ(master.search(request).status, 200) << request;
  EXPECT_EQ(post(master.port(), "/sql?mode=raw", "select * from PRODUCTS").status, 200);
  const auto seen = mirror.seen();
  ASSERT_EQ(seen.size(), 5u);
  EXPECT_EQ(body_of(seen[0]), R"({"table":"s1"})");
  EXPECT_EQ(body_of(seen[1]), R"({"index":"s1"})");
  EXPECT_EQ(body_of(seen[2]), R"({"index":"s1","table":"s1"})");
  EXPECT_EQ(body_of(seen[3]), R"({"table":"s1","index":"s1"})");
}

TEST(TableNames, ThatAServerMayReadInAnotherWayAreRefusedInPlainWords) {
  const FakeMirror mirror([](const std::string&) { return nothing_found(); });
  const Master master("ha_ping_interval = 0", products({&mirror}));
  const auto answer = master.search(R"({"TABLE":"x","table":"products"})");
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.body,
            R"({"error":"the request has the key \"TABLE\", which some search servers read as )"
            R"(\"table\" and others do not; name the table with \"table\""})");
  EXPECT_EQ(mirror.requests(), 0u);
}

TEST(TableNames, InAnswersToUpdatesAreTheClients) {
  std::atomic<int> calls = 0;
  const FakeMirror mirror([&](const std::string&) {
    switch (calls++) {
      case 0:
        return json(R"({"table":"s1","id":5,"created":true,"result":"created","status":201})");
      case 1:
        return json(
            R"({"error":{"type":"x","reason":"duplicate id '5'","table":"s1"},"status":409})", 409);
      default:
        return json(R"({"items":[{"bulk":{"table":"s1","_id":5,"created":1}}],"errors":false})");
    }
  });
  const Master master("ha_ping_interval = 0", products({&mirror}));
  const auto inserted = post(master.port(), "/insert", R"({"table":"Products","id":5,"doc":{}})");
  EXPECT_EQ(inserted.body,
            R"({"table":"Products","id":5,"created":true,"result":"created","status":201})");
  const auto refused = post(master.port(), "/insert", R"({"table":"products","id":5,"doc":{}})");
  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(
      refused.body,
      R"({"error":{"type":"x","reason":"duplicate id '5'","table":"products"},"status":409})");
  const auto bulk = post(master.port(), "/bulk",
                         "{\"insert\":{\"table\":\"products\",\"id\":5,\"doc\":{}}}\n"
                         "{\"delete\":{\"index\":\"Products\",\"id\":5}}\n");
  EXPECT_EQ(bulk.body,
            R"({"items":[{"bulk":{"table":"products","_id":5,"created":1}}],"errors":false})");
  const auto seen = mirror.seen();
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(body_of(seen[2]),
            "{\"insert\":{\"table\":\"s1\",\"id\":5,\"doc\":{}}}\n"
            "{\"delete\":{\"index\":\"s1\",\"id\":5}}\n");
}

TEST(ShardsOfASearch, AreAskedForNoMoreThanTheOrderNeeds) {
  const FakeMirror one([](const std::string&) { return nothing_found(); });
  const FakeMirror other([](const std::string&) { return nothing_found(); });
  const Master master("ha_ping_interval = 0", products({&one, &other}));
  const struct {
    std::string_view request, asked;
  } cases[] = {
      // The default order: a further key would cost the shards their early end.
      {R"({"table":"products"})", R"({"table":"s1","limit":20})"},
      {R"({"table":"products","sort":["price"],"limit":1})",
       R"({"table":"s1","sort":[{"price":"asc"},{"id":"asc"}],"limit":1})"},
      // A sixth key is one more than a search server takes.
      {R"({"table":"products","sort":["a","b","c","d","e"],"limit":1})",
       R"({"table":"s1","sort":[{"a":"asc"},{"b":"asc"},{"c":"asc"},{"d":"asc"},{"e":"asc"}],"limit":1})"},
      {R"({"table":"products","sort":["meta.s"],"limit":1,"_source":["title"]})",
       R"({"table":"s1","sort":[{"meta.s":"asc"},{"id":"asc"}],"limit":1,"_source":["title","meta"]})"},
      {R"({"table":"products","offset":1000,"limit":10,"options":{"max_matches":3000}})",
       R"({"table":"s1","offset":0,"limit":1010,"options":{"max_matches":3000}})"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(master.search(c.request).status, 200) << c.request;
    EXPECT_EQ(body_of(one.seen().back()), c.asked);
    EXPECT_EQ(body_of(other.seen().back()), c.asked);
  }
  const auto missing =
      master.search(R"({"table":"products","sort":[{"price":{"missing":"_last"}}]})");
  EXPECT_EQ(missing.status, 400);
  EXPECT_TRUE(missing.body.contains(R"(\"missing\" property not supported)")) << missing.body;
}

TEST(HitsOfShards, SortedInsideAJsonAttributeAreInTheOrderOfTheirTexts) {
  const auto shard = [](std::string_view hits) {
    const auto answer = fmt::format(
        R"({{"took":0,"timed_out":false,"hits":{{"total":2,"total_relation":"eq","hits":[{}]}}}})",
        hits);
    return [answer](const std::string&) { return json(answer); };
  };
  const FakeMirror one(shard(
      R"({"_id":1,"_score":1,"_source":{"meta":{"s":10}}},{"_id":3,"_score":1,"_source":{"meta":{"s":9}}})"));
  const FakeMirror other(shard(
      R"({"_id":2,"_score":1,"_source":{"meta":{"s":50}}},{"_id":4,"_score":1,"_source":{"meta":{"s":6}}})"));
  const Master master("ha_ping_interval = 0", products({&one, &other}));
  const auto answer =
      master.search(R"({"table":"products","sort":["meta['s']"],"_source":["title"]})");
  EXPECT_TRUE(answer.body.contains(R"("hits":[{"_id":1,"_score":1,"_source":{}},)"
                                   R"({"_id":2,"_score":1,"_source":{}},)"
                                   R"({"_id":4,"_score":1,"_source":{}},)"
                                   R"({"_id":3,"_score":1,"_source":{}}])"))
      << answer.body;
}

}  // namespace
}  // namespace karmad::test
