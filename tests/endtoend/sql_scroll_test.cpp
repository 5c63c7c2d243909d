// OPTION scroll of SQL: the pages of several shards, one behind the other, are the rows of one
// statement without pages.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/cluster.hpp"
#include "tests/support/mysql_client.hpp"

namespace karmad::test {
namespace {

using Rows = std::vector<std::string>;

constexpr std::size_t kPage = 70;

/// Two shards with two mirrors each, one table of a single shard, and a MySQL listener.
class SqlScroll : public testing::Test {
 protected:
  SqlScroll() {
    const auto line = master_.process().wait_for(":mysql");
    if (line) mysql_port_ = port_in(line->substr(0, line->rfind(':')));
  }

  /// The rows of each result set of an answer in JSON, as they are written.
  std::vector<Rows> sets_of(std::string_view path, const std::string& statements) const {
    const auto answer = post(master_.port(), path, statements);
    EXPECT_EQ(answer.status, 200) << statements << "\n" << answer.body;
    std::vector<Rows> sets;
    for (std::size_t at = 0; (at = answer.body.find("\"data\":[\n", at)) != std::string::npos;) {
      sets.emplace_back();
      at += 9;
      for (auto end = answer.body.find('\n', at); answer.body[at] == '{';
           at = end + 1, end = answer.body.find('\n', at))
        sets.back().push_back(answer.body.substr(at, answer.body.find_last_of('}', end) + 1 - at));
    }
    return sets;
  }

  static std::string token_in(const std::string& row) {
    const auto begin = row.find(":\"") + 2;
    return row.substr(begin, row.rfind('"') - begin);
  }

