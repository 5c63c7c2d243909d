#include "agent/dialect/kinds/dialects.hpp"
#include "agent/dialect/plan/plan.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "agent/dialect/fronts/elastic/translate.hpp"
#include "agent/dialect/request/parsed.hpp"
#include "agent/dialect/write/write_hits.hpp"

namespace karmad {
namespace {

/// A request to the table `products` in the path, or to a path without a table.
ClientRequest elastic_call(std::string_view method, std::string_view path, std::string_view body,
                           std::string_view query = {}) {
  ClientRequest request{.method = method,
                        .path = path,
                        .query = query,
                        .content_type = "application/json",
                        .body = body};
  if (path.starts_with("/products"))
    request.path_table = request.path_table_raw = path.substr(1, 8);
  return request;
}

const std::vector<std::string> kMirrorTable{"mirror_table"};

TEST(ManticoreElastic, TranslatesEachPathIntoTheEnginesOwnJson) {
  struct Case {
    std::string_view method;
    std::string_view path;
    std::string_view body;
    std::string_view own_path;
    std::string_view own_body;
  };
  for (
      const auto& [method, path, body, own_path, own_body] :
      {Case{"GET", "/products/_search", "", "/search", R"({"table":"products"})"},
       Case{"POST", "/products/_search", " {\"size\":1}\n", "/search",
            R"({"table":"products","size":1})"},
       Case{"POST", "/_search", R"({"table":"a,b"})", "/search", R"({"table":"a,b"})"},
       Case{"POST", "/products/_count", R"({"query":{"match_all":{}},"size":3})", "/search",
            R"({"table":"products","query":{"match_all":{}},"limit":0,"options":{"cutoff":0}})"},
       Case{
           "POST", "/products/_count", R"({"qu\u0065ry":{"match_all":{}},"size":3})", "/search",
           R"({"table":"products","qu\u0065ry":{"match_all":{}},"limit":0,"options":{"cutoff":0}})"},
       Case{"GET", "/_count", R"({"index":"a"})", "/search",
            R"({"index":"a","limit":0,"options":{"cutoff":0}})"},
       Case{"POST", "/products/_search", R"({"query":{"term":{"n":5}}})", "/search",
            R"({"table":"products","query":{"equals":{"n":5}}})"},
       Case{
           "POST", "/_search",
           R"({"index":"a","query":{"bool":{"must_not":[{"term":{"ok":{"value":true}}},{"terms":{"n":[1,2.5]}}],"filter":{"term":{"id":7}}}}})",
           "/search",
           R"({"index":"a","query":{"bool":{"must_not":[{"equals":{"ok":1}},{"bool":{"should":[{"equals":{"n":1}},{"equals":{"n":2.5}}]}}],"filter":{"equals":{"id":7}}}}})"},
       // Clients in Java always write a boost.
       Case{
           "POST", "/products/_search",
           R"({"query":{"bool":{"must":[{"terms":{"n":[1,2],"boost":1.0}},{"terms":{"n":[0.5],"boost":2}}]}}})",
           "/search",
           R"({"table":"products","query":{"bool":{"must":[{"in":{"n":[1,2]}},{"bool":{"should":[{"equals":{"n":0.5}}]}}]}}})"},
       Case{"POST", "/products/_search", R"({"query":{"terms":{"n":[1],"m":[2]}}})", "/search",
            R"({"table":"products","query":{"terms":  {"n":[1],"m":[2]}}})"},
       Case{"POST", "/products/_search", R"({"query":{"terms":{"n.keyword":[1,true]}}})", "/search",
            R"({"table":"products","query":{"in":{"n":[1,true]}}})"},
       Case{"POST", "/products/_search",
            R"({"query":{"match":{"title" : "a.keyword"}},"sort":"brand.keyword","_source":false})",
            "/search",
            R"({"table":"products","query":{"match":  {"title" : "a.keyword"}},)"
            R"("sort":["brand"],"_source":{"excludes":["*"]}})"},
       Case{"POST", "/products/_search",
            R"({"sort":{"_score":{},"n":{"order":"desc"},"_doc":"asc"},"_source":true})", "/search",
            R"({"table":"products","sort":[{"_score":"desc"},{"n":{"order":"desc"}},{"id":"asc"}],)"
            R"("_source":[]})"},
       Case{"POST", "/products/_search",
            R"({"aggregations":{"b.keyword":{"terms":{"field" : "b.keyword"}}},"fields":[]})",
            "/search",
            R"({"table":"products","aggs":{"b.keyword":{"terms":{"field" : "b"}}},"fields":[]})"},
       Case{"POST", "/products/_count",
            R"({"query":{"constant_score":{"filter":{"term":{"n":5}},"boost":1.2}}})", "/search",
            R"({"table":"products","query":{"equals":{"n":5}},"limit":0,"options":{"cutoff":0}})"},
       Case{
           "POST", "/products/_search",
           R"({"knn":{"field":"v.keyword","query_vector":[0.5,-1],"k":3,"filter":{"bool":{"must":[{"term":{"n":5}},{"terms":{"m.keyword":[1]}}]}}}})",
           "/search",
           R"({"table":"products","knn":{"field":"v","query_vector":[0.5,-1],"k":3,"filter":{"bool":{"must":[{"equals":{"n":5}},{"in":{"m":[1]}}]}}}})"},
       Case{
           "POST", "/products/_search",
           R"({"query":{"bool":{"must":[{"term":{"title":"red"}},{"terms":{"tag":["a",1]}}]}}})",
           "/search",
           R"({"table":"products","query":{"bool":{"must":[{"term":  {"title":"red"}},{"terms":  {"tag":["a",1]}}]}}})"},
       Case{
           "POST", "/products/_search",
           R"({"query":{"equals":{"term":5}},"aggs":{"term":{"terms":{"field":"n"}}}})", "/search",
           R"({"table":"products","query":{"equals":{"term":5}},"aggs":{"term":{"terms":{"field":"n"}}}})"},
       Case{"POST", "/products/_update/7", R"({"doc":{"price":2}} )", "/update",
            R"({"table":"products","id":7,"doc":{"price":2}})"},
       Case{"PUT", "/products/_doc/7", R"({"price":2})", "/replace",
            R"({"table":"products","id":7,"doc":{"price":2}})"},
       Case{"POST", "/products/_doc", R"({"price":2})", "/insert",
            R"({"table":"products","doc":{"price":2}})"},
       Case{"PUT", "/products/_create/18446744073709551615", R"({"price":2})", "/insert",
            R"({"table":"products","id":18446744073709551615,"doc":{"price":2}})"},
       Case{"DELETE", "/products/_doc/7", "", "/delete", R"({"table":"products","id":7})"},
       // JSON has no numbers with leading zeros.
       Case{"DELETE", "/products/_doc/007", "", "/delete", R"({"table":"products","id":7})"},
       Case{"DELETE", "/products/_doc/00", "", "/delete", R"({"table":"products","id":0})"}}) {
    const auto translated = translate_elastic(elastic_call(method, path, body));
    ASSERT_TRUE(translated) << path << ": " << translated.error().reason;
    EXPECT_EQ(translated->path, own_path) << path;
    EXPECT_EQ(translated->body, own_body) << path;
  }
}

TEST(ManticoreElastic, ADocumentThatIsOnlyCreatedReplacesNone) {
  const auto own_path = [](std::string_view path, std::string_view query) {
    const auto translated = translate_elastic(elastic_call("PUT", path, R"({"n":2})", query));
    return translated ? std::string(translated->path) : translated.error().reason;
  };
  EXPECT_EQ(own_path("/products/_doc/7", "refresh=true&op_type=create"), "/insert");
  EXPECT_EQ(own_path("/products/_doc/7", "op_type=index"), "/replace");
  for (const auto* condition : {"if_seq_no=3&if_primary_term=1", "version=2"})
    for (const auto* path : {"/products/_doc/7", "/products/_update/7"})
      EXPECT_TRUE(own_path(path, condition).contains("is not supported: servers keep no versions"));
}

// Only a server knows which names are attributes: its error tells, and the search is asked again.
TEST(ManticoreElastic, WordsInAnAttributeBecomeEqualityWithoutMovingAnything) {
  const auto again = [](std::string_view query, std::string_view field) {
    const auto body = fmt::format(R"({{"query":{},"sort":[{{"n":"desc"}}]}})", query);
    const auto translated = translate_elastic(elastic_call("POST", "/products/_search", body));
    const auto error = fmt::format(
        R"({{"error":"table p: query error: no field '{}' found in schema at '\/q'"}})", field);
    auto equal = with_equality(translated->body, error);
    if (!equal) return std::string("nothing");
    EXPECT_EQ(equal->size(), translated->body.size());
    EXPECT_EQ(equal->find("\"sort\""), translated->body.find("\"sort\""));
    std::erase(*equal, ' ');
    return equal->substr(28, equal->find(",\"sort\"") - 28);
  };
  const std::array<std::string_view, 3> cases[] = {
      {R"({"term":{"brand":"acme"}})", "brand", R"({"equals":{"brand":"acme"}})"},
      {R"({"term":{"brand":{"value":"a\"c"}}})", "Brand", R"({"equals":{"brand":"a\"c"}})"},
      {R"({"match":{"brand":{"query":"acme","operator":"and"}}})", "brand",
       R"({"equals":{"brand":"acme"}})"},
      {R"({"match":{"city":"x"}})", "city", R"({"equals":{"city":"x"}})"},
      {R"({"match_phrase":{"city":"xy"}})", "city", R"({"equals":{"city":"xy"}})"},
      {R"({"terms":{"tag":["a","b"]}})", "tag", R"({"in":{"tag":["a","b"]}})"},
      {R"({"bool":{"must":[{"term":{"a":"x"}},{"match":{"b":"y"}}],"must_not":{"terms":{"a":["z"]}}}})",
       "a",
       R"({"bool":{"must":[{"equals":{"a":"x"}},{"match":{"b":"y"}}],"must_not":{"in":{"a":["z"]}}}})"},
      {R"({"term":{"meta.color":"red"}})", "meta.color", R"({"equals":{"meta.color":"red"}})"},
      {R"({"term":{"title":"acme"}})", "brand", "nothing"},
      {R"({"bool":{"filter":{"range":{"brand":{"gt":5}}}}})", "brand", "nothing"},
      {R"({"match_all":{}})", "brand", "nothing"}};
  for (const auto& [query, field, equal] : cases) EXPECT_EQ(again(query, field), equal) << query;
  for (const auto* const other : {"", "no field '", "no field 'brand' there",
                                  R"({"error":"table p: unknown column: brand"})"})
    EXPECT_EQ(with_equality(R"({"query":{"term":  {"brand":"a"}}})", other), std::nullopt);
}

