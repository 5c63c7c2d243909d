#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "demo/data/text.hpp"
#include "demo/engine/membership.hpp"
#include "tests/demo/shop.hpp"

namespace karmad::demo {
namespace {

std::string body(std::string_view rest) {
  return fmt::format(R"({{"table":"products"{}{}}})", rest.empty() ? "" : ",", rest);
}

TEST(Search, AnswersInTheShapeOfThePeer) {
  const auto answer =
      ask(whole_shop(), body(R"("query":{"equals":{"id":7}},"_source":["price","rating","tags"])"));
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(answer.body.starts_with(R"({"took":)")) << answer.body;
  const auto rest = answer.body.substr(answer.body.find(",\"timed_out\""));
  const auto& seventh = whole_shop().index().documents()[6];
  EXPECT_EQ(rest, fmt::format(R"(,"timed_out":false,"hits":{{"total":1,"total_relation":"eq",)"
                              R"("hits":[{{"_id":7,"_score":1,"_source":{{"price":{},)"
                              R"("rating":{:.6f},"tags":[{}]}}}}]}}}})",
                              seventh.price, seventh.rating, fmt::join(seventh.tags, ",")));
}

TEST(Search, WithoutQueryFindsAllWithScoreOneById) {
  const auto answer = ask(whole_shop(), body(R"("limit":3)"));
  EXPECT_EQ(total_of(answer), 4000U);
  EXPECT_EQ(ids_of(answer), (std::vector<std::uint64_t>{1, 2, 3}));
  EXPECT_EQ(hits_of(answer)[0].score, 1);
}

TEST(Search, BestScoreFirstAndTiesById) {
  const auto hits = hits_of(ask(whole_shop(), body(R"("query":{"match":{"title":"lamp"}},)"
                                                   R"("limit":200)")));
  ASSERT_EQ(hits.size(), 200U);
  std::size_t ties = 0;
  for (std::size_t i = 1; i < hits.size(); ++i) {
    EXPECT_GE(hits[i - 1].score, hits[i].score);
    if (hits[i - 1].score != hits[i].score) continue;
    ++ties;
    EXPECT_LT(hits[i - 1].id, hits[i].id);
  }
  EXPECT_GT(ties, 50U);
}

TEST(Search, TermsAreWordsOfAField) {
  const auto of = [](std::string_view query) {
    return total_of(ask(whole_shop(), body(fmt::format(R"("query":{})", query))));
  };
  const auto lamps = of(R"({"match":{"title":"lamp"}})");
  EXPECT_GT(lamps, 0U);
  EXPECT_EQ(of(R"({"term":{"title":"Lamp"}})"), lamps);
  EXPECT_EQ(of(R"({"term":{"title":{"value":"lamp"}}})"), lamps);
  EXPECT_EQ(of(R"({"terms":{"title":["lamp","nosuchword"]}})"), lamps);
  EXPECT_EQ(of(R"({"terms":{"title":["lamp","bag"]}})"), of(R"({"match":{"title":"lamp bag"}})"));
  EXPECT_EQ(ask(whole_shop(), body(R"("query":{"terms":{"title":["lamp",5]}})")).status, 400);
}

TEST(Search, ScoresAreOneUnlessTheSortUsesThemOrTheyAreTracked) {
  struct Case {
    std::string_view rest;
    bool scored;
  };
  for (const auto& [rest, scored] :
       {Case{R"("sort":["price"])", false}, Case{R"("sort":["price"],"track_scores":true)", true},
        Case{R"("sort":["price","_score"])", true}, Case{R"("limit":5)", true}}) {
    const auto hits = hits_of(
        ask(whole_shop(), body(fmt::format(R"("query":{{"match":{{"*":"lamp"}}}},{})", rest))));
    EXPECT_EQ(hits.at(0).score > 1, scored) << rest;
  }
}

// What the end-to-end tests rest on: the halves give each document the score of the whole.
TEST(Search, TwoHalvesGiveTheSameAnswerAsTheWhole) {
  const std::vector<std::string_view> queries{
      R"({"match_all":{}})",
      R"({"match":{"title":"lamp"}})",
      R"({"match":{"title,body":"oak folding kitchen"}})",
      R"({"match":{"*":{"query":"oak lamp","operator":"and"}}})",
      R"({"match_phrase":{"body":"goes well with"}})",
      R"({"query_string":"@title (lamp|chair) -oak"})",
      R"({"bool":{"must":[{"match":{"body":"steel"}},{"range":{"price":{"lt":100}}}],)"
      R"j("should":[{"match":{"title":"chair"}}],"must_not":[{"in":{"any(tags)":[1,2]}}]}})j",
      R"({"equals":{"brand":"AURORA"}})",
  };
  for (const auto query : queries) {
    const auto text = body(fmt::format(R"("query":{},"limit":1000)", query));
    const auto whole = ask(whole_shop(), text);
    auto both = hits_of(ask(half_shop(0), text));
    const auto second = hits_of(ask(half_shop(1), text));
    EXPECT_FALSE(both.empty()) << query;
    EXPECT_FALSE(second.empty()) << query;
    EXPECT_EQ(total_of(whole),
              total_of(ask(half_shop(0), text)) + total_of(ask(half_shop(1), text)));
    both.insert(both.end(), second.begin(), second.end());
    std::sort(both.begin(), both.end(), [](const HitRow& a, const HitRow& b) {
      return a.score != b.score ? a.score > b.score : a.id < b.id;
    });
    both.resize(std::min<std::size_t>(both.size(), 1000));
    EXPECT_EQ(hits_of(whole), both) << query;
  }
}

TEST(Search, FindsExactlyTheDocumentsThatHoldTheWords) {
  const auto holds = [](const std::string& text, std::string_view word) {
    const auto all = words(text);
    return std::find(all.begin(), all.end(), word) != all.end();
  };
  std::size_t any = 0;
  std::size_t both = 0;
  std::size_t without = 0;
  for (const auto& document : whole_shop().index().documents()) {
    const bool lamp = holds(document.title, "lamp");
    const bool oak = holds(document.title, "oak");
    any += lamp || oak;
    both += lamp && oak;
    without += lamp && !oak;
  }
  EXPECT_GT(both, 0U);
  const auto total = [](std::string_view query) {
    return total_of(ask(whole_shop(), body(fmt::format(R"("query":{},"limit":0)", query))));
  };
  EXPECT_EQ(total(R"({"match":{"title":"OAK lamp"}})"), any);
  EXPECT_EQ(total(R"({"match":{"title":{"query":"oak lamp","operator":"and"}}})"), both);
  EXPECT_EQ(total(R"({"query_string":"@title oak lamp"})"), both);
  EXPECT_EQ(total(R"({"query_string":"@title lamp -oak"})"), without);
  EXPECT_EQ(total(R"j({"query_string":"@title (oak | lamp)"})j"), any);
  EXPECT_EQ(total(R"({"bool":{"should":[{"match":{"title":"oak"}},{"match":{"title":"lamp"}}]}})"),
            any);
}

TEST(Search, FiltersKeepIdsBeyondTheReachOfADouble) {
  // The neighbours 9007199254741008 and 9007199254741009 are one number as doubles.
  const auto found =
      ids_of(ask(whole_shop(), body(R"("query":{"equals":{"id":9007199254741008}})")));
  EXPECT_EQ(found, std::vector<std::uint64_t>{9007199254741008U});
  EXPECT_TRUE(
      ids_of(ask(whole_shop(), body(R"("query":{"equals":{"id":9007199254741009}})"))).empty());
}

TEST(Search, FiltersLookAtAllKindsOfColumns) {
  const auto documents = whole_shop().index().documents();
  const auto count = [&](auto wanted) {
    return static_cast<std::uint64_t>(std::count_if(documents.begin(), documents.end(), wanted));
  };
  const auto total = [](std::string_view query) {
    return total_of(ask(whole_shop(), body(fmt::format(R"("query":{},"limit":0)", query))));
  };
  EXPECT_EQ(total(R"({"range":{"price":{"gte":99,"lt":200}}})"),
            count([](auto& d) { return d.price >= 99 && d.price < 200; }));
  EXPECT_EQ(total(R"({"range":{"rating":{"gt":2.5,"lte":3}}})"),
            count([](auto& d) { return d.rating > 2.5F && d.rating <= 3; }));
  EXPECT_EQ(total(R"({"in":{"brand":["aurora","FJORD"]}})"),
            count([](auto& d) { return d.brand == "Aurora" || d.brand == "fjord"; }));
  EXPECT_EQ(total(R"j({"equals":{"all(tags)":3}})j"),
            count([](auto& d) { return d.tags == std::vector<std::int64_t>{3}; }));
  EXPECT_EQ(total(R"j({"equals":{"any(tags)":3}})j"), count([](auto& d) {
              return std::find(d.tags.begin(), d.tags.end(), 3) != d.tags.end();
            }));
  EXPECT_EQ(total(R"({"range":{"meta.n":{"gte":5}}})"),
            count([](auto& d) { return (*d.meta)["n"].GetInt64() >= 5; }));
}

TEST(Search, WarnsOfBareFiltersOnMultiValuedColumns) {
  const auto answer = json_of(ask(whole_shop(), body(R"("query":{"in":{"tags":[3]}},"limit":1)")));
  ASSERT_TRUE(answer.HasMember("warning"));
  EXPECT_STREQ(answer["warning"]["reason"].GetString(),
               "table products: use an explicit ANY()/ALL() around a filter on MVA column");
}

TEST(Search, SortsStringsWithoutRegardToCaseAndTiesById) {
  const auto documents = whole_shop().index().documents();
  std::vector<std::pair<std::string, std::uint64_t>> expected;
  for (const auto& document : documents)
    expected.emplace_back(lower_case(document.seller), document.id);
  std::sort(expected.begin(), expected.end());
  const auto found =
      ids_of(ask(whole_shop(), body(R"("sort":"seller","limit":4000,"max_matches":4000)")));
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], expected[i].second) << i;
}

