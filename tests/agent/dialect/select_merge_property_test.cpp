// Random documents divided over shards give the same answer to a SELECT as all of them on one
// server. A small server executes what the shards are asked.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/merge/merge_steps.hpp"
#include "agent/dialect/plan/two_rounds.hpp"
#include "tests/agent/dialect/select_server.hpp"
#include "tests/agent/dialect/sql_reading.hpp"

namespace karmad::select_property {
namespace {

void expect_same_rows(const std::string& merged, const std::string& single,
                      std::string_view about) {
  rapidjson::Document a, b;
  a.Parse(merged.c_str());
  b.Parse(single.c_str());
  ASSERT_FALSE(a.HasParseError()) << merged;
  ASSERT_FALSE(b.HasParseError()) << single;
  ASSERT_EQ(a.Size(), b.Size()) << about << merged;
  for (rapidjson::SizeType s = 0; s < a.Size(); ++s) {
    const auto& left = a[s]["data"];
    const auto& right = b[s]["data"];
    ASSERT_EQ(left.Size(), right.Size()) << about << "\n" << merged << "\n" << single;
    for (rapidjson::SizeType r = 0; r < left.Size(); ++r) {
      ASSERT_EQ(left[r].MemberCount(), right[r].MemberCount()) << about << "\n" << merged;
      for (const auto& member : right[r].GetObject()) {
        ASSERT_TRUE(left[r].HasMember(member.name)) << about << "\n" << merged;
        const auto& value = left[r][member.name];
        if (member.value.IsString())
          ASSERT_STREQ(value.GetString(), member.value.GetString()) << about << "\n"
                                                                    << merged << "\n"
                                                                    << single;
        else
          ASSERT_NEAR(value.GetDouble(), member.value.GetDouble(), 1e-6) << about << "\n"
                                                                         << merged << "\n"
                                                                         << single;
      }
    }
  }
}

/// What one server answers: rows and facets.
std::string single_answer(std::string_view statement, const Docs& docs) {
  const auto parts = split(statement, " FACET ");
  std::string sets = run(parts[0], docs);
  for (std::size_t f = 1; f < parts.size(); ++f) sets += "," + run(facet_statement(parts[f]), docs);
  return "[" + sets + "]";
}

Docs random_docs(std::mt19937& random) {
  const auto below = [&](int most) { return std::uniform_int_distribution(0, most - 1)(random); };
  Docs docs;
  const auto count = below(60);
  const std::string brands[] = {"acme", "globex", "initech", "umbrella", "zorg"};
  for (int i = 0; i < count; ++i)
    docs.push_back({i + 1, below(12), below(7), 1000 + below(4), brands[below(5)]});
  return docs;
}

TEST(SelectMerge, RowsDividedOverShardsMergeToTheAnswerOfOneServer) {
  const std::string_view statements[] = {
      "SELECT id, price FROM T ORDER BY price DESC, id ASC LIMIT 3,10",
      "SELECT price FROM T WHERE price > 3 ORDER BY brand ASC, price DESC, id ASC LIMIT 0,7",
      "SELECT id, brand FROM T LIMIT 0,15",
      "SELECT brand, price*2 AS p FROM T ORDER BY p ASC, weight() DESC, id ASC",
      "SELECT COUNT(*), SUM(price), MIN(price), MAX(user), AVG(price) FROM T",
      "SELECT COUNT(DISTINCT user) AS u, COUNT(*) AS c FROM T WHERE price > 3",
      "SELECT brand, COUNT(*) AS c FROM T GROUP BY brand ORDER BY c DESC, brand ASC LIMIT 0,3",
      "SELECT brand, AVG(price) AS a, MAX(user) FROM T GROUP BY brand ORDER BY a DESC, brand ASC",
      "SELECT brand, id, price FROM T GROUP BY brand ORDER BY brand DESC LIMIT 1,3",
      "SELECT id, brand, COUNT(*) FROM T GROUP BY price",
      "SELECT brand, id FROM T GROUP BY brand WITHIN GROUP ORDER BY price DESC, id ASC ORDER BY "
      "brand ASC",
      "SELECT brand, id, COUNT(*) AS c FROM T GROUP 2 BY brand WITHIN GROUP ORDER BY price ASC, id "
      "ASC ORDER BY brand ASC LIMIT 1,6",
      "SELECT brand, user, SUM(price) AS s FROM T GROUP BY brand, user ORDER BY s DESC, brand ASC, "
      "user ASC LIMIT 0,9",
      "SELECT user, COUNT(*) AS c FROM T GROUP BY user HAVING c > 4 ORDER BY user ASC",
      "SELECT user, SUM(price) AS s FROM T GROUP BY user HAVING AVG(price) > 5 ORDER BY s ASC, "
      "user "
      "DESC",
      "SELECT brand, COUNT(DISTINCT user) AS u FROM T GROUP BY brand ORDER BY u DESC, brand ASC",
      "SELECT brand, price, COUNT(DISTINCT user) AS u FROM T WHERE price > 3 GROUP BY brand, price "
      "ORDER BY brand ASC, price ASC LIMIT 2,8",
      "SELECT id FROM T ORDER BY id ASC LIMIT 0,2 FACET brand ORDER BY COUNT(*) DESC, brand ASC "
      "LIMIT "
      "0,3 FACET user, price ORDER BY price DESC, user ASC LIMIT 2,4",
      "SELECT *, price AS p FROM T ORDER BY p DESC, brand ASC, id ASC LIMIT 0,9 FACET price*2 AS d "
      "BY "
      "price ORDER BY FACET() DESC LIMIT 0,5 FACET brand DISTINCT user ORDER BY COUNT(*) DESC, "
      "brand "
      "ASC",
      "SELECT id FROM T ORDER BY id ASC LIMIT 0,2 FACET brand, price ORDER BY FACET() ASC LIMIT "
      "0,7",
      "SELECT COUNT(*) AS c, *, SUM(price) AS s FROM T GROUP BY user ORDER BY s DESC, c ASC, user "
      "ASC",
  };
  std::mt19937 random(20);
  for (int round = 0; round < 24; ++round) {
    const auto docs = random_docs(random);
    const auto shards = 1 + static_cast<std::size_t>(round % 4);
    std::vector<Docs> parts(shards);
    // In every other round one shard has all documents: the first, one in the middle, the last.
    const auto all = static_cast<std::size_t>(round / 4) % shards;
    for (const auto& doc : docs) {
      const auto any = std::uniform_int_distribution<std::size_t>(0, shards - 1)(random);
      parts[round % 2 == 0 ? any : all].push_back(doc);
    }
    for (const auto statement : statements) {
      const auto select = sql_reading::plan_text(statement);
      ASSERT_TRUE(select) << statement << ": " << select.error().reason;
      std::string text;
      append_edited(text, select->statements, select->names, std::vector<std::string>{"T"});
      std::vector<std::string> bodies;
      for (const auto& part : parts) bodies.push_back(reply(text, part));
      std::vector<ShardReply> replies;
      for (const auto& body : bodies) replies.push_back({body});
      std::string merged;
      const auto bad = merge_replies(select->plan, replies, MergeNotes{}, merged);
      ASSERT_FALSE(bad) << statement << ": " << bad->reason << "\n" << bodies[bad->shard];
      expect_same_rows(merged, single_answer(statement, docs), text);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace karmad::select_property