TEST(ManticoreElastic, ParametersOfTheUrlTakeThePlaceOfMembers) {
  struct Case {
    std::string_view path;
    std::string_view query;
    std::string_view body;
    std::string_view own_body;
  };
  for (
      const auto& [path, query, body, own_body] :
      {Case{
           "/products/_search", "pretty&q=red+%22lamp%22&size=5&from=10", "",
           R"({"table":"products","query":{"query_string":"red \"lamp\""},"limit":5,"offset":10})"},
       Case{"/products/_search", "size=5&sort=price:desc,id&_source=title,price",
            R"({"limit":1,"sort":"id","from":2,"_source":[]})",
            R"({"table":"products","from":2,"limit":5,"sort":[{"price":"desc"},"id"],)"
            R"("_source":["title","price"]})"},
       Case{"/products/_search", "_source=false&sort=_doc", "",
            R"({"table":"products","_source":{"excludes":["*"]},"sort":["id"]})"},
       Case{"/products/_search", "_source_includes=p*,q&_source_excludes=price", "",
            R"({"table":"products","_source":{"includes":["p*","q"],"excludes":["price"]}})"},
       Case{"/_search", "size=1", R"({"index":"a","size":3})", R"({"index":"a","limit":1})"},
       Case{"/_search", "size=0030&from=00", R"({"index":"a"})",
            R"({"index":"a","limit":30,"offset":0})"},
       Case{"/_search", "size=1", R"({"index":"a","l\u0069mit":3})", R"({"index":"a","limit":1})"},
       Case{
           "/products/_count", "q=x&size=1", R"({"query":{"match_all":{}},"size":3})",
           R"({"table":"products","query":{"query_string":"x"},"limit":0,"options":{"cutoff":0}})"}}) {
    const auto translated = translate_elastic(elastic_call("GET", path, body, query));
    ASSERT_TRUE(translated) << query << ": " << translated.error().reason;
    EXPECT_EQ(translated->body, own_body) << query;
  }
}