TEST(Search, UnderstandsAllFormsOfSort) {
  const auto ids = [](std::string_view sort) {
    return ids_of(ask(whole_shop(), body(fmt::format(R"("sort":{},"limit":50)", sort))));
  };
  const auto cheap = ids(R"([{"price":"asc"},{"id":"desc"}])");
  EXPECT_EQ(cheap, ids(R"({"price":{"order":"asc"},"id":{"order":"desc"}})"));
  EXPECT_EQ(cheap, ids(R"(["price",{"id":"desc"}])"));
  EXPECT_NE(cheap, ids(R"(["price"])"));
  EXPECT_NE(ids(R"([{"tags":{"order":"desc","mode":"max"}}])"),
            ids(R"([{"tags":{"order":"desc","mode":"min"}}])"));
  EXPECT_EQ(ids(R"([{"id":"desc"}])").front(), 9007199254740992U + 4000);
}

TEST(Search, PagesByEitherNameAndEndsAtMaxMatches) {
  struct Case {
    std::string_view rest;
    std::vector<std::uint64_t> ids;
  };
  for (const auto& [rest, ids] :
       std::vector<Case>{{R"("limit":2,"offset":3)", {4, 5}},
                         {R"("size":2,"from":3,"sort":["id"])", {4, 5}},
                         {R"("limit":5,"offset":3,"max_matches":5)", {4, 5}},
                         {R"("limit":9,"max_matches":2)", {1, 2}},
                         {R"("limit":5,"offset":1000)", {}},
                         {R"("limit":5,"offset":99999,"max_matches":100000)", {}},
                         {R"("limit":0)", {}}}) {
    const auto answer = ask(whole_shop(), body(rest));
    EXPECT_EQ(ids_of(answer), ids) << rest;
    EXPECT_EQ(total_of(answer), 4000U) << rest;
  }
}

