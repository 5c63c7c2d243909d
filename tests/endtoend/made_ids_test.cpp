// Documents without an id over two shards with two mirrors each, on servers of the demo that carry
// the changes out: karmad makes the id, tells it, and all mirrors of its shard have the document.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <future>
#include <set>
#include <vector>

#include "tests/support/cluster.hpp"
#include "tests/support/mysql_client.hpp"
#include "tests/support/role_set.hpp"

namespace karmad::test {
namespace {

class IdsMadeByKarmad : public testing::Test {
 protected:
  IdsMadeByKarmad() {
    const auto line = master_.process().wait_for(":mysql");
    if (line) mysql_port_ = port_in(line->substr(0, line->rfind(':')));
  }

  static std::string hits_at(int port, std::string_view table, const std::string& id) {
    const auto query =
        fmt::format(R"({{"table":"{}","query":{{"equals":{{"id":{}}}}}}})", table, id);
    const auto found = post(port, "/search", query);
    EXPECT_EQ(found.status, 200) << found.body;
    return at(found.body, "/hits/total");
  }
  bool has(const DemoAgent& agent, const std::string& id) const {
    return hits_at(agent.port(), "products", id) == "1";
  }
  /// Whether both mirrors of one shard, and no other, have the document.
  void expect_in_one_shard(const std::string& id) const {
    ASSERT_GT(id.size(), 15u) << id;
    EXPECT_EQ(has(a1_, id), has(a2_, id)) << id;
    EXPECT_EQ(has(b1_, id), has(b2_, id)) << id;
    EXPECT_NE(has(a1_, id), has(b1_, id)) << id;
    EXPECT_EQ(hits_at(master_.port(), "t", id), "1");
  }
  /// The ids of the documents with that price that an agent has.
  static std::set<std::string> ids_at(const DemoAgent& agent, int price) {
    const auto found = post(agent.port(), "/search",
                            fmt::format(R"({{"table":"products","limit":100,"query":{{"equals":)"
                                        R"({{"price":{}}}}}}})",
                                        price));
    std::set<std::string> ids;
    for (int i = 0;; ++i) {
      auto id = at(found.body, fmt::format("/hits/hits/{}/_id", i));
      if (id.empty()) return ids;
      ids.insert(std::move(id));
    }
  }
  /// The ids of the documents with that price; mirrors of a shard must have the same ones.
  std::set<std::string> ids_with_price(int price) const {
    auto ids = ids_at(a1_, price);
    EXPECT_EQ(ids_at(a2_, price), ids);
    const auto others = ids_at(b1_, price);
    EXPECT_EQ(ids_at(b2_, price), others);
    ids.insert(others.begin(), others.end());
    return ids;
  }