TEST(ManticoreElastic, SaysHowToCorrectAWrongRequest) {
  struct Case {
    std::string_view path;
    std::string_view body;
    std::string_view query;
    std::string_view reason;
  };
  for (const auto& [path, body, query, reason] :
       {Case{"/products/_search", R"([1])", "", "the body is not a JSON object"},
        Case{"/products/_search", R"({"size":1,})", "", "a name for object member. At offset 10."},
        Case{"/products/_doc/7", R"({"size":1]})", "", "after an object member. At offset 9."},
        Case{"/products/_search", R"({"query":{"match":{"a":"\ud800"}}})", "", "At offset 24."},
        Case{"/products/_search", R"({"table":"other"})", "", "the path names the table"},
        Case{"/products/_search", R"({"t\u0061ble":"other"})", "", "the path names the table"},
        Case{"/products/_search", R"({"Table":"other"})", "", "some search servers read as"},
        Case{"/products/_search", R"({"join":[{"table":"other"}]})", "", "names another table"},
        Case{"/products/_search", "", "scroll=1m", "the parameter 'scroll' is not supported"},
        Case{"/products/_count", "", "source=%7B%7D&source_content_type=application/json",
             "the parameter 'source' is not supported; send the search in the body"},
        Case{"/products/_search", "", "size=-1", "'size=-1' cannot be read; expected were q=text"},
        Case{"/products/_search", "", "sort=id:up", "'sort=id:up' cannot be read"},
        Case{"/products/_search", "", "_source=", "'_source=' cannot be read"},
        Case{"/products/_search", "", "_source=a&_source_includes=b", "is given twice"},
        Case{"/products/_search", R"({"search_after":[7]})", "",
             "\"search_after\" is not supported"},
        Case{"/products/_search", R"({"min_score":2})", "", "\"min_score\" is not supported"},
        Case{"/products/_search", "", "q=a&q=b", "the parameter 'q' is given twice"},
        Case{"/_count", "", "", "\"table\" is"},
        Case{"/products/_update/x%27", R"({"doc":{}})", "", "the id in the path must be a number"},
        Case{"/products/_doc/1", "{}", "", "the document in the body is empty"},
        Case{"/products/_update/1", "{}", "", "the document in the body is empty"},
        Case{"/products/_update/1", R"({"doc":{"n":1},"doc_as_upsert":true})", "",
             "\"doc_as_upsert\" is not supported"},
        Case{"/products/_update/1", R"({"upsert":{"n":1},"doc":{"n":2}})", "",
             "\"upsert\" is not supported"}}) {
    const auto elastic = make_manticore_elastic({});
    const auto& dialect = *elastic;
    const auto parsed = dialect.parse(elastic_call("POST", path, body, query));
    ASSERT_FALSE(parsed) << path << body;
    EXPECT_EQ(parsed.error().status, 400);
    EXPECT_NE(parsed.error().reason.find(reason), std::string::npos) << parsed.error().reason;
  }
}

TEST(ManticoreElastic, ASearchOfOneShardToo_IsAskedAtSearchAndAnsweredInTheOtherForm) {
  const auto elastic = make_manticore_elastic({});
  const auto& dialect = *elastic;
  const auto request = elastic_call("POST", "/products/_search", R"({"size":1})");
  const auto parsed = dialect.parse(request);
  ASSERT_TRUE(parsed);
  EXPECT_TRUE(parsed->planned);
  EXPECT_EQ(parsed->table, "products");
  const auto plan = dialect.plan(request, *parsed, 1);
  ASSERT_TRUE(plan) << plan.error().reason;
  std::string buffer;
  const auto written = write_planned(*plan, 0, kMirrorTable, buffer);
  EXPECT_EQ(written.method, "POST");
  EXPECT_EQ(written.target, "/search");
  EXPECT_NE(written.body.find(R"("table":"mirror_table")"), std::string::npos) << written.body;
  const std::array<ShardReply, 1> replies{
      {{R"({"took":2,"timed_out":false,"hits":{"total":400,"total_relation":"eq","hits":)"
        R"([{"_id":18446744073709551615,"_score":1,"_source":{"price":61}}]}})"}}};
  std::string out;
  ASSERT_FALSE(merge(*plan, replies, {}, out));
  EXPECT_EQ(out, R"({"took":2,"timed_out":false,)"
                 R"("_shards":{"total":1,"successful":1,"skipped":0,"failed":0},)"
                 R"("hits":{"total":400,"total_relation":"eq","max_score":null,"hits":)"
                 R"([{"_id":"18446744073709551615","_score":1,"_index":"products","_type":"doc",)"
                 R"("_version":1,"_source":{"price":61}}]},"status":200})");
  // Only numbers become strings: what else a mirror has as an id stays as it is.
  for (const auto* id : {R"({"title":"b","arr":[3]})", R"([1,"x"])", "null", "true", R"("a")"}) {
    const auto reply = fmt::format(R"({{"took":2,"timed_out":false,"hits":{{"total":1,"hits":)"
                                   R"([{{"_id":{},"_source":{{}}}}]}}}})",
                                   id);
    const std::array<ShardReply, 1> strange{{{reply}}};
    std::string answer;
    const auto again = dialect.plan(request, *parsed, 1);
    ASSERT_FALSE(merge(*again, strange, {}, answer)) << id;
    EXPECT_TRUE(answer.contains(fmt::format(R"("_id":{},)", id))) << answer;
  }
}

/// The answer to a search of `products`, where the first of the shards has these hits; or why there
/// is none.
std::string found_hits(std::size_t shards, std::string_view hits, std::string_view body,
                       std::string_view query = {}) {
  const auto elastic = make_manticore_elastic({});
  const auto request = elastic_call("POST", "/products/_search", body, query);
  const auto parsed = elastic->parse(request);
  if (!parsed) return parsed.error().reason;
  const auto plan = elastic->plan(request, *parsed, shards);
  if (!plan) return plan.error().reason;
  std::vector<ShardReply> replies(shards);
  const auto reply = fmt::format(
      R"({{"took":2,"timed_out":false,"hits":{{"total":2,"total_relation":"eq","hits":[{}]}}}})",
      hits);
  replies.front().body = reply;
  std::string out;
  const auto failed = merge(*plan, replies, {}, out);
  return failed ? failed->reason : out;
}