  DemoAgent agents_[4] = {DemoAgent("0/2", "a", 0, 400), DemoAgent("0/2", "b", 0, 400),
                          DemoAgent("1/2", "c", 0, 400), DemoAgent("1/2", "d", 0, 400)};
  Master master_{" listen = 127.0.0.1:0:mysql\n",
                 fmt::format("table t {{\n type = distributed\n agent = {}|{}:products\n agent = "
                             "{}|{}:products\n}}\n"
                             "table one {{\n type = distributed\n agent = {}:products\n}}\n",
                             agents_[0].address(), agents_[1].address(), agents_[2].address(),
                             agents_[3].address(), agents_[0].address())};
  int mysql_port_ = 0;
};

TEST_F(SqlScroll, PagesAreTheRowsOfOneStatement) {
  ASSERT_TRUE(master_.ready());
  for (const std::string table : {"t", "one"}) {
    for (const std::string order :
         {"ORDER BY price ASC, id ASC", "ORDER BY brand DESC", "ORDER BY tenth ASC, rating DESC",
          "ORDER BY weight ASC", "ORDER BY price/3 DESC", "ORDER BY price-100 DESC", ""}) {
      const auto select =
          fmt::format("SELECT id, price%10 AS tenth FROM {} WHERE MATCH('the') {}", table, order);
      const auto all = sets_of("/sql?mode=raw", select + " LIMIT 400").at(0);
      ASSERT_GT(all.size(), 2 * kPage);
      for (const auto* path : {"/sql?mode=raw", "/cli_json"}) {
        Rows paged;
        std::string option = "1";
        for (std::size_t page = 0; page < 10; ++page) {
          const auto sets = sets_of(path, fmt::format("{} LIMIT {} OPTION scroll={}; SHOW SCROLL",
                                                      select, kPage, option));
          ASSERT_EQ(sets.size(), 2U);
          if (sets[0].empty()) break;
          paged.insert(paged.end(), sets[0].begin(), sets[0].end());
          option = "'" + token_in(sets[1].at(0)) + "'";
        }
        EXPECT_EQ(paged, all) << table << " " << order << " at " << path;
      }
    }
  }
}

TEST_F(SqlScroll, OnAMysqlConnection) {
  ASSERT_TRUE(master_.ready());
  MysqlClient client(mysql_port_);
  EXPECT_EQ(client.query("SHOW SCROLL").rows, Rows{});
  const auto all = client.query("SELECT id FROM t ORDER BY price DESC LIMIT 400").rows;
  Rows paged = client.query("SELECT id FROM t ORDER BY price DESC LIMIT 70 OPTION scroll=1").rows;
  for (int page = 1; page < 7; ++page) {
    const auto token = client.query("SHOW SCROLL");
    EXPECT_EQ(token.columns, Rows{"scroll_token"});
    // The order is that of the token.
    const auto next =
        client.query(fmt::format("SELECT id FROM t LIMIT 70 OPTION scroll='{}'", token.rows.at(0)));
    EXPECT_EQ(next.error, 0);
    paged.insert(paged.end(), next.rows.begin(), next.rows.end());
  }
  EXPECT_EQ(paged, all);
  EXPECT_EQ(client.query("SELECT id FROM t LIMIT 2").rows.size(), 2U);
  EXPECT_EQ(client.query("SHOW SCROLL").rows, Rows{}) << "that SELECT does not scroll";
}

TEST_F(SqlScroll, TheFirstPageNeedsNoOption) {
  ASSERT_TRUE(master_.ready());
  MysqlClient client(mysql_port_);
  for (const std::string table : {"t", "one"}) {
    for (const std::string order : {"rating DESC, id DESC", "brand ASC, stock ASC, id ASC"}) {
      const auto select =
          fmt::format("SELECT id FROM {} WHERE price > 20 ORDER BY {}", table, order);
      const auto all = client.query(select + " LIMIT 400").rows;
      ASSERT_GT(all.size(), kPage);
      Rows paged;
      std::string option;
      for (std::size_t page = 0; page < 10; ++page) {
        const auto rows = client.query(fmt::format("{} LIMIT {}{}", select, kPage, option)).rows;
        if (rows.empty()) break;
        paged.insert(paged.end(), rows.begin(), rows.end());
        const auto token = client.query("SHOW SCROLL").rows;
        ASSERT_EQ(token.size(), 1U) << table << " " << order;
        option = fmt::format(" OPTION scroll='{}'", token[0]);
      }
      EXPECT_EQ(paged, all) << table << " " << order;
    }
    for (const auto* without : {"ORDER BY price ASC LIMIT 9", "ORDER BY id ASC OPTION scroll=0",
                                "GROUP BY brand ORDER BY id ASC LIMIT 2"}) {
      EXPECT_FALSE(client.query(fmt::format("SELECT id FROM {} {}", table, without)).rows.empty());
      EXPECT_EQ(client.query("SHOW SCROLL").rows, Rows{}) << table << " " << without;
    }
  }
}

TEST_F(SqlScroll, ATokenOfTheOnlyShardIsForThatShard) {
  ASSERT_TRUE(master_.ready());
  // {"order_by_str":"id ASC","order_by":[{"attr":"id","desc":false,"value":6,"type":"int"}]}
  constexpr std::string_view token =
      "eyJvcmRlcl9ieV9zdHIiOiJpZCBBU0MiLCJvcmRlcl9ieSI6W3siYXR0ciI6"
      "ImlkIiwiZGVzYyI6ZmFsc2UsInZhbHVlIjo2LCJ0eXBlIjoiaW50In1dfQ==";
  const auto next = [&](std::string_view table) {
    return post(
        master_.port(), "/sql?mode=raw",
        fmt::format("SELECT id FROM {} ORDER BY id ASC LIMIT 3 OPTION scroll='{}'", table, token));
  };
  EXPECT_EQ(next("one").status, 200);
  EXPECT_EQ(next("one").body, post(agents_[0].port(), "/sql?mode=raw",
                                   fmt::format("SELECT id FROM products ORDER BY id ASC LIMIT 3 "
                                               "OPTION scroll='{}'",
                                               token))
                                  .body);
  EXPECT_EQ(next("t").status, 400);
  EXPECT_TRUE(next("t").body.contains("not one of karmad's")) << next("t").body;
}

TEST_F(SqlScroll, ATokenIsTakenOnlyAsItWasGiven) {
  ASSERT_TRUE(master_.ready());
  const auto sets =
      sets_of("/cli_json", "SELECT id FROM t ORDER BY price ASC OPTION scroll=1; SHOW SCROLL");
  const auto token = token_in(sets.at(1).at(0));
  const auto refusal = [&](const std::string& statement) {
    const auto answer = post(master_.port(), "/cli_json", statement);
    return fmt::format("{} {}", answer.status, answer.body);
  };
  const auto with = [](const std::string& select, const std::string& text) {
    return fmt::format("{} OPTION scroll='{}'", select, text);
  };
  EXPECT_TRUE(refusal(with("SELECT id FROM t ORDER BY price DESC", token))
                  .starts_with(R"(400 {"error":"the scroll token has another order)"));
  EXPECT_TRUE(refusal(with("SELECT id FROM one", token))
                  .starts_with(R"(400 {"error":"the scroll token is for table t, not for one)"));
  auto changed = token;
  changed[20] = changed[20] == 'A' ? 'B' : 'A';
  EXPECT_TRUE(refusal(with("SELECT id FROM t", changed))
                  .starts_with(R"(400 {"error":"the scroll token was changed)"));
  EXPECT_TRUE(refusal("SELECT brand, COUNT(*) FROM t GROUP BY brand OPTION scroll=1")
                  .starts_with(R"(400 {"error":"groups, facets and KNN() cannot scroll)"));
}

}  // namespace
}  // namespace karmad::test
