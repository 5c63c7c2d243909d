#include <fmt/format.h>

#include "tests/agent/dialect/search_support.hpp"

namespace karmad {
namespace {

TEST(SearchPlan, AsksEveryShardForThePageFromTheStart) {
  const struct {
    std::string_view request, asked;
  } cases[] = {
      {R"({"table":"t"})", R"({"table":"s","limit":20})"},
      {R"({"table":"t","limit":5,"offset":10,"sort":["id"]})",
       R"({"table":"s","limit":15,"offset":0,"sort":[{"id":"asc"}]})"},
      {R"({"sort":["id"],"size":5,"from":10,"index":"t"})",
       R"({"sort":[{"id":"asc"}],"size":15,"from":0,"index":"s"})"},
      {R"({"table":"t","limit":5,"offset":998,"sort":["id"]})",
       R"({"table":"s","limit":1000,"offset":0,"sort":[{"id":"asc"}]})"},
      // A page beyond max_matches is empty: shards count up to it.
      {R"({"table":"t","limit":5,"offset":1000,"sort":["id"]})",
       R"({"table":"s","limit":0,"offset":1000,"sort":["id"]})"},
      {R"({"table":"t","limit":5,"max_matches":7,"offset":4,"sort":["id"]})",
       R"({"table":"s","limit":7,"max_matches":7,"offset":0,"sort":[{"id":"asc"}]})"},
      {R"({"table":"t","limit":10,"offset":5000,"max_matches":6000,"sort":["id"]})",
       R"({"table":"s","limit":5010,"offset":0,"max_matches":6000,"sort":[{"id":"asc"}]})"},
      {R"({"table":"t","limit":0})", R"({"table":"s","limit":0})"},
      // What is not understood is passed along.
      {R"({"blah":{"x":[1]},"table":"t","highlight":{},"sort":["id"],"limit":1,"cutoff":5})",
       R"({"blah":{"x":[1]},"table":"s","highlight":{},"sort":[{"id":"asc"}],"limit":1,"cutoff":5})"},
      {R"({"table":"t","limit":1,"sort":["id"],"options":{"scroll":false},"profile":false})",
       R"({"table":"s","limit":1,"sort":[{"id":"asc"}],"options":{"scroll":false},"profile":false})"},
  };
  for (const auto& c : cases) EXPECT_EQ(Searching().asked(c.request), c.asked);
}

TEST(SearchPlan, EndsTheOrderWithTheIdSoThatPagesAreStable) {
  const struct {
    std::string_view sort, asked;
  } cases[] = {
      {R"("price")", R"([{"price":"asc"},{"id":"asc"}])"},
      {R"(["_score","price"])", R"([{"_score":"desc"},{"price":"asc"},{"id":"asc"}])"},
      {R"([{"price":"desc"},{"id":"desc"}])", R"([{"price":"desc"},{"id":"desc"}])"},
      {R"([{"id":"desc"},"price"])", R"([{"id":"desc"}])"},
      {R"({"price":{"order":"desc"}})", R"([{"price":"desc"},{"id":"asc"}])"},
      {R"([{"rating":{"order":"DESC"}},"id"])", R"([{"rating":"desc"},{"id":"asc"}])"},
      {R"({"price":"asc","brand":"desc"})", R"([{"price":"asc"},{"brand":"desc"},{"id":"asc"}])"},
      {R"([{"_score":"asc"}])", R"([{"_score":"asc"},{"id":"asc"}])"},
      {R"([{"_score":{}}])", R"([{"_score":"asc"},{"id":"asc"}])"},  // as the server reads it
      {R"([{"price":{}}])", R"([{"price":"asc"},{"id":"asc"}])"},
      {R"(["a","b","c","d"])", R"([{"a":"asc"},{"b":"asc"},{"c":"asc"},{"d":"asc"},{"id":"asc"}])"},
  };
  for (const auto& c : cases) {
    const auto asked = Searching().asked(R"({"table":"t","limit":1,"track_scores":true,"sort":)" +
                                         std::string(c.sort) + "}");
    EXPECT_EQ(asked,
              R"({"table":"s","limit":1,"track_scores":true,"sort":)" + std::string(c.asked) + "}");
  }
}

TEST(SearchPlan, AsksForTheScoresAlsoWhenTheKeyThatShowsThemDecidesNothing) {
  EXPECT_EQ(Searching().asked(R"({"table":"t","limit":1,"sort":["id","_score"]})"),
            R"({"table":"s","limit":1,"sort":[{"id":"asc"}],"track_scores":true})");
}

TEST(SearchPlan, AddsNoKeyToTheDefaultOrderWhichAServerEndsEarly) {
  for (const auto* sort : {R"([])", R"("_score")", R"(["_score"])", R"([{"_score":"desc"}])",
                           R"({"_score":{"order":"desc"}})"})
    EXPECT_EQ(Searching().asked(R"({"table":"t","limit":1,"sort":)" + std::string(sort) + "}"),
              R"({"table":"s","limit":1,"sort":[{"_score":"desc"}],"track_scores":true})");
}

TEST(SearchPlan, AddsNoKeyBehindAsManyAsAServerTakes) {
  EXPECT_EQ(
      Searching().asked(R"({"table":"t","limit":1,"sort":["a","b","c","d","e"]})"),
      R"({"table":"s","limit":1,"sort":[{"a":"asc"},{"b":"asc"},{"c":"asc"},{"d":"asc"},{"e":"asc"}]})");
}

TEST(SearchPlan, HasTheJsonAttributeReturnedThatHoldsTheSortKey) {
  for (const auto* key : {"meta.s", "meta['s']", "meta[\\\"s\\\"]", "meta.l[0].s"}) {
    const auto attribute = std::string(key).substr(0, 4);
    EXPECT_EQ(Searching().asked(R"({"table":"t","limit":1,"sort":[{")" + std::string(key) +
                                R"(":"desc"}],"_source":["brand"]})"),
              R"({"table":"s","limit":1,"sort":[{")" + std::string(key) +
                  R"(":"desc"},{"id":"asc"}],"_source":["brand",")" + attribute + R"("]})");
  }
  EXPECT_EQ(
      Searching().asked(
          R"({"table":"t","limit":1,"sort":["meta.a","meta.b"],"_source":{"excludes":["m*"]}})"),
      R"({"table":"s","limit":1,"sort":[{"meta.a":"asc"},{"meta.b":"asc"},{"id":"asc"}],"_source":[]})");
}

