// Percolation and the paths in the form of Elasticsearch.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "demo/data/corpus.hpp"
#include "demo/engine/membership.hpp"
#include "tests/demo/shop.hpp"

namespace karmad::demo {
namespace {

class Paths : public testing::Test {
 protected:
  Engine engine{Index{invent_corpus(50), {}}, {"products"}};
};

TEST_F(Paths, StoreQueriesAndMatchDocumentsAgainstThem) {
  EXPECT_EQ(post(engine, "/pq/products/doc/3", R"({"query":{"match":{"title":"bag"}}})").body,
            R"({"table":"products","type":"doc","_id":3,"result":"created"})");
  EXPECT_EQ(post(engine, "/pq/products/doc/3", R"({"query":"shoes"})").status, 409);
  EXPECT_EQ(post(engine, "/json/pq/products/doc/5", R"({"query":"@title shoes","tags":["a","b"]})",
                 "refresh=1")
                .status,
            200);
  EXPECT_EQ(post(engine, "/pq/products/doc", R"({"query":{"range":{"price":{"gt":5}}}})").body,
            R"({"table":"products","type":"doc","_id":6,"result":"created"})");
  EXPECT_EQ(post(engine, "/pq/products/search",
                 R"({"query":{"percolate":{"documents":[{"title":"nice bag","price":9,"other":1},)"
                 R"({"title":"red shoes"},{"title":"a bag of shoes"}]}}})")
                .body,
            R"({"took":0,"timed_out":false,"hits":{"total":3,"max_score":1,"hits":[)"
            R"({"table":"products","_type":"doc","_id":3,"_score":"1","_source":{"query":)"
            R"({"match":{"title":"bag"}},"tags":"","filters":""},"fields":)"
            R"({"_percolator_document_slot":[1,3]}},)"
            R"({"table":"products","_type":"doc","_id":5,"_score":"1","_source":{"query":)"
            R"({"ql":"@title shoes"},"tags":"a,b","filters":""},"fields":)"
            R"({"_percolator_document_slot":[2,3]}},)"
            R"({"table":"products","_type":"doc","_id":6,"_score":"1","_source":{"query":)"
            R"({"range":{"price":{"gt":5}}},"tags":"","filters":""},"fields":)"
            R"({"_percolator_document_slot":[1]}}]}})");
}

TEST_F(Paths, CompleteWords) {
  const auto answer = post(engine, "/autocomplete", R"({"table":"products","query":"small la"})");
  EXPECT_NE(answer.body.find(R"({"query":"small lamp"})"), std::string::npos) << answer.body;
  EXPECT_EQ(post(engine, "/autocomplete", R"({"table":"nope","query":"a"})").status, 500);
}

TEST_F(Paths, SearchesComputeAndSortByWhatTheyCompute) {
  const auto sorted = [&](const char* sort) {
    return ids_of(ask(engine, fmt::format(R"({{"table":"products","limit":50,{}}})", sort)));
  };
  EXPECT_EQ(sorted(R"("expressions":{"x":"price*-2"},"sort":[{"x":"desc"}])"),
            sorted(R"("sort":[{"price":"asc"}])"));
  EXPECT_EQ(sorted(R"j("expressions":{"x":"CONCAT(brand,'')"},"sort":["x","id"])j"),
            sorted(R"("sort":["brand","id"])"));
  EXPECT_EQ(sorted(R"("sort":["brand","id"],"_source":"")"), sorted(R"("sort":["brand","id"])"));
  EXPECT_EQ(sorted(R"j("expressions":{"x":"GREATEST(tags)"},"sort":[{"x":"desc"}])j").size(), 50);
  EXPECT_EQ(sorted(R"("sort":[{"_geo_distance":{"location_anchor":{"lat":50,"lon":7},)"
                   R"("location_source":"lat, lon","order":"asc"}}])"),
            sorted(R"j("expressions":{"d":"GEODIST(50,7,lat,lon,{in=deg})"},"sort":["d"])j"));
  EXPECT_EQ(sorted(R"("sort":[{"_geo_distance":{"location_anchor":[7,50],)"
                   R"("location_source":["lon","lat"],"order":"asc"}}])"),
            sorted(R"j("expressions":{"d":"GEODIST(50,7,lat,lon,{in=deg})"},"sort":["d"])j"));
  const auto shown = ask(engine, R"({"table":"products","limit":1,"_source":["x"],)"
                                 R"("expressions":{"x":"1+1"}})");
  EXPECT_NE(shown.body.find(R"("_source":{"x":2})"), std::string::npos) << shown.body;
}

TEST_F(Paths, InTheFormOfElasticsearchSearch) {
  const auto one = post(engine, "/products/_search",
                        R"({"query":{"match_all":{}},"size":1,)"
                        R"("_source":["price"],"sort":["id"]})");
  const auto price = json_of(one)["hits"]["hits"][0]["_source"]["price"].GetInt();
  EXPECT_EQ(
      one.body.substr(one.body.find(R"("timed_out")")),
      R"("timed_out":false,"_shards":{ "total": 1, "successful": 1, "skipped": 0, "failed": 0 },)"
      R"("hits":{"total":50,"total_relation":"eq","max_score": null,"hits":[{"_id":"1",)"
      R"("_score":1,"_index":"products","_type": "doc","_version": 1,"_source":{"price":)" +
          std::to_string(price) + R"(}}]},"status": 200})");
  EXPECT_EQ(get(engine, "/products/_count").body.substr(0, 11), R"({"count":50)");
  const auto both = json_of(post(engine, "/_msearch",
                                 "{\"index\":\"products\"}\n{\"size\":2}\n"
                                 "{\"index\":\"nope\"}\n{}\n"));
  EXPECT_EQ(both["responses"][0]["hits"]["hits"].Size(), 2);
  EXPECT_EQ(both["responses"][1]["status"].GetInt(), 400);
  EXPECT_STREQ(both["responses"][1]["error"]["type"].GetString(), "parse_exception");
}

TEST_F(Paths, InTheFormOfElasticsearchChangeDocuments) {
  const auto put = [&](const char* method, std::string path, std::string body) {
    return engine.answer({method, std::move(path), {}, std::move(body)}, {}, 0);
  };
  EXPECT_EQ(put("PUT", "/products/_doc/900", R"({"title":"a","price":1})").status, 201);
  EXPECT_EQ(put("PUT", "/products/_create/900", R"({"title":"b"})").status, 409);
  EXPECT_EQ(post(engine, "/products/_update/900", R"({"doc":{"title":"zeppelin"}})").body,
            R"({"table":"products","updated":1})");
  EXPECT_EQ(total_of(ask(engine, R"({"table":"products","query":{"bool":{"must":[{"match":)"
                                 R"({"title":"zeppelin"}},{"equals":{"price":1}}]}}})")),
            1);
  const auto bulk = json_of(post(engine, "/_bulk",
                                 "{\"index\":{\"_index\":\"products\",\"_id\":\"901\"}}\n"
                                 "{\"title\":\"c\"}\n"
                                 "{\"delete\":{\"_index\":\"products\",\"_id\":\"900\"}}\n"
                                 "{\"create\":{\"_index\":\"products\",\"_id\":\"1\"}}\n{}\n"));
  EXPECT_TRUE(bulk["errors"].GetBool());
  EXPECT_EQ(bulk["items"][0]["index"]["status"].GetInt(), 201);
  EXPECT_EQ(bulk["items"][1]["delete"]["status"].GetInt(), 200);
  EXPECT_EQ(bulk["items"][2]["create"]["status"].GetInt(), 409);
  EXPECT_EQ(put("DELETE", "/products/_doc/901", "").status, 200);
  EXPECT_EQ(total_of(ask(engine, R"({"table":"products"})")), 50);
}

}  // namespace
}  // namespace karmad::demo