TEST(ManticoreElastic, HitsShowTheValuesOfTheSearchesKeys) {
  for (const std::size_t shards : {1, 2}) {
    const auto out =
        found_hits(shards,
                   R"({"_id":7,"_score":5,"_source":{"price":61,"meta":{"n":"x"}}},)"
                   R"({"_id":8,"_score":4,"_source":{"meta":{}}})",
                   R"({"sort":["_score",{"meta.n":"desc"},"price"],"_source":["price"]})");
    EXPECT_TRUE(out.contains(R"("_source":{"price":61},"sort":[5,"x",61]},)")) << out;
    EXPECT_TRUE(out.contains(R"("_source":{},"sort":[4,null,null]}])")) << out;
  }
}

TEST(ManticoreElastic, HitsOfASearchForVectorsShowTheValuesOfItsKeys) {
  for (const auto& [sort, shown] :
       {std::pair(R"(["_knn_dist"])", "[0.5]"), std::pair(R"([{"price":"desc"}])", "[61]"),
        std::pair(R"(["price",{"_knn_dist":"desc"},"id"])", "[61,0.5,7]")})
    for (const std::size_t shards : {1, 2}) {
      const auto out = found_hits(
          shards, R"({"_id":7,"_score":1,"_knn_dist":0.5,"_source":{"price":61}})",
          fmt::format(
              R"({{"knn":{{"field":"v","k":3,"query_vector":[1]}},"_source":["price"],"sort":{}}})",
              sort));
      EXPECT_TRUE(out.contains(fmt::format(R"("sort":{}}}])", shown))) << out;
    }
}

TEST(ManticoreElastic, HitsWithoutSourceKeepTheirIndexAndTheValuesOfTheKeys) {
  const std::pair<std::string_view, std::string_view> forms[] = {
      {"", R"({"sort":["n"],"_source":false})"}, {"_source=false&sort=n", R"({"_source":["n"]})"}};
  for (const auto& [query, body] : forms)
    for (const std::size_t shards : {1, 3}) {
      const auto out =
          found_hits(shards, R"({"_id":7,"_score":5,"_source":{"n":61},"highlight":{"t":["x"]}})",
                     body, query);
      EXPECT_TRUE(out.contains(R"([{"_id":"7","_score":5,"_index":"products","_type":"doc",)"
                               R"("_version":1,"highlight":{"t":["x"]},"sort":[61]}])"))
          << out;
    }
}

TEST(ManticoreElastic, ASearchOfOneShardMayAskForWhatSeveralCannotMerge) {
  const auto elastic = make_manticore_elastic({});
  const auto& dialect = *elastic;
  const auto* const body = R"({"aggs":{"p":{"percentiles":{"field":"price"}}},"sort":["_random"]})";
  const auto request = elastic_call("POST", "/products/_search", body);
  const auto parsed = dialect.parse(request);
  ASSERT_TRUE(parsed);
  EXPECT_FALSE(dialect.plan(request, *parsed, 2));
  const auto plan = dialect.plan(request, *parsed, 1);
  ASSERT_TRUE(plan) << plan.error().reason;
  std::string buffer;
  EXPECT_EQ(write_planned(*plan, 0, kMirrorTable, buffer).body,
            R"({"table":"mirror_table",)" + std::string(body).substr(1));
  const auto answered = [&](std::string_view value) {
    const std::string reply =
        R"({"took":1,"timed_out":false,"hits":{"total":0,"total_relation":"eq","hits":[]},)"
        R"("aggregations":{"p":{"value":)" +
        std::string(value) + "}}}";
    const std::array<ShardReply, 1> replies{{{reply}}};
    std::string out;
    const auto bad = merge(*plan, replies, {}, out);
    return bad ? bad->reason : out.substr(out.find(R"("aggregations")"));
  };
  EXPECT_EQ(answered("[1,2]"), R"("aggregations":{"p":{"value":[1,2]}},"status":200})");
  EXPECT_EQ(answered("inf"), R"("aggregations":{"p":{"value":null}},"status":200})");
  EXPECT_EQ(answered("1,"), "it is malformed");
}

TEST(ManticoreElastic, AggregationsThatServersDoNotKnowAreNotPassedToOneShardEither) {
  const auto elastic = make_manticore_elastic({});
  const auto planned = [&](std::string_view aggs) -> std::expected<std::string, ClientError> {
    const auto body = fmt::format(R"({{"size":0,"aggs":{}}})", aggs);
    const auto request = elastic_call("POST", "/products/_search", body);
    const auto parsed = elastic->parse(request);
    const auto plan = elastic->plan(request, *parsed, 1);
    if (!plan) return std::unexpected(plan.error());
    std::string buffer;
    return std::string(write_planned(*plan, 0, kMirrorTable, buffer).body);
  };
  for (const auto* const passed :
       {R"({"a":{"significant_terms":{"field":"n"}}})", R"({"a":{"mad":{"field":"n"}}})",
        R"({"a":{"avg":{"field":"n"},"meta":{"x":1}},"b":{"percentile_ranks":{"field":"n"}}})",
        R"({"a":{"sort":["n"],"terms":{"field":"n"}}})", "{}"})
    EXPECT_EQ(planned(passed).value_or(""),
              fmt::format(R"({{"table":"mirror_table","size":0,"aggs":{}}})", passed));
  for (const auto* const kind : {"value_count", "stats", "filter", "top_hits"}) {
    const auto aggs = fmt::format(R"({{"a":{{"max":{{"field":"n"}}}},"b":{{"{}":{{}}}}}})", kind);
    const auto refused = planned(aggs);
    ASSERT_FALSE(refused) << kind;
    EXPECT_EQ(refused.error().status, 400);
    EXPECT_EQ(refused.error().reason, fmt::format("aggregation \"b\": {} is not known", kind));
  }
  // Computed from all values, as over several shards.
  const auto distinct = planned(R"({"a":{"cardinality":{"field":"n"}}})").value_or("");
  EXPECT_TRUE(distinct.contains(R"({"a":{"terms":{"field":"n","size":100000}}})")) << distinct;
}