TEST(Search, ACutOffMakesTheTotalALowerBound) {
  const auto answer = json_of(ask(whole_shop(), body(R"("cutoff":10,"limit":0)")));
  EXPECT_EQ(answer["hits"]["total"].GetUint64(), 10U);
  EXPECT_STREQ(answer["hits"]["total_relation"].GetString(), "gte");
}

TEST(Search, ShowsTheColumnsOfSourceInTheTablesOrder) {
  const auto names = [](std::string_view source) {
    const auto json =
        json_of(ask(whole_shop(), body(fmt::format(R"("limit":1,"_source":{})", source))));
    std::string out;
    for (const auto& member : json["hits"]["hits"][0]["_source"].GetObject())
      out.append(out.empty() ? "" : " ").append(member.name.GetString());
    return out;
  };
  EXPECT_EQ(names(R"(["price","brand","title"])"), "title price brand");
  EXPECT_EQ(names(R"("*")"),
            "title body price rating brand seller tags meta ts stock weight lat lon embedding");
  EXPECT_EQ(names(R"({"includes":["p*","brand"],"excludes":["pr*"]})"), "brand");
  EXPECT_EQ(names(R"({"excludes":["t*","body"]})"),
            "price rating brand seller meta stock weight lat lon embedding");
  EXPECT_EQ(names(R"(["meta.color","ts"])"), "ts meta.color");
  EXPECT_EQ(names("false"), "");
  EXPECT_EQ(names("[]"), names("\"*\""));  // as the search server does
}

