// `_bulk` in the form of Elasticsearch, on servers of the demo that carry the updates out.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/cluster.hpp"
#include "tests/support/role_set.hpp"

namespace karmad::test {
namespace {

constexpr int kFirstNewId = 900'001;

/// One table of one shard or of two.
class ElasticBulk : public testing::TestWithParam<int> {
 protected:
  std::string lines() const {
    std::vector<std::string> all{line_of({a_.address()})};
    if (GetParam() == 2) all.push_back(line_of({b_.address()}));
    return table_of(all, "updates = any\n shard_by = id");
  }
  /// Documents with these ids and larger ones.
  int count() const {
    return std::stoi(
        at(post(master_.port(), "/t/_count",
                fmt::format(R"({{"query":{{"range":{{"id":{{"gte":{}}}}}}}}})", kFirstNewId))
               .body,
           "/count"));
  }

  DemoAgent a_{"0/2", "a"};
  DemoAgent b_{"1/2", "b"};
  Master master_{"ha_ping_interval = 0", lines()};
};

TEST_P(ElasticBulk, ChangesDocumentsAndAnswersEachLine) {
  const auto before = count();
  std::string body;
  for (int id = kFirstNewId; id < kFirstNewId + 20; ++id)
    body += fmt::format("{{\"index\":{{\"_id\":\"{}\"}}}}\n{{\"title\":\"x\",\"price\":1}}\n", id);
  const auto made = post(master_.port(), "/t/_bulk", body);
  ASSERT_EQ(made.status, 200) << made.body;
  EXPECT_EQ(at(made.body, "/errors"), "false");
  for (int i = 0; i < 20; ++i) {
    const auto item = fmt::format("/items/{}/index/", i);
    EXPECT_EQ(at(made.body, item + "_id"), std::to_string(kFirstNewId + i));
    EXPECT_EQ(at(made.body, item + "_index"), "t");
    EXPECT_EQ(at(made.body, item + "status"), "201");
  }
  EXPECT_EQ(count(), before + 20);
  const auto changed =
      ask(master_.port(), "PUT", "/_bulk",
          fmt::format("{{\"delete\":{{\"_index\":\"t\",\"_id\":{}}}}}\n"
                      "{{\"update\":{{\"_index\":\"t\",\"_id\":{}}}}}\n{{\"doc\":{{\"price\":7}}}}",
                      kFirstNewId, kFirstNewId + 1));
  ASSERT_EQ(changed.status, 200) << changed.body;
  EXPECT_EQ(at(changed.body, "/items/0/delete/result"), "deleted");
  EXPECT_EQ(at(changed.body, "/items/1/update/result"), "updated");
  EXPECT_EQ(count(), before + 19);
  // An id that exists cannot be created.
  const auto again =
      post(master_.port(), "/t/_bulk",
           fmt::format("{{\"create\":{{\"_id\":{}}}}}\n{{\"title\":\"x\"}}\n", kFirstNewId + 1));
  EXPECT_EQ(again.status, 500) << again.body;
  EXPECT_EQ(at(again.body, "/errors"), "true");
  EXPECT_EQ(at(again.body, "/items/0/create/status"), "400");
  EXPECT_TRUE(at(again.body, "/items/0/create/error/reason").contains("duplicate")) << again.body;
}

TEST_P(ElasticBulk, ThatIsWrongReachesNoMirror) {
  const std::string good = fmt::format("{{\"index\":{{\"_id\":{}}}}}\n{{}}\n", kFirstNewId);
  const auto broken = post(master_.port(), "/t/_bulk", good + "{\"index\":{\"_id\":5}}\n{\"a\":\n");
  EXPECT_EQ(broken.status, 400);
  EXPECT_TRUE(broken.body.contains("line 4 ")) << broken.body;
  const auto twice =
      post(master_.port(), "/_bulk", R"({"delete":{"_index":"t","_index":"u","_id":1}})");
  EXPECT_EQ(twice.status, 400);
  EXPECT_TRUE(twice.body.contains("twice")) << twice.body;
  const std::string elsewhere = "{\"delete\":{\"_index\":\"nosuch\",\"_id\":1}}\n";
  EXPECT_EQ(post(master_.port(), "/_bulk", elsewhere).status, 404);
  EXPECT_EQ(post(master_.port(), "/t,t/_bulk", good).status, 400);
  const std::string huge(1 << 20, '[');
  const auto deep = post(master_.port(), "/t/_bulk", good + huge + "\n");
  EXPECT_EQ(deep.status, 400);
  EXPECT_TRUE(deep.body.contains("line 3 ")) << deep.body.substr(0, 200);
  EXPECT_LT(deep.body.size(), 1000u);
  EXPECT_EQ(a_.number("/requests/update") + b_.number("/requests/update"), 0);
}

INSTANTIATE_TEST_SUITE_P(OfOneShardAndOfTwo, ElasticBulk, testing::Values(1, 2));

}  // namespace
}  // namespace karmad::test