TEST(SearchPlan, HasAttributesReturnedInTheSpellingOfTheServerAndInThatOfTheClient) {
  const auto asked = [](std::string_view key, std::string_view source) {
    const auto all = Searching().asked(R"({"table":"t","limit":1,"sort":")" + std::string(key) +
                                       R"(","_source":)" + std::string(source) + "}");
    return all.substr(std::min(all.find(R"("_source":)"), all.size()));
  };
  EXPECT_EQ(asked("PRICE", R"(["brand"])"), R"("_source":["brand","price","PRICE"]})");
  EXPECT_EQ(asked("Price", R"(["Price"])"), R"("_source":["Price","price"]})");
  EXPECT_EQ(asked("META.N", R"({"excludes":["meta"]})"), R"("_source":[]})");
}

TEST(SearchPlan, TakesMaxMatchesFromTheOptionsBeforeTheRequests) {
  const struct {
    std::string_view request, asked;
  } cases[] = {
      {R"({"table":"t","offset":1000,"limit":10,"options":{"max_matches":3000}})",
       R"({"table":"s","offset":0,"limit":1010,"options":{"max_matches":3000}})"},
      {R"({"table":"t","offset":1000,"limit":10,"max_matches":3000})",
       R"({"table":"s","offset":0,"limit":1010,"max_matches":3000})"},
      {R"({"max_matches":5,"table":"t","limit":10,"options":{"max_matches":7,"x":1}})",
       R"({"max_matches":5,"table":"s","limit":7,"options":{"max_matches":7,"x":1}})"},
      {R"({"table":"t","limit":10,"options":{"max_matches":7,"max_matches":8}})",
       R"({"table":"s","limit":8,"options":{"max_matches":7,"max_matches":8}})"},
  };
  for (const auto& c : cases) EXPECT_EQ(Searching().asked(c.request), c.asked);
}

TEST(SearchPlan, HasTheSortAttributesReturned) {
  const struct {
    std::string_view source, asked;
  } cases[] = {
      {R"("brand")", R"(["brand","price"])"},
      {R"("*")", R"("*")"},
      {R"("")", R"("")"},
      {R"("pr*")", R"("pr*")"},
      {R"([])", R"([])"},  // the server takes an empty list for everything
      {R"(["brand","PRICE"])", R"(["brand","PRICE","price"])"},  // patterns differ by case
      {R"(["brand"])", R"(["brand","price"])"},
      {R"(false)", R"(["price"])"},
      {R"(true)", R"(true)"},
      {R"({"includes":["b*"]})", R"(["b*","price"])"},
      {R"({"excludes":["body"]})", R"({"excludes":["body"]})"},
      {R"({"excludes":["body","pr*"]})", R"({"includes":[],"excludes":["body"]})"},
      {R"({"excludes":["price"]})", R"([])"},
      {R"({"excludes":["PRICE"]})", R"({"excludes":["PRICE"]})"},
      {R"({"include":["brand"],"exclude":["price"]})",  // no properties of the server
       R"({"include":["brand"],"exclude":["price"]})"},
      {R"({"includes":["brand"],"excludes":["x","?rice"]})",
       R"({"includes":["brand","price"],"excludes":["x"]})"},
  };
  for (const auto& c : cases) {
    const auto asked = Searching().asked(R"({"table":"t","limit":1,"sort":["price"],"_source":)" +
                                         std::string(c.source) + "}");
    EXPECT_EQ(asked, R"({"table":"s","limit":1,"sort":[{"price":"asc"},{"id":"asc"}],"_source":)" +
                         std::string(c.asked) + "}");
  }
}

