// Documents that only one shard has are found wherever that shard stands, and no mirror is blamed
// for finding nothing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <regex>

#include "tests/support/cluster.hpp"
#include "tests/support/mysql_client.hpp"

namespace karmad::test {
namespace {

constexpr unsigned kRowlessDocuments = 60;

constexpr std::string_view kRowlessLists[] = {
    "SELECT * FROM $T WHERE $W",
    "SELECT *, price+1 AS more FROM $T WHERE $W ORDER BY brand ASC",
    "SELECT title FROM $T WHERE $W",
    "SELECT id, title, WEIGHT() FROM $T WHERE $W ORDER BY price DESC",
    "SELECT id, meta.color FROM $T WHERE $W ORDER BY meta.color ASC",
    "SELECT brand, COUNT(*) c FROM $T WHERE $W GROUP BY brand",
    "SELECT COUNT(*) FROM $T WHERE $W GROUP BY brand",
    "SELECT price, AVG(rating) a, MIN(ts) FROM $T WHERE $W GROUP BY price ORDER BY a DESC",
    "SELECT rating, COUNT(DISTINCT brand) d FROM $T WHERE $W GROUP BY rating",
    "SELECT price, COUNT(*) c FROM $T WHERE $W GROUP BY price HAVING c>0",
    "SELECT id, brand FROM $T WHERE $W GROUP 2 BY brand WITHIN GROUP ORDER BY price DESC",
    "SELECT COUNT(*), SUM(price), AVG(price), MIN(price), MAX(ts) FROM $T WHERE $W",
    "SELECT MIN(price) FROM $T WHERE $W",
    "SELECT COUNT(DISTINCT brand) FROM $T WHERE $W",
    "SELECT GROUP_CONCAT(brand) FROM $T WHERE $W",
    "SELECT id FROM $T WHERE $W FACET brand FACET price BY brand FACET brand DISTINCT seller",
    "SELECT id, knn_dist() FROM $T WHERE KNN(embedding,60,(0.1,0.2,0.3,0.4)) AND $W",
};

constexpr std::string_view kRowlessSearches[] = {
    R"("sort":[{"price":"desc"}])",
    R"("aggs":{"b":{"terms":{"field":"brand"}},"m":{"max":{"field":"price"}}})",
};

std::string filled_in(std::string_view text, std::string_view table, std::string_view where) {
  std::string out(text);
  for (const auto& [mark, value] : {std::pair{"$T", table}, std::pair{"$W", where}})
    for (auto at = out.find(mark); at != out.npos; at = out.find(mark, at + value.size()))
      out.replace(at, 2, value);
  return out;
}

/// Columns of results without rows are not compared.
bool has_rows(std::string_view body) {
  return body.find("\"data\":[\n]") == body.npos && body.find("\"columns\"") != body.npos;
}

/// Vectors are strings in a merged answer.
std::string comparable_hits(const std::string& body) {
  static const std::regex vector(R"re("embedding":"([^"]*)")re");
  return std::regex_replace(without_took(body), vector, R"("embedding":[$1])");
}

class RowlessShards : public testing::Test {
 protected:
  RowlessShards() {
    std::string tables;
    for (const int of : {2, 3}) {
      tables += fmt::format("table of{} {{\n type = distributed\n", of);
      for (int shard = 0; shard < of; ++shard)
        tables += fmt::format(
            " agent = {}:products\n",
            parts_.emplace_back(fmt::format("{}/{}", shard, of), "part", 0, kRowlessDocuments)
                .address());
      tables += "}\n";
    }
    master_.emplace("listen = 127.0.0.1:0:mysql", tables);
  }

  DemoAgent whole_{"0/1", "whole", 0, kRowlessDocuments};
  std::deque<DemoAgent> parts_;
  std::optional<Master> master_;
};

TEST_F(RowlessShards, CostNoOtherShardItsRows) {
  ASSERT_TRUE(master_->ready());
  for (const std::string_view where :
       {"id=1", "id=2", "id=3", "id=4", "id=5", "id=6", "id=7", "id IN (3,9)", "price=0"})
    for (const auto list : kRowlessLists)
      for (const std::string_view path : {"/sql?mode=raw", "/sql", "/cli"})
        for (const std::string_view table : {"of2", "of3"}) {
          const auto one = post(whole_.port(), path, filled_in(list, "products", where));
          const auto merged = post(master_->port(), path, filled_in(list, table, where));
          ASSERT_EQ(one.status, 200) << one.body;
          const auto about = fmt::format("{} {} {}", path, table, filled_in(list, table, where));
          ASSERT_EQ(merged.status, 200) << about << "\n" << merged.body;
          EXPECT_EQ(merged.body.find("karmad_"), std::string::npos) << about << merged.body;
          if (path == "/sql") {
            EXPECT_EQ(comparable_hits(merged.body), comparable_hits(one.body)) << about;
          } else if (path == "/cli" || !has_rows(one.body)) {
            EXPECT_EQ(has_rows(merged.body), has_rows(one.body)) << about << merged.body;
          } else {
            EXPECT_EQ(merged.body, one.body) << about;
          }
        }
  for (const std::string_view fields : kRowlessSearches)
    for (int id = 1; id < 8; ++id) {
      const auto search = [&](int port, std::string_view table) {
        return post(port, "/search",
                    fmt::format(R"({{"table":"{}","query":{{"equals":{{"id":{}}}}},{}}})", table,
                                id, fields));
      };
      const auto one = search(whole_.port(), "products");
      for (const std::string_view table : {"of2", "of3"}) {
        const auto merged = search(master_->port(), table);
        EXPECT_EQ(without_took(merged.body), without_took(one.body)) << id << fields;
      }
    }
  for (int shard = 0; shard < 3; ++shard)
    EXPECT_EQ(master_->number(fmt::format("/tables/1/shards/{}/mirrors/0/errors_in_a_row", shard)),
              0);
}

TEST_F(RowlessShards, AreAnEmptySetOfRowsForMysql) {
  ASSERT_TRUE(master_->ready());
  const auto line = master_->process().wait_for(":mysql");
  ASSERT_TRUE(line);
  MysqlClient client(port_in(line->substr(0, line->rfind(':'))));
  for (const auto list : kRowlessLists) {
    if (list.find("FACET") != list.npos) continue;
    const auto none = client.query(filled_in(list, "of3", "price=0"));
    EXPECT_EQ(none.error, 0) << list << none.text;
    EXPECT_FALSE(none.columns.empty()) << list;
    EXPECT_EQ(std::ranges::count_if(none.columns,
                                    [](const auto& name) { return name.starts_with("karmad_"); }),
              0)
        << list;
  }
  for (int id = 1; id < 8; ++id) {
    const auto found = client.query(fmt::format("SELECT id, title FROM of3 WHERE id={}", id));
    EXPECT_EQ(found.columns, (std::vector<std::string>{"id", "title"}));
    ASSERT_EQ(found.rows.size(), 1U);
    EXPECT_TRUE(found.rows[0].starts_with(fmt::format("{}|", id))) << found.rows[0];
  }
}

}  // namespace
}  // namespace karmad::test