TEST(ManticoreElastic, HitsOfSeveralTablesNameTheirOwn) {
  const auto elastic = make_manticore_elastic({});
  auto request = elastic_call("POST", "/_search", R"({"table":"o*,two"})");
  const auto parsed = elastic->parse(request);
  ASSERT_TRUE(parsed);
  const auto indexes = [&](const std::vector<std::string_view>& tables) {
    ShardLayout layout(tables.size());
    layout.tables = tables;
    const auto plan = elastic->plan(request, *parsed, layout);
    std::vector<std::string> bodies;
    std::vector<ShardReply> replies;
    for (std::size_t s = 0; s < tables.size(); ++s)
      bodies.push_back(fmt::format(R"({{"took":2,"timed_out":false,"hits":{{"total":1,"hits":)"
                                   R"([{{"_id":{},"_score":{},"_source":{{}}}}]}}}})",
                                   s, s));
    for (const auto& body : bodies) replies.push_back({body});
    std::string out;
    EXPECT_FALSE(merge(*plan, replies, {}, out));
    std::string found;
    for (auto at = out.find("_index"); at != out.npos; at = out.find("_index", at + 1))
      found += out.substr(at + 9, 3);
    return found;
  };
  EXPECT_EQ(indexes({"one", "two"}), "twoone");
  EXPECT_EQ(indexes({"one"}), "one");
}

TEST(ManticoreElastic, AFilterLeavesThePartsThatItNames) {
  const auto elastic = make_manticore_elastic({});
  for (const auto& [filter, left] :
       {std::pair("hits.hits._id", R"({"hits":{"hits":[{"_id":"7"},{"_id":"8"}]}})"),
        std::pair("hits.t*l,hits.hits._source.b",
                  R"({"hits":{"total":2,"hits":[{"_source":{"b":[{"c":2}]}}]}})"),
        std::pair("**.c,timed_out",
                  R"({"timed_out":false,"hits":{"hits":[{"_source":{"b":[{"c":2}]}}]}})"),
        std::pair("hits.hits._source.b.**,took",
                  R"({"took":2,"hits":{"hits":[{"_source":{"b":[{"c":2}]}}]}})"),
        std::pair("hits.total.value,nothing", "{}")}) {
    const auto query = fmt::format("size=2&filter_path={}", filter);
    const auto request = elastic_call("POST", "/products/_search", "", query);
    const auto parsed = elastic->parse(request);
    ASSERT_TRUE(parsed);
    const auto plan = elastic->plan(request, *parsed, 1);
    ASSERT_TRUE(plan) << plan.error().reason;
    const std::array<ShardReply, 1> replies{
        {{R"({"took":2,"timed_out":false,"hits":{"total":2,"total_relation":"eq","hits":)"
          R"([{"_id":7,"_source":{"a":1,"b":[{"c":2}]}},{"_id":8,"_source":{}}]}})"}}};
    std::string out;
    ASSERT_FALSE(merge(*plan, replies, {}, out));
    EXPECT_EQ(out, left) << filter;
  }
}

TEST(ManticoreElastic, AFilterWithManyStarsTakesNoLongerThanItsAnswerIsDeep) {
  std::string stars;
  for (int i = 0; i < 40; ++i) stars += "**.*.";
  std::string value;
  for (int i = 0; i < 90; ++i) value += R"({"a":)";
  const auto answer = value + "1" + std::string(90, '}');
  std::string out;
  append_filtered(out, answer, stars + "a");
  EXPECT_EQ(out, answer);
}

TEST(ManticoreElastic, ACountAddsTheShardsAndTellsThoseThatFailed) {
  const auto elastic = make_manticore_elastic({});
  const auto& dialect = *elastic;
  const auto request = elastic_call("GET", "/products/_count", "");
  const auto parsed = dialect.parse(request);
  ASSERT_TRUE(parsed);
  const auto plan = dialect.plan(request, *parsed, 3);
  ASSERT_TRUE(plan) << plan.error().reason;
  constexpr std::string_view kReply =
      R"({"took":2,"timed_out":false,"hits":{"total":40,"total_relation":"eq","hits":[]}})";
  const std::array<ShardReply, 3> replies{{{kReply}, {}, {kReply}}};
  std::string out;
  ASSERT_FALSE(merge(*plan, replies, {}, out));
  EXPECT_EQ(out, R"({"count":80,"_shards":{"total":3,"successful":2,"skipped":0,"failed":1}})");
  out.clear();
  ASSERT_FALSE(merge(*plan, replies, {.warning = "shard 2: \"x\" is gone"}, out));
  EXPECT_EQ(out, R"({"count":80,"_shards":{"total":3,"successful":2,"skipped":0,"failed":1},)"
                 R"("warning":{"reason":"shard 2: \"x\" is gone"}})");
}

TEST(ManticoreElastic, ErrorsOfASearchHaveTheEnginesStatusAndShape) {
  const auto elastic = make_manticore_elastic({});
  const auto& dialect = *elastic;
  const Parsed parsed{.table = "products", .answer = PassedAnswer::elastic_error};
  const auto told = [&](std::string_view body) {
    return body_for_client(parsed, 400, body).value_or("as it came");
  };
  EXPECT_EQ(told("{\"error\":\"x\"}\n"),
            R"({"error":{"type":"parse_exception","reason":"x"},"status":400})");
  EXPECT_EQ(
      told(R"({"error":"table m_7: unknown column: \"n\""})"),
      R"({"error":{"type":"parse_exception","reason":"table products: unknown column: \"n\""},)"
      R"("status":400})");
  EXPECT_EQ(told(R"({"error":{"type":"y","reason":"x"},"status":400})"),
            R"({"error":{"type":"parse_exception","reason":"x"},"status":400})");
  for (const auto* same : {R"({"hits":{}})", R"({"error":)", ""})
    EXPECT_EQ(told(same), "as it came") << same;
  EXPECT_EQ(body_for_client(parsed, 200, R"({"error":"x"})"), std::nullopt);
  for (const std::string_view path : {"/products/_search", "/products/_count"}) {
    const auto request = elastic_call("POST", path, "{}");
    const auto read = dialect.parse(request);
    ASSERT_TRUE(read);
    for (const std::size_t shards : {1, 3}) {
      const auto plan = dialect.plan(request, *read, shards);
      ASSERT_TRUE(plan);
      EXPECT_EQ(refusal_status(*plan, 500, R"({"error":"unknown column: n"})"), 400);
      EXPECT_EQ(refusal_status(*plan, 400, "{}"), 400);
      EXPECT_EQ(refusal_status(*plan, 501, "{}"), 501);
    }
  }
  const auto refused = [&](int status) {
    std::string refusal;
    dialect.refuse(status, "no \"x\"", refusal);
    return refusal;
  };
  EXPECT_EQ(refused(400),
            R"({"error":{"type":"parse_exception","reason":"no \"x\""},"status":400})");
  EXPECT_EQ(refused(503), R"({"error":{"type":"Error","reason":"no \"x\""},"status":503})");
}