TEST(SearchPlan, RefusesWhatCannotBeMergedWithTheReason) {
  const struct {
    std::string_view body, reason;
  } cases[] = {
      {R"({"table":"t","sort":"_random"})", "_random cannot be merged"},
      {R"({"table":"t","sort":["_geo_distance"]})", "must be an object"},
      {R"({"table":"t","sort":[{"_geo_distance":{}}]})", "\"location_anchor\" of _geo_distance"},
      {R"({"table":"t","sort":[{"_geo_distance":{"location_anchor":{"lat":1,"lon":2}}}]})",
       "\"location_source\" of _geo_distance must name two attributes"},
      {R"x({"table":"t","sort":[{"_geo_distance":{"location_anchor":{"lat":1,"lon":2},"location_source":"a, b) or (c"}}]})x",
       "\"location_source\" of _geo_distance must name two attributes"},
      {R"({"table":"t","sort":[{"tags":{"order":"asc","mode":"avg"}}]})", "must be \"min\" or"},
      {R"x({"table":"t","sort":[{"x(y)":{"mode":"min"}}]})x", "give the expression a name"},
      {R"({"table":"t","sort":[{"price":{"order":"asc","missing":"_last"}}]})",
       "\"missing\" property not supported: sort key \"price\""},
      {R"({"table":"t","sort":[{"price":{"nested_path":"x"}}]})", "\"nested_path\" property not"},
      {R"({"table":"t","sort":{"price":{"nested_filter":{}}}})", "\"nested_filter\" property not"},
      {R"({"table":"t","sort":["_script"]})", "\"_script\" property not supported"},
      {R"x({"table":"t","sort":["integer(meta.n)"]})x", "give the expression a name"},
      {R"({"table":"t","options":{"max_matches":"5"}})", "options.max_matches must be an integer"},
      {R"({"table":"t","options":{"max_matches":[5]}})", "options.max_matches must be an integer"},
      {R"({"table":"t","sort":[{"price":"up"}]})", "must be \"asc\" or \"desc\""},
      {R"({"table":"t","sort":[{"price":"DESC"}]})", "must be \"asc\" or \"desc\""},
      {R"({"table":"t","sort":[7]})", "must be a string or an object"},
      {R"({"table":"t","limit":"x"})", "\"limit\" must be an integer"},
      {R"({"table":"t","limit":-1})", "\"limit\" must be an integer"},
      {R"({"table":"t","limit":1.5})", "\"limit\" must be an integer"},
      {R"({"table":"t","offset":99999999999})", "\"offset\" must be an integer"},
      {R"({"table":"t","limit":1,"size":2})", "mean the same and differ"},
      {R"({"table":"t","limit":1,"limit":1})", "given twice"},
      {R"({"table":"t","scroll":"abc"})", "\"scroll\" cannot be merged"},
      {R"({"table":"t","search_after":[1]})", "{\"scroll\": true}"},
      {R"({"table":"t","expressions":{"a":"1","karmad_sort_0":"2"}})", "begin with karmad_"},
      {R"({"table":"t","expressions":{"\u004bARMAD_sort_0":"2"}})", "begin with karmad_"},
      {R"({"table":"t","knn":7})", "\"knn\" must be an object"},
      {R"({"table":"t","knn":[{"field":"v","doc_id":1,"k":5}]})", "cannot be fused"},
      {R"({"table":"t","knn":{"field":"v","query_vector":[1],"k":0}})", "\"k\" of \"knn\" must be"},
      {R"({"table":"t","Limit":5})", "a property in another letter case"},
      {R"({"table":"t","s\u004frt":["id"]})", "a property in another letter case"},
      {R"({"table":"t","sort\u0000x":["id"]})", "a property in another letter case"},
      {R"({"table":"t","_source":7})", "\"_source\" must be"},
      {R"({"table":"t","_source":[7]})", "must be an array of strings"},
      {R"({"table":"t","aggregations":{}})", "write \"aggs\""},
  };
  for (const auto& c : cases) {
    const auto asked = Searching().asked(c.body);
    EXPECT_TRUE(asked.starts_with("refused: ")) << c.body;
    EXPECT_NE(asked.find(c.reason), std::string::npos) << asked;
  }
}