  DemoAgent a1_{"0/2", "a1", 0, 100};
  DemoAgent a2_{"0/2", "a2", 0, 100};
  DemoAgent b1_{"1/2", "b1", 0, 100};
  DemoAgent b2_{"1/2", "b2", 0, 100};
  Master master_{
      " listen = 127.0.0.1:0:mysql\n ha_ping_interval = 0\n agent_query_timeout = 20s\n"
      " request_timeout = 1m",
      table_of({line_of({a1_.address(), a2_.address()}), line_of({b1_.address(), b2_.address()})},
               "updates = all\n shard_by = id")};
  int mysql_port_ = 0;
};

TEST_F(IdsMadeByKarmad, AreToldForDocumentsInJson) {
  std::set<std::string> told;
  for (int i = 0; i < 8; ++i) {
    const auto* path = i % 2 == 0 ? "/insert" : "/replace";
    const auto* id = i % 3 == 0 ? R"(,"id":0)" : "";
    const auto made =
        post(master_.port(), path, fmt::format(R"({{"table":"t"{},"doc":{{"price":1}}}})", id));
    ASSERT_EQ(made.status, 200) << made.body;
    EXPECT_EQ(at(made.body, "/result"), "created");
    EXPECT_EQ(at(made.body, "/table"), "t");
    told.insert(at(made.body, "/id"));
    expect_in_one_shard(at(made.body, "/id"));
  }
  EXPECT_EQ(told.size(), 8u);
  const auto elastic = post(master_.port(), "/t/_doc", R"({"price":1})");
  EXPECT_EQ(elastic.status, 200) << elastic.body;
  expect_in_one_shard(at(elastic.body, "/id"));
}

TEST_F(IdsMadeByKarmad, AreToldForTheLastDocumentOfABulk) {
  const std::string line = "{\"insert\":{\"table\":\"t\",\"doc\":{\"price\":777001}}}\n";
  std::string lines;
  for (int i = 0; i < 20; ++i) lines += line;
  const auto made = post(master_.port(), "/bulk", lines);
  ASSERT_EQ(made.status, 200) << made.body;
  EXPECT_EQ(at(made.body, "/items/0/bulk/created"), "20");
  const auto ids = ids_with_price(777001);
  EXPECT_EQ(ids.size(), 20u);
  EXPECT_EQ(at(made.body, "/items/0/bulk/_id"), *ids.rbegin());
  for (const auto& id : ids) expect_in_one_shard(id);
  const auto one = post(master_.port(), "/json/bulk", line);
  ASSERT_EQ(one.status, 200) << one.body;
  expect_in_one_shard(at(one.body, "/items/0/bulk/_id"));
  EXPECT_FALSE(ids.contains(at(one.body, "/items/0/bulk/_id")));
}

TEST_F(IdsMadeByKarmad, AreToldForEachDocumentOfAnElasticBulk) {
  std::string lines;
  for (int i = 0; i < 20; ++i) lines += "{\"index\":{}}\n{\"price\":777002}\n";
  const auto made = post(master_.port(), "/t/_bulk", lines);
  ASSERT_EQ(made.status, 200) << made.body;
  std::set<std::string> told;
  for (int i = 0; i < 20; ++i) told.insert(at(made.body, fmt::format("/items/{}/index/_id", i)));
  EXPECT_EQ(told.size(), 20u);
  EXPECT_EQ(ids_with_price(777002), told);
}

TEST_F(IdsMadeByKarmad, AreGivenToTheRowsOfAStatement) {
  const auto sql = [&](std::string_view path, std::string_view statement) {
    const auto made = post(master_.port(), path, statement);
    EXPECT_EQ(made.status, 200) << path << made.body;
    return made.body;
  };
  EXPECT_EQ(sql("/sql?mode=raw", "INSERT INTO t (price) VALUES (777003),(777003),(777003)"),
            R"([{"total":3,"error":"","warning":""}])");
  sql("/cli_json", "REPLACE INTO t (title, price, id) VALUES ('x', 777003, 0)");
  sql("/cli", "INSERT INTO t (price, title) VALUES (777003, 'x');");
  const auto ids = ids_with_price(777003);
  EXPECT_EQ(ids.size(), 5u);
  for (const auto& id : ids) expect_in_one_shard(id);
}

TEST_F(IdsMadeByKarmad, AreToldToClientsOfMysql) {
  MysqlClient client(mysql_port_);
  const auto one = client.query("INSERT INTO t (price) VALUES (777004)");
  EXPECT_EQ(one.error, 0) << one.text;
  EXPECT_EQ(one.affected, 1u);
  const auto id = std::to_string(one.last_insert_id);
  EXPECT_EQ(ids_with_price(777004), std::set{id});
  expect_in_one_shard(id);
  EXPECT_EQ(client.query("SELECT LAST_INSERT_ID()").rows, std::vector{id});
  // Of several rows it is the last one's; other statements leave it.
  const auto several = client.query("INSERT INTO t (price,id) VALUES (777005,0),(777005,4242)");
  EXPECT_EQ(several.last_insert_id, 4242u);
  EXPECT_EQ(client.query("UPDATE t SET price=777006 WHERE id=4242").last_insert_id, 0u);
  EXPECT_EQ(client.query("SELECT @@last_insert_id").rows, std::vector<std::string>{"4242"});
  const auto prepared = client.prepare("INSERT INTO t (title) VALUES (?)");
  const auto executed = client.execute(prepared, {"it's"});
  expect_in_one_shard(std::to_string(executed.last_insert_id));
}

TEST(IdsOfRows, AreToldToClientsOfMysqlAlsoByATableOfOneMirror) {
  const DemoAgent agent("0/4", "a");
  Master master("ha_ping_interval = 0\n listen = 127.0.0.1:0:mysql",
                table_of({line_of({agent.address()})}));
  const auto line = master.process().wait_for(":mysql");
  ASSERT_TRUE(line);
  MysqlClient client(port_in(line->substr(0, line->rfind(':'))));
  EXPECT_EQ(client.query("INSERT INTO t (id,price) VALUES (810004,1)").last_insert_id, 810004u);
  const auto quoted = client.query("INSERT INTO t (price,id) VALUES (1,'810005')");
  EXPECT_EQ(quoted.last_insert_id, 810005u) << quoted.text;
  EXPECT_NE(client.query("INSERT INTO t (id,price) VALUES (810005,1)").error, 0);  // it exists
  EXPECT_EQ(client.query("SELECT LAST_INSERT_ID()").rows, std::vector<std::string>{"810005"});
  EXPECT_EQ(client.query("INSERT INTO t (price) VALUES (1)").last_insert_id, 0u);
}

TEST_F(IdsMadeByKarmad, AreToldAfterAFailureSoThatTheDocumentCanBeRepeated) {
  a2_.process().kill();
  b2_.process().kill();
  EXPECT_TRUE(a2_.process().wait() && b2_.process().wait());
  const auto failed = post(master_.port(), "/insert", R"({"table":"t","doc":{"price":777007}})");
  EXPECT_EQ(failed.status, 500) << failed.body;
  const auto id = at(failed.body, "/error/changed/id");
  EXPECT_NE(has(a1_, id), has(b1_, id)) << failed.body;
  const DemoAgent a2("0/2", "a2", a2_.port(), 100);
  const DemoAgent b2("1/2", "b2", b2_.port(), 100);
  const auto repeated =
      post(master_.port(), "/replace",
           fmt::format(R"({{"table":"t","id":{},"doc":{{"price":777007}}}})", id));
  EXPECT_EQ(repeated.status, 200) << repeated.body;
  EXPECT_EQ(ids_with_price(777007), std::set{id});
}

TEST_F(IdsMadeByKarmad, OfALongBulkThatHelpersPlanAreAllDifferent) {
  constexpr int kLines = 2000;
  const auto clients = [&](int client) {
    std::string lines;
    for (int i = 0; i < kLines; ++i)
      lines += fmt::format(
          "{{\"insert\":{{\"table\":\"t\",\"doc\":{{\"price\":777008,\"title\":\"{:0>200}\"}}}}}}"
          "\n",
          client);
    return post(master_.port(), "/bulk", lines);
  };
  std::vector<std::future<Response>> running;
  for (int client = 0; client < 3; ++client)
    running.push_back(std::async(std::launch::async, clients, client));
  for (auto& each : running) {
    const auto made = each.get();
    ASSERT_EQ(made.status, 200) << made.body.substr(0, 500);
    EXPECT_EQ(at(made.body, "/items/0/bulk/created"), std::to_string(kLines));
  }
  EXPECT_GT(master_.count("long_work"), 0);
  const auto all = post(master_.port(), "/search",
                        R"({"table":"t","limit":0,"query":{"equals":{"price":777008}}})");
  EXPECT_EQ(at(all.body, "/hits/total"), std::to_string(3 * kLines));
}

}  // namespace
}  // namespace karmad::test