TEST(ManticoreElastic, AnUpdateIsSentAsTheEnginesOwnAndNamesTheClientsTable) {
  const auto elastic = make_manticore_elastic({});
  const auto& dialect = *elastic;
  const auto request = elastic_call("PUT", "/products/_doc/7", R"({"price":2})");
  const auto parsed = dialect.parse(request);
  ASSERT_TRUE(parsed) << parsed.error().reason;
  EXPECT_FALSE(parsed->read);
  std::string buffer;
  for (const auto& tables : {kMirrorTable, std::vector<std::string>{"products"}}) {
    const auto written = dialect.write(request, *parsed, tables, buffer);
    EXPECT_EQ(written.target, "/replace");
    EXPECT_EQ(written.body, R"({"table":")" + tables[0] + R"(","id":7,"doc":{"price":2}})");
  }
  const auto body =
      body_for_client(*parsed, 200, R"({"table":"mirror_table","id":7,"result":"updated"})");
  ASSERT_TRUE(body);
  EXPECT_EQ(*body, R"({"table":"products","id":7,"result":"updated"})");
}

// A server that does not have the document would make it.
TEST(ManticoreElastic, APartialReplacementKeepsItsPathWhereTheShardOfTheDocumentIsKnown) {
  const auto elastic = make_manticore_elastic({});
  const auto& dialect = *elastic;
  for (const auto* text : {R"({"doc":{"title":"a"}})", R"({"title":"a"} )"}) {
    const auto request = elastic_call("POST", "/products/_update/7", text);
    const auto parsed = dialect.parse(request);
    ASSERT_TRUE(parsed) << parsed.error().reason;
    std::string buffer;
    const auto sent = [&](const AgentRequest& written) {
      return fmt::format("{} {}", written.target, written.body);
    };
    const auto planned = [&](ShardLayout layout) {
      const auto plan = dialect.plan(request, *parsed, layout);
      return sent(write_planned(*plan, 0, kMirrorTable, buffer));
    };
    const std::string kept = R"(/mirror_table/_update/7 {"doc":{"title":"a"}})";
    EXPECT_EQ(sent(dialect.write(request, *parsed, kMirrorTable, buffer)), kept);
    EXPECT_EQ(planned({1, ShardBy::none, true}), kept);
    const auto by_id = dialect.plan(request, *parsed, {3, ShardBy::id});
    EXPECT_EQ(planned({3, ShardBy::id}), kept);
    EXPECT_EQ(by_id->asks(0) + by_id->asks(1) + by_id->asks(2), 1);
    EXPECT_EQ(planned(3), R"(/update {"table":"mirror_table","id":7,"doc":{"title":"a"}})");
  }
}

TEST(ManticoreElastic, AnUpdateOfSeveralShardsIsMergedAsTheEnginesOwn) {
  const auto elastic = make_manticore_elastic({});
  const auto& dialect = *elastic;
  const auto request = elastic_call("POST", "/products/_update/7", R"({"doc":{"price":2}})");
  const auto parsed = dialect.parse(request);
  ASSERT_TRUE(parsed) << parsed.error().reason;
  const auto plan = dialect.plan(request, *parsed, 2);
  ASSERT_TRUE(plan) << plan.error().reason;
  EXPECT_TRUE(plan->changes_data());
  std::string buffer;
  EXPECT_EQ(write_planned(*plan, 1, kMirrorTable, buffer).body,
            R"({"table":"mirror_table","id":7,"doc":{"price":2}})");
}

TEST(ManticoreElastic, SplitsAMultiSearchAndJoinsItsAnswers) {
  const auto parts = read_multi_search(elastic_call(
      "POST", "/products/_msearch", "\n{}\r\n{\"size\":1}\r\n\n{\"index\":[\"a\",\"b\"]}\n{}"));
  ASSERT_TRUE(parts);
  ASSERT_EQ(parts->size(), 2u);
  EXPECT_EQ((*parts)[0].tables, "products");
  EXPECT_EQ((*parts)[0].body, "{\"size\":1}\r");
  EXPECT_EQ((*parts)[1].tables, "a,b");
  EXPECT_EQ(read_multi_search(elastic_call("POST", "/_msearch", "{}\n{}"))->front().tables, "_all");
  std::string joined;
  const std::array<PartAnswer, 4> answers{
      PartAnswer{200, R"({"hits":1,"status": 200})"}, PartAnswer{404, R"({"error":"x"})"},
      PartAnswer{400, R"({"error":"y","status":400})"}, PartAnswer{502, "cut"}};
  append_responses(joined, elastic_call("POST", "/_msearch", ""), answers, Micros(2000));
  EXPECT_EQ(joined, R"({"took":2,"responses":[{"hits":1,"status": 200},{"error":"x","status":404},)"
                    R"({"error":"y","status":400},{"error":"no answer","status":502}]})");
  std::string filtered;
  append_responses(filtered,
                   elastic_call("POST", "/_msearch", "", "pretty&filter_path=took,responses.h*"),
                   answers, Micros(3000));
  EXPECT_EQ(filtered, R"({"took":3,"responses":[{"hits":1}]})");
  EXPECT_EQ(read_multi_search(elastic_call("POST", "/_msearch", "{}\n{}", "filter_path=-took"))
                .error()
                .status,
            400);

  auto part = elastic_call("POST", "/_search", R"({"index":"b"})");
  part.path_table = (*parts)[1].tables;
  EXPECT_EQ(translate_elastic(part).error().reason,
            R"(the line before the search names the table; leave out "table" and "index")");

  std::string many;
  for (int i = 0; i < 101; ++i) many += "{}\n{}\n";
  for (const std::string body : {"", "{}", "x\n{}", "{\"index\":1}\n{}", "{\"index\":[]}\n{}",
                                 "{}x\n{}", many.c_str(), "\n{\"query\":{}}\n\n{\"query\":{}}\n"})
    EXPECT_EQ(read_multi_search(elastic_call("POST", "/_msearch", body)).error().status, 400)
        << body;
}

constexpr std::string_view kElasticLines =
    "{\"index\":{\"_id\":\"1\"}}\r\n{\"price\":1}\r\n\n"
    "{\"create\":{\"_index\":\"Products\",\"_type\":\"_doc\",\"_id\":2}}\n{}\n"
    "{\"delete\":{\"_id\":\"3\"}}\n"
    "{\"update\":{\"_id\":\"4\"}}\n{\"doc\":{\"price\":4}}";

