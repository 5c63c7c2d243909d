#include "agent/dialect/rows/sort_value.hpp"
#include "tests/agent/dialect/search_support.hpp"

namespace karmad {
namespace {

std::string hit(int id, std::string_view distance, std::string_view rest = "") {
  return R"({"_id":)" + std::to_string(id) + R"(,"_score":1,"_knn_dist":)" + std::string(distance) +
         std::string(rest) + R"(,"_source":{}})";
}

TEST(Vectors, MergesTheKNearestOfAllShardsByDistance) {
  const auto* const nearest = R"({"table":"t","knn":{"field":"v","query_vector":[1,2],"k":3}})";
  const std::vector<std::string> answers{
      answer(3, hit(1, "0.1") + "," + hit(5, "0.5") + "," + hit(6, "0.6")),
      answer(3, hit(2, "0.2") + "," + hit(3, "0.2") + "," + hit(9, "0.9"))};
  EXPECT_EQ(Searching().asked(nearest),
            R"({"table":"s","knn":{"field":"v","query_vector":[1,2],"k":3},"limit":3})");
  EXPECT_EQ(Searching().merged(nearest, answers),
            whole(3, hit(1, "0.1") + "," + hit(2, "0.2") + "," + hit(3, "0.2")));
  // The page is one of these three.
  EXPECT_EQ(
      Searching().merged(
          R"({"table":"t","limit":2,"offset":2,"knn":{"field":"v","query_vector":[1],"k":3}})",
          answers),
      whole(3, hit(3, "0.2")));
}

TEST(Vectors, AListOfOneVectorIsThatVector) {
  const auto* const nearest = R"({"table":"t","knn":[{"field":"v","query_vector":[1],"k":2}]})";
  EXPECT_EQ(Searching().merged(nearest, {answer(2, hit(1, "0.1") + "," + hit(5, "0.5")),
                                         answer(1, hit(2, "0.2"))}),
            whole(2, hit(1, "0.1") + "," + hit(2, "0.2")));
}

TEST(Vectors, RefusesNumbersThatServersReadAsInfinite) {
  EXPECT_TRUE(Searching()
                  .asked(R"({"table":"t","knn":{"field":"v","query_vector":[1,-1e39],"k":3}})")
                  .contains("has the number -1e+39; its numbers are floats of 32 bits"));
  EXPECT_TRUE(has_exceeding_float("1, 1e39"));
  EXPECT_TRUE(has_exceeding_float("-1e400,0"));
  EXPECT_FALSE(has_exceeding_float("3.4e38,-0.5, 1e-400,, x"));
}

TEST(Vectors, LetsASortDecideOnlyBetweenEqualDistancesAsTheServerDoes) {
  const auto source = [](int id, std::string_view distance, int price) {
    return R"({"_id":)" + std::to_string(id) + R"(,"_knn_dist":)" + std::string(distance) +
           R"(,"_source":{"price":)" + std::to_string(price) + "}}";
  };
  const auto* const sorted =
      R"({"table":"t","limit":9,"sort":["price"],"knn":{"field":"v","query_vector":[1],"k":9}})";
  EXPECT_EQ(
      Searching().asked(sorted),
      R"({"table":"s","limit":9,"sort":[{"price":"asc"},{"id":"asc"}],"knn":{"field":"v","query_vector":[1],"k":9}})");
  EXPECT_EQ(Searching().merged(sorted, {answer(2, source(1, "0.1", 9) + "," + source(2, "0.3", 1)),
                                        answer(1, source(3, "0.1", 5))}),
            whole(3, source(3, "0.1", 5) + "," + source(1, "0.1", 9) + "," + source(2, "0.3", 1)));
}

TEST(Vectors, MergesFusedSearchesByTheirScoreBestFirst) {
  for (
      const auto* fused :
      {R"({"table":"t","hybrid":{"query":"x"}})",
       R"({"table":"t","knn":{"field":"v","query_vector":[1]},"options":{"fusion_method":"rrf"}})",
       R"({"table":"t","knn":[{"field":"v","query_vector":[1]}],"options":{"fusion_method":"rrf"}})"}) {
    const auto best = hit(2, "0.2", R"(,"_hybrid_score":0.03278688)");
    const auto worse = hit(1, "0.1", R"(,"_hybrid_score":0.03200205)");
    EXPECT_EQ(Searching().merged(fused, {answer(1, worse), answer(1, best)}),
              whole(2, best + "," + worse))
        << fused;
  }
}

TEST(Vectors, LetsASortReplaceTheFusedScore) {
  EXPECT_EQ(
      Searching().asked(R"x({"table":"t","limit":1,"hybrid":{},"sort":[{"knn_dist()":"desc"}]})x"),
      R"x({"table":"s","limit":1,"hybrid":{},"sort":[{"knn_dist()":"desc"},{"id":"asc"}]})x");
}

}  // namespace
}  // namespace karmad
