// COUNT(DISTINCT …) of attributes with several values, by which a server groups only alone.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/kinds/dialects.hpp"
#include "agent/dialect/plan/two_rounds.hpp"

namespace karmad {
namespace {

constexpr std::string_view kRefusal =
    R"({"error":"table m: MVA values can't be used in multiple group-by"})";

const std::unique_ptr<Dialect> kSql = make_manticore_sql({});

/// A SELECT over two shards.
struct Select {
  explicit Select(std::string_view statement)
      : request{"POST", "/sql", "mode=raw", "text/plain", statement},
        parsed(*kSql->parse(request)),
        plan(*kSql->plan(request, parsed, ShardLayout(2))) {}

  /// The statement for the pairs, without its LIMIT.
  std::string pairs() const {
    std::string buffer;
    const std::vector<std::string> tables{"m"};
    const std::string_view body = write_planned(plan, 0, tables, buffer).body;
    const auto begin = body.find("SHOW META; ");
    const auto pairs = body.substr(begin == body.npos ? 0 : begin + 11);
    return std::string(pairs.substr(0, pairs.find(" LIMIT")));
  }

  ClientRequest request;
  Parsed parsed;
  Plan plan;
};

TEST(SeveralValues, PairsAreAskedForByTextsOnceAShardRefusesThem) {
  Select select("SELECT brand, COUNT(DISTINCT tags) d FROM t WHERE a=1 GROUP BY brand");
  EXPECT_NE(select.pairs().find("GROUP BY brand, tags, karmad_"), std::string::npos);
  ASSERT_TRUE(begin_round_after(select.plan, kRefusal));
  EXPECT_EQ(select.pairs(),
            "SELECT brand, tags, CRC32(TO_STRING(tags))-CRC32(LOWER(TO_STRING(tags))) AS karmad_5, "
            "TO_STRING(brand) AS karmad_3, TO_STRING(tags) AS karmad_4 FROM m WHERE a=1 GROUP BY "
            "karmad_3, karmad_4, karmad_5");
  EXPECT_FALSE(begin_round_after(select.plan, kRefusal)) << "only once";
}

TEST(SeveralValues, KeysInsideJsonAndAliasesStayAsTheyAre) {
  Select select(
      "SELECT meta.c, price*2 p, COUNT(DISTINCT tags) FROM t GROUP BY meta.c, p ORDER BY p ASC");
  ASSERT_TRUE(begin_round_after(select.plan, kRefusal));
  const auto pairs = select.pairs();
  EXPECT_NE(pairs.find("GROUP BY meta.c, p, karmad_"), std::string::npos) << pairs;
  Select facet("SELECT id FROM t FACET tags DISTINCT brand");
  ASSERT_TRUE(begin_round_after(facet.plan, kRefusal));
  EXPECT_TRUE(facet.pairs().starts_with("SELECT tags, brand, CRC32(")) << facet.pairs();
}

TEST(SeveralValues, OtherRefusalsAndOtherSelectsAreNotAskedAgain) {
  Select select("SELECT brand, COUNT(DISTINCT tags) d FROM t GROUP BY brand");
  EXPECT_FALSE(begin_round_after(select.plan, R"({"error":"table m: unknown column: brand"})"));
  Select plain("SELECT a, b, COUNT(*) FROM t GROUP BY a, b");
  EXPECT_FALSE(begin_round_after(plain.plan, kRefusal));
}

}  // namespace
}  // namespace karmad