TEST(ManticoreElastic, ABulkIsSentAsTheEnginesOwn) {
  const auto elastic = make_manticore_elastic({});
  const auto& dialect = *elastic;
  const auto request = elastic_call("POST", "/products/_bulk", kElasticLines);
  const auto parsed = dialect.parse(request);
  ASSERT_TRUE(parsed) << parsed.error().reason;
  EXPECT_EQ(parsed->table, "products");
  EXPECT_FALSE(parsed->read);
  const auto plan = dialect.plan(request, *parsed, 1);
  ASSERT_TRUE(plan) << plan.error().reason;
  for (const bool is_planned : {true, false}) {
    std::string buffer;
    const auto written = is_planned ? write_planned(*plan, 0, kMirrorTable, buffer)
                                    : dialect.write(request, *parsed, kMirrorTable, buffer);
    EXPECT_EQ(written.method, "POST");
    EXPECT_EQ(written.target, "/bulk");
    EXPECT_EQ(written.content_type, "application/x-ndjson");
    std::string lines(written.body);
    std::erase(lines, '\n');
    EXPECT_EQ(lines, R"({"replace":{"table":"mirror_table","id":1,"doc":{"price":1}}})"
                     R"({"insert":{"table":"mirror_table","id":2,"doc":{}}})"
                     R"({"delete":{"table":"mirror_table","id":3}})"
                     R"({"update":{"table":"mirror_table","id":4,"doc":{"price":4}}})");
  }
  EXPECT_EQ(
      dialect.parse(elastic_call("PUT", "/_bulk", "{\"index\":{\"_index\":\"t\"}}\n{}\n"))->table,
      "t");
}

TEST(ManticoreElastic, ABulkMayHaveDocumentsWithAnIdInsideWhereOneMirrorGetsThem) {
  const auto elastic = make_manticore_elastic({});
  const auto request = elastic_call("POST", "/products/_bulk",
                                    "{\"index\":{\"_id\":\"5\"}}\n{\"n\":1,\"id\":\"a\"}\n"
                                    "{\"create\":{}}\n{\"ID\":7}\n");
  const auto parsed = elastic->parse(request);
  ASSERT_TRUE(parsed) << parsed.error().reason;
  const auto plan = elastic->plan(request, *parsed, 1);
  ASSERT_TRUE(plan) << plan.error().reason;
  std::string buffer;
  EXPECT_EQ(write_planned(*plan, 0, kMirrorTable, buffer).body,
            "{\"replace\":{\"table\":\"mirror_table\",\"id\":5,\"doc\":{\"n\":1,\"id\":\"a\"}}}\n"
            "{\"insert\":{\"table\":\"mirror_table\",\"doc\":{\"ID\":7}}}\n");
  for (const auto& layout : {ShardLayout(2, ShardBy::id), ShardLayout(1, ShardBy::none, true)}) {
    const auto refused = elastic->plan(request, *parsed, layout);
    ASSERT_FALSE(refused) << layout.shards;
    EXPECT_TRUE(refused.error().reason.starts_with("line 1 has an id in \"doc\""))
        << refused.error().reason;
  }
}

TEST(ManticoreElastic, ABulkOverShardsHasOneItemForEachLineInItsOrder) {
  const auto elastic = make_manticore_elastic({});
  const auto& dialect = *elastic;
  std::string body;
  for (int id = 1; id <= 12; ++id)
    body += fmt::format("{{\"index\":{{\"_id\":\"{}\"}}}}\n{{}}\n", id);
  const auto request = elastic_call("POST", "/products/_bulk", body);
  const auto parsed = dialect.parse(request);
  ASSERT_TRUE(parsed);
  const auto plan = dialect.plan(request, *parsed, {2, ShardBy::id});
  ASSERT_TRUE(plan) << plan.error().reason;
  std::string sent[2];
  for (std::size_t shard = 0; shard < 2; ++shard) {
    std::string buffer;
    sent[shard] = write_planned(*plan, shard, kMirrorTable, buffer).body;
  }
  // The second shard commits its first line only.
  const std::array<ChangeReply, 2> replies{
      ChangeReply{.shard = 0,
                  .done = true,
                  .status = 200,
                  .body = R"({"items":[],"current_line":9,"skipped_lines":0,"errors":false})"},
      ChangeReply{.shard = 1,
                  .done = false,
                  .status = 500,
                  .body = R"({"items":[],"current_line":2,"skipped_lines":1,"errors":true,)"
                          R"("error":"bad value"})",
                  .mirror = "m"}};
  std::string out;
  EXPECT_EQ(merge_changes(*plan, replies, out), 500);
  EXPECT_TRUE(out.starts_with(R"({"took":0,"errors":true,"items":[{"index":{"_index":"products")"))
      << out;
  std::size_t at = 0;
  bool first_of_second = true;
  for (int id = 1; id <= 12; ++id) {
    at = out.find(fmt::format(R"("_id":"{}",)", id), at);
    ASSERT_NE(at, out.npos) << id << out;
    const bool second = sent[1].contains(fmt::format("\"id\":{},", id));
    EXPECT_NE(second, sent[0].contains(fmt::format("\"id\":{},", id)));
    const bool fails = second && !std::exchange(first_of_second, false);
    const auto item = out.substr(at, out.find("}}", at) - at);
    EXPECT_EQ(item.contains("bad value"), fails) << item;
    EXPECT_EQ(item.contains(R"("result":"created")"), !fails) << item;
  }
  const auto hint = dialect.plan(request, *parsed, 2);
  ASSERT_FALSE(hint);
  EXPECT_TRUE(hint.error().reason.starts_with("line 1 ")) << hint.error().reason;
  EXPECT_TRUE(hint.error().reason.contains("shard_by = id"));
}

