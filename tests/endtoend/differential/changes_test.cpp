// The same changes made to one table and, through karmad, to shards with two mirrors leave the same
// documents.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <random>

#include "tests/support/cluster.hpp"

namespace karmad::test {
namespace {

constexpr int kShardsOfChanges = 3;
constexpr std::string_view kAllRows = "SELECT * FROM $T ORDER BY id ASC LIMIT 1000";

struct Change {
  std::string path;
  std::string body;  ///< with $T for the table
};

/// Changes drawn at random: the same in each run.
class ChangeGenerator {
 public:
  Change next() {
    switch (below(9)) {
      case 0:
      case 1: {
        std::string rows;
        for (auto more = 1 + below(4); more > 0; --more)
          rows += fmt::format("{}({},'{} lamp',{},({},{}),'{{\"n\":{}}}')", rows.empty() ? "" : ",",
                              ++last_id_, word(), below(100), 1 + below(5), 6 + below(5), below(9));
        return sql("INSERT INTO $T (id,title,price,tags,meta) VALUES " + rows);
      }
      case 2:
        return sql(fmt::format("REPLACE INTO $T (id,title,price) VALUES ({},'{}',{})", some_id(),
                               word(), below(100)));
      case 3:
        return sql(fmt::format("UPDATE $T SET price={}, meta.n={} WHERE {}", below(100), below(9),
                               condition()));
      case 4:
        return sql(fmt::format("DELETE FROM $T WHERE {} AND price<{}", condition(), below(20)));
      case 5:
        return {"/replace",
                fmt::format(R"({{"table":"$T","id":{},"doc":{{"title":"{}","price":{}}}}})",
                            some_id(), word(), below(100))};
      case 6:
        return {"/update", fmt::format(R"({{"table":"$T","doc":{{"stock":{}}},"query":{{"range":)"
                                       R"({{"price":{{"lt":{}}}}}}}}})",
                                       below(1000), below(60))};
      case 7:
        return {"/delete",
                fmt::format(R"({{"table":"$T","query":{{"equals":{{"price":{}}}}}}})", below(100))};
      default: {
        std::string lines;
        for (auto more = 1 + below(5); more > 0; --more)
          lines += fmt::format(
              R"({{"insert":{{"table":"$T","id":{},"doc":{{"title":"{}","price":{}}}}}}})"
              "\n",
              ++last_id_, word(), below(100));
        return {"/bulk", lines};
      }
    }
  }

 private:
  std::size_t below(std::size_t limit) { return dice_() % limit; }
  /// There is a document with that id, there was one, or there has never been one.
  std::size_t some_id() { return 1 + below(last_id_); }
  std::string word() {
    constexpr std::string_view kWords[] = {"oak", "steel", "small", "blue"};
    return std::string(kWords[below(4)]);
  }
  std::string condition() {
    switch (below(4)) {
      case 0:
        return fmt::format("id IN ({},{},{})", some_id(), some_id(), some_id());
      case 1:
        return fmt::format("MATCH('{}')", word());
      case 2:
        return fmt::format("ANY(tags)={}", 1 + below(5));
      default:
        return fmt::format("price BETWEEN {} AND {}", below(50), 50 + below(20));
    }
  }
  static Change sql(std::string statement) { return {"/sql?mode=raw", std::move(statement)}; }

  std::mt19937_64 dice_{20261125};
  std::size_t last_id_ = 10;  ///< of an INSERT, which makes no duplicates
};

std::string naming(std::string text, std::string_view table) {
  for (std::size_t at = 0; (at = text.find("$T", at)) != std::string::npos;)
    text.replace(at, 2, table);
  return text;
}

Response make(int port, const Change& change, std::string_view table) {
  return post(port, change.path, naming(change.body, table));
}

/// The lines of all documents.
std::vector<std::string> rows_at(int port, std::string_view table) {
  const auto answer = post(port, "/sql?mode=raw", naming(std::string(kAllRows), table)).body;
  const auto begin = answer.find("\"data\":[\n");
  if (begin == std::string::npos) return {answer};
  std::vector<std::string> out;
  for (auto at = begin + 9; answer[at] == '{';) {
    auto end = answer.find('\n', at);
    out.push_back(answer.substr(at, answer[end - 1] == ',' ? end - 1 - at : end - at));
    at = end + 1;
  }
  return out;
}

TEST(ChangesDifferential, ShardsHoldTogetherWhatOneTableHolds) {
  const DemoAgent whole("0/1", "whole", 0, 0);
  std::deque<DemoAgent> mirrors;
  std::string table = "table spread {\n type = distributed\n shard_by = id\n updates = all\n";
  const auto mirror = [&] { return mirrors.emplace_back("0/1", "mirror", 0, 0).address(); };
  for (int shard = 0; shard < kShardsOfChanges; ++shard) {
    const auto first = mirror();
    table += fmt::format(" agent = {}|{}:products\n", first, mirror());
  }
  Master master("agent_query_timeout = 20s", table + "}\n");
  ASSERT_TRUE(master.ready());

  ChangeGenerator generator;
  for (int i = 0; i < 120; ++i) {
    const auto change = generator.next();
    const auto expected = make(whole.port(), change, "products");
    const auto found = make(master.port(), change, "spread");
    EXPECT_EQ(found.status, expected.status) << change.path << " " << change.body << found.body;
    if (change.path.starts_with("/sql")) {
      EXPECT_EQ(found.body, expected.body) << change.path << " " << change.body;
    }
  }

  const auto all = rows_at(whole.port(), "products");
  EXPECT_GT(all.size(), 20u);
  EXPECT_EQ(rows_at(master.port(), "spread"), all);
  std::vector<std::string> together;
  for (std::size_t i = 0; i < mirrors.size(); i += 2) {
    const auto rows = rows_at(mirrors[i].port(), "products");
    EXPECT_GT(rows.size(), 2u);
    EXPECT_EQ(rows_at(mirrors[i + 1].port(), "products"), rows);
    together.insert(together.end(), rows.begin(), rows.end());
  }
  auto sorted = all;
  std::ranges::sort(sorted);
  std::ranges::sort(together);
  EXPECT_EQ(together, sorted);
}

}  // namespace
}  // namespace karmad::test