TEST(Search, HighlightsTheWordsInTheFieldsAsked) {
  const auto json = json_of(
      ask(whole_shop(), body(R"("query":{"match":{"title":"lamp"}},"limit":1,"highlight":)"
                             R"({"fields":["title"],"pre_tags":"<i>","post_tags":"</i>"})")));
  const auto& marked = json["hits"]["hits"][0]["highlight"];
  ASSERT_EQ(marked.MemberCount(), 1U);
  EXPECT_NE(std::string(marked["title"][0].GetString()).find("<i>lamp</i>"), std::string::npos);
}

TEST(Search, RefusesWithTheStatusAndWordsOfThePeer) {
  struct Case {
    std::string_view body;
    int status;
    std::string_view words;
  };
  const std::string deep = R"({"table":"products","query":)" + std::string(100'000, '[');
  for (const auto& [text, status, words] : {
           Case{R"({"table":"products", )", 400, "unable to parse"},
           Case{"", 400, "unable to parse"},
           Case{deep, 400, "unable to parse"},
           Case{R"({"query":{"match_all":{}}})", 400, "\"table\" property missing"},
           Case{R"({"table":5})", 400, "should be a string"},
           Case{R"({"table":"nope"})", 500, "unknown local table(s) 'nope' in search request"},
           Case{R"({"table":"products","query":{"equals":{"x":1}}})", 500,
                "table products: unknown column: x"},
           Case{R"({"table":"products","query":{"equals":{"price":"x"}}})", 500,
                "unsupported filter type"},
           Case{R"({"table":"products","query":{"nonsense":{}}})", 400, "unknown query type"},
           Case{R"({"table":"products","limit":"x"})", 400,
                "\"limit\" property value should be an integer"},
           Case{R"({"table":"products","limit":-1})", 400, "negative"},
           Case{R"({"table":"products","sort":["x"]})", 500, "sort-by attribute 'x' not found"},
           Case{R"({"table":"products","options":{"foo":1}})", 400, "unknown option 'foo'"},
           Case{R"({"table":"products","query":{"query_string":"mirror \"("}})", 500,
                "table products: query error: P08: syntax error, unexpected $end near ''"},
           Case{R"j({"table":"products","query":{"query_string":"a)"}})j", 500,
                "P08: syntax error"},
           Case{R"({"table":"products","query":{"match":{"price":"1"}}})", 500, "no field 'price'"},
           Case{R"({"table":"products","query":[]})", 400, "should be an object"},
           Case{R"({"table":"products","query":{"geo_distance":"a"}})", 400, "needs a distance"},
           Case{R"({"table":"products","expressions":{"a":1}})", 400, "should be a string"},
       }) {
    const auto answer = ask(whole_shop(), std::string(text));
    EXPECT_EQ(answer.status, status) << text.substr(0, 80);
    const auto json = json_of(answer);
    ASSERT_TRUE(json.HasMember("error")) << answer.body;
    EXPECT_NE(std::string_view(json["error"].GetString()).find(words), std::string_view::npos)
        << answer.body;
  }
}

TEST(Search, IgnoresUnknownPropertiesAndKnownOptions) {
  const auto answer =
      ask(whole_shop(), body(R"("limit":1,"blah":1,"options":{"retry_count":1,"ranker":"bm25"})"));
  EXPECT_EQ(answer.status, 200) << answer.body;
}

TEST(Routes, KnowTheirPathsAndMethods) {
  struct Case {
    std::string_view method, path;
    int status;
  };
  for (const auto& [method, path, status] :
       {Case{"GET", "/", 200}, Case{"HEAD", "/", 200}, Case{"GET", "/healthz", 200},
        Case{"GET", "/hello", 200}, Case{"POST", "/hello", 405}, Case{"GET", "/insert", 405},
        Case{"POST", "/bulk", 400}, Case{"POST", "/", 405}, Case{"GET", "/search", 405},
        Case{"POST", "/json/search", 400}, Case{"DELETE", "/sql", 405},
        Case{"GET", "/nowhere", 404}}) {
    const auto answer =
        whole_shop().answer({std::string(method), std::string(path), {}, {}}, {}, 0);
    EXPECT_EQ(answer.status, status) << method << " " << path;
    EXPECT_EQ(answer.allow.empty(), status != 405);
  }
}

}  // namespace
}  // namespace karmad::demo