TEST(ManticoreElastic, AFilterLeavesThePartsOfABulkThatItNames) {
  const auto elastic = make_manticore_elastic({});
  const auto request = elastic_call("POST", "/products/_bulk", kElasticLines,
                                    "refresh=true&filter_path=errors,items.*.error.reason");
  const auto parsed = elastic->parse(request);
  ASSERT_TRUE(parsed) << parsed.error().reason;
  const auto answered = [&](std::string_view body, bool done) {
    const auto plan = elastic->plan(request, *parsed, 1);
    EXPECT_TRUE(plan);
    const std::array<ChangeReply, 1> replies{
        ChangeReply{.done = done, .status = done ? 200 : 500, .body = body, .mirror = "m"}};
    std::string out;
    EXPECT_EQ(merge_changes(*plan, replies, out), done ? 200 : 500);
    return out;
  };
  EXPECT_EQ(answered(R"({"items":[],"current_line":4,"skipped_lines":0,"errors":false})", true),
            R"({"errors":false})");
  const auto failed = answered(
      R"({"items":[],"current_line":3,"skipped_lines":1,"errors":true,"error":"bad"})", false);
  EXPECT_TRUE(failed.starts_with(R"({"errors":true,"items":[{"delete":{"error":{"reason":")") ||
              failed.starts_with(R"({"errors":true,"items":[{"update":{"error":{"reason":")"))
      << failed;
  EXPECT_FALSE(
      elastic->parse(elastic_call("POST", "/products/_bulk", kElasticLines, "filter_path=-items")));
}

TEST(ManticoreElastic, TheAnswerToABulkIsNotMuchLongerThanItsPlanSays) {
  const auto elastic = make_manticore_elastic({});
  const auto& dialect = *elastic;
  std::string body;
  for (int id = 1; id <= 1000; ++id) body += "{\"index\":{}}\n{}\n";
  const auto request = elastic_call("POST", "/products/_bulk", body);
  ShardLayout layout{2, ShardBy::id};
  layout.make_id = [id = std::uint64_t{1} << 62]() mutable { return ++id; };
  const auto parsed = dialect.parse(request);
  ASSERT_TRUE(parsed);
  const auto plan = dialect.plan(request, *parsed, layout);
  ASSERT_TRUE(plan) << plan.error().reason;
  const std::string_view done = R"({"items":[],"current_line":1,"skipped_lines":0,"errors":false})";
  // The text is cut within a character.
  const auto error = fmt::format(R"({{"error":"{}{}{}"}})", std::string(89, 'x'), "€€€€€€",
                                 std::string(1'000'000, 'y'));
  for (const bool fails : {false, true}) {
    const std::array<ChangeReply, 2> replies{
        ChangeReply{.shard = 0, .done = true, .status = 200, .body = done},
        ChangeReply{.shard = 1,
                    .done = !fails,
                    .status = fails ? 500 : 200,
                    .body = fails ? error : done,
                    .mirror = "m"}};
    std::string out;
    EXPECT_EQ(merge_changes(*plan, replies, out), fails ? 500 : 200);
    const auto size = merge_changes_size(*plan, replies);
    EXPECT_LE(out.size(), fails ? size : size + size / 10);
    EXPECT_GE(out.size(), 150'000U);
    if (!fails) {
      EXPECT_LE(size, out.size() + out.size() / 4);
      continue;
    }
    // The first failed line has the whole reason, the others its beginning.
    const auto whole = out.find("€€€€€€yyyyy");
    ASSERT_NE(whole, out.npos);
    EXPECT_EQ(out.find("€€€€", whole + 100), out.npos);
    EXPECT_NE(out.find("xx€€€\"}", whole + 100), out.npos) << out.substr(whole, 2000);
    EXPECT_EQ(out.find("\xEF\xBF\xBD"), out.npos);
  }
}

TEST(ManticoreElastic, ABulkThatIsWrongNamesTheLine) {
  struct Case {
    std::string_view body;
    std::string_view reason;
  };
  const std::string deep = "{\"index\":{}}\n{}\n{\"index\":{}}\n{\"a\":" + std::string(200, '[') +
                           std::string(200, ']') + "}\n";
  for (const auto& [body, reason] :
       {Case{"", "the body is empty"},
        Case{"{\"index\":{}}\n{}\nx\n", "line 3 is not a JSON"},
        Case{"{\"index\":{}}\n{} x\n", "line 2 must be the document"},
        Case{"{\"index\":{}}\n\n{}\n", "line 2 must be the document"},
        Case{"{\"index\":{}}\n", "line 1 has no line with a document"},
        Case{"{\"index\":{},\"delete\":{}}\n{}\n", "line 1 must hold one action"},
        Case{"{\"replace\":{}}\n{}\n", "line 1 holds \"replace\""},
        Case{"{\"index\":{\"_index\":\"a\",\"_inde\\u0078\":\"b\"}}\n{}\n",
             "line 1 gives \"_index\" twice"},
        Case{"{\"index\":{\"_index\":[\"a\"]}}\n{}\n", "line 1 has an _index"},
        Case{"{\"index\":{\"_id\":\"a\"}}\n{}\n", "line 1 has the _id \"a\""},
        Case{"{\"index\":{\"_id\":-1}}\n{}\n", "line 1 has the _id -1"},
        Case{"{\"index\":{\"_id\":\"007\"}}\n{}\n", "line 1 has the _id \"007\""},
        Case{"{\"index\":{\"_id\":18446744073709551616}}\n{}\n", "line 1 has the _id 1844"},
        Case{"{\"index\":{\"routing\":\"a\"}}\n{}\n", "line 1 holds \"routing\""},
        Case{"{\"delete\":{}}\n", "line 1 needs an _id for delete"},
        Case{"{\"index\":{}}\n{}\n{\"index\":{\"_index\":\"b\"}}\n{}\n",
             "line 3 names table \"b\""},
        Case{"{\"update\":{\"_id\":1}}\n{\"doc\":{},\"doc_as_upsert\":true}\n",
             "line 2 must hold only \"doc\""},
        Case{"{\"index\":{}}\n{\"a\":\r{}}\n", "line 2 is not JSON: "},
        Case{"{\"index\":{}}\n{\"a\":\"\\ud800\"}\n", "line 2 is not JSON: "},
        Case{deep, "line 4 nests deeper than max_json_depth"}}) {
    const auto elastic = make_manticore_elastic({});
    const auto& dialect = *elastic;
    const auto parsed = dialect.parse(elastic_call("POST", "/products/_bulk", body));
    ASSERT_FALSE(parsed) << body;
    EXPECT_EQ(parsed.error().status, 400);
    EXPECT_TRUE(parsed.error().reason.starts_with(reason)) << parsed.error().reason;
    EXPECT_FALSE(parsed.error().reason.contains("offset")) << parsed.error().reason;
  }
}

}  // namespace
}  // namespace karmad