TEST(SearchPlan, HasTheShardsComputeWhatTheyDoNotReturnAndHidesIt) {
  EXPECT_EQ(
      Searching().asked(
          R"({"table":"t","limit":1,"sort":[{"tags":{"order":"desc","mode":"max"}}],"_source":["a"]})"),
      R"x({"table":"s","limit":1,"sort":[{"karmad_sort_0":"desc"},{"id":"asc"}],"_source":["a","karmad_sort_0"],"expressions":{"karmad_sort_0":"GREATEST(tags)"}})x");
  EXPECT_EQ(
      Searching().asked(
          R"({"table":"t","limit":1,"expressions":{"x":"a+1"},"sort":[{"_geo_distance":{"location_anchor":{"lat":52.5,"lon":-13},"location_source":["lon","lat"]}}]})"),
      R"x({"table":"s","limit":1,"expressions":{"karmad_sort_0":"GEODIST(52.500000, -13.000000, lat, lon, {in=deg})","x":"a+1"},"sort":[{"karmad_sort_0":"asc"},{"id":"asc"}]})x");
  EXPECT_EQ(
      Searching().merged(
          R"({"table":"t","limit":2,"sort":[{"tags":{"mode":"min"}}]})",
          {answer(1, R"({"_id":1,"_score":1,"_source":{"tags":[3],"karmad_sort_0":3}})"),
           answer(1, R"({"_id":2,"_score":1,"_source":{"tags":[2],"karmad_sort_0":2}})")}),
      whole(
          2,
          R"({"_id":2,"_score":1,"_source":{"tags":[2]}},{"_id":1,"_score":1,"_source":{"tags":[3]}})"));
}

// https://manual.manticoresearch.com/Searching/Filters#Geo-distance-filters
TEST(SearchPlan, ReadsPlacesAsTheServer) {
  for (const auto* anchor :
       {R"({"lat":52.123456,"lon":-13})", R"("52.123456, -13")", R"([-13,52.123456])"})
    for (const auto* source : {R"("y, x")", R"("y,x")", R"({"lat":"y","lon":"x"})", R"(["x","y"])"})
      EXPECT_EQ(
          Searching().asked(fmt::format(
              R"({{"table":"t","limit":1,"sort":[{{"_geo_distance":{{"location_anchor":{},"location_source":{}}}}}]}})",
              anchor, source)),
          R"x({"table":"s","limit":1,"sort":[{"karmad_sort_0":"asc"},{"id":"asc"}],"expressions":{"karmad_sort_0":"GEODIST(52.123455, -13.000000, y, x, {in=deg})"}})x");
}

TEST(SearchPlan, ShowsProfilesAndPlansUnderTheNumberOfTheirShard) {
  EXPECT_EQ(Searching().merged(R"({"table":"t","limit":0,"profile":true,"plan":1})",
                               {answer(1, "", R"(,"profile":{"query":[]},"plan":null)"),
                                answer(2, "", R"(,"profile":{"query":[1]},"plan":{})")}),
            whole(3, "",
                  R"(,"profile":{"shards":[{"shard":1,"profile":{"query":[]}},)"
                  R"({"shard":2,"profile":{"query":[1]}}]},)"
                  R"("plan":{"shards":[{"shard":1,"plan":null},{"shard":2,"plan":{}}]})"));
}

TEST(SearchPlan, SortsNoHitsForAggregationsThatAreAskedFor) {
  // A server refuses to sort by an attribute with several values, but groups by it.
  for (const auto* limit : {"0", "3"}) {
    const auto asked = Searching().asked(
        R"({"table":"t","aggs":{"n":{"terms":{"field":"tags"}}},"_source":["a"],"limit":)" +
        std::string(limit) + "}");
    // What is added to a request stands at its end.
    EXPECT_TRUE(asked.ends_with(R"(,"_source":["a"],"limit":)" +
                                std::string(limit[0] == '0' ? "1" : "3") + "}"))
        << asked;
  }
}

TEST(SearchPlan, BoundsTheStepsIntoAJsonAttribute) {
  const auto asked = [](std::size_t steps) {
    std::string key = "meta";
    for (std::size_t i = 0; i < steps; ++i) key += ".a";
    return Searching().asked(R"({"table":"t","limit":1,"sort":[")" + key + R"("]})");
  };
  EXPECT_TRUE(asked(32).starts_with("{")) << asked(32);
  EXPECT_NE(asked(33).find("deeper than 32 steps"), std::string::npos) << asked(33);
}

TEST(SearchPlan, PassesOnOneShardWhatItRefusesOnSeveral) {
  for (const auto* body : {R"({"table":"t","scroll":"abc"})", R"({"table":"t","sort":"_random"})",
                           R"({"table":"t","plan":1})"})
    EXPECT_TRUE(Searching().parse(body)) << body;
}

}  // namespace
}  // namespace karmad
