// Searches by the vector of a document over two shards: karmad reads the vector first.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <regex>

#include "tests/support/cluster.hpp"
#include "tests/support/fake_set.hpp"

namespace karmad::test {
namespace {

constexpr std::string_view kNear = R"({"table":"t","knn":{"field":"v","doc_id":7,"k":2}})";

bool reads_vector(const std::string& request) {
  return request.find("knn") == request.npos && request.find("KNN") == request.npos;
}

std::string search_answer(std::string_view hits, int total) {
  return fmt::format(R"({{"took":0,"timed_out":false,"hits":{{"total":{},"total_relation":"eq",)"
                     R"("hits":[{}]}}}})",
                     total, hits);
}

std::string near_hit(int id, std::string_view distance) {
  return fmt::format(R"({{"_id":{},"_score":1,"_knn_dist":{},"_source":{{}}}})", id, distance);
}

/// A mirror that answers the request for the vector with the source of a hit, or without a hit, and
/// the search with one hit.
FakeMirror::React mirror_with(std::string_view source, int id, std::string_view distance) {
  const auto vector = source.empty()
                          ? search_answer("", 0)
                          : search_answer(fmt::format(R"({{"_id":7,"_source":{}}})", source), 1);
  const auto found = search_answer(near_hit(id, distance), 1);
  return [=](const std::string& request) { return json(reads_vector(request) ? vector : found); };
}

constexpr std::string_view kVector = R"({"v":[0.25,-1e-7]})";

std::string two_shards(std::string_view first, std::string_view second,
                       std::string_view more = "") {
  return fmt::format("table t {{\n type = distributed\n agent = {}\n agent = {}\n {}\n}}\n", first,
                     second, more);
}

std::string table_at(const FakeMirror& mirror) {
  return mirror.address() + ":s";
}

TEST(NearestToDocument, OverShardsEqualsTheAnswerOfOneAgentWithEverything) {
  const DemoAgent first("0/2");
  const DemoAgent second("1/2");
  const DemoAgent whole("0/1");
  const Master master("workers = 2",
                      fmt::format("table products {{\n type = distributed\n"
                                  " agent = {}:products\n agent = {}:products\n}}\n"
                                  "table alone {{\n type = distributed\n"
                                  " agent = {}:products\n}}\n",
                                  first.address(), second.address(), whole.address()));
  const auto answers = [&](std::string_view path, std::string_view text) {
    std::string out[2];
    for (const std::string_view table : {"products", "alone"}) {
      auto body = std::string(text);
      for (auto at = body.find("$T"); at != body.npos; at = body.find("$T"))
        body.replace(at, 2, table);
      auto answer = post(master.port(), path, body).body;
      for (auto at = answer.find(table); at != answer.npos; at = answer.find(table))
        answer.replace(at, table.size(), "$T");
      static const std::regex own(R"x("took":\d+|"_shards":\{[^}]*\}| \([0-9.]+ sec\))x");
      out[table == "alone" ? 1 : 0] = std::regex_replace(answer, own, "");
    }
    return std::pair(out[0], out[1]);
  };
  const struct {
    std::string_view path;
    std::string_view body;
  } cases[] = {
      {"/search", R"({"table":"$T","knn":{"field":"embedding","k":9,"doc_id":77}})"},
      {"/json/search", R"({"index":"$T","knn":{"field":"EMBEDDING","k":9,"doc_id":78}})"},
      {"/search",
       R"({"table":"$T","knn":{"field":"embedding","k":9,"doc_id":99999},"aggs":{"a":{"terms":{"field":"brand"}}}})"},
      {"/search",
       R"j({"table":"$T","knn":{"field":"embedding","k":9,"doc_id":77},"sort":[{"knn_dist()":"desc"}],"limit":4})j"},
      {"/_search", R"({"index":"$T","knn":{"field":"embedding","k":9,"doc_id":77},"size":3})"},
      {"/_msearch",
       "{\"index\":\"$T\"}\n{\"knn\":{\"field\":\"embedding\",\"k\":3,\"doc_id\":77}}\n"
       "{\"index\":\"$T\"}\n{\"size\":1,\"sort\":[\"id\"]}\n"},
      {"/sql?mode=raw", "SELECT id, KNN_DIST() FROM $T WHERE KNN(embedding, 9, 77) AND price>50"},
      {"/cli_json", "SELECT id FROM $T WHERE KNN(embedding, 9, 77) ORDER BY price DESC LIMIT 4"},
      {"/cli", "SELECT id, title FROM $T WHERE KNN(embedding, 9, 77)"},
      {"/sql", "SELECT id, title FROM $T WHERE KNN(embedding, 9, 77)"},
      {"/sql?mode=raw",
       "SELECT brand, COUNT(*) FROM $T WHERE KNN(embedding, 5000, 77) GROUP BY "
       "brand ORDER BY brand ASC"},
  };
  for (const auto& [path, body] : cases) {
    const auto [found, expected] = answers(path, body);
    EXPECT_EQ(found, expected) << path << " " << body;
    EXPECT_FALSE(found.contains("error\":{")) << found;
  }
  const auto [none, of_one] =
      answers("/sql?mode=raw", "SELECT id FROM $T WHERE KNN(embedding, 9, 99999)");
  EXPECT_EQ(none, R"([{"total":0,"error":"","warning":""}])") << "the agent adds the columns";
  EXPECT_TRUE(of_one.contains("\"data\":[\n]")) << of_one;
  const auto [unknown, by_agent] =
      answers("/search", R"({"table":"$T","knn":{"field":"nosuch","k":9,"doc_id":77}})");
  EXPECT_TRUE(by_agent.contains("attribute 'nosuch' not found")) << by_agent;
  EXPECT_TRUE(unknown.contains("the attribute nosuch of the document 77 is missing")) << unknown;
}

TEST(NearestToDocument, AsksAllShardsInBothRoundsAsOneQuery) {
  FakeMirror first(mirror_with("", 1, "0.5"));
  FakeMirror second(mirror_with(kVector, 2, "0.25"));
  const Master master("ha_ping_interval = 0\n workers = 1",
                      two_shards(table_at(first), table_at(second)));
  const auto answer = master.search(kNear, "X-Karmad-Trace: 1\r\nX-Karmad-Explain: 1\r\n");
  EXPECT_EQ(without_took(answer.body),
            without_took(search_answer(near_hit(2, "0.25") + "," + near_hit(1, "0.5"), 2)));
  for (const auto* mirror : {&first, &second}) {
    ASSERT_EQ(mirror->requests(), 2U);
    EXPECT_TRUE(reads_vector(mirror->seen().front()));
    EXPECT_TRUE(mirror->seen().back().contains(R"("query_vector":[0.25,-1e-7],"k":3)"));
  }
  EXPECT_EQ(master.count("queries"), 1);
  EXPECT_EQ(master.count("dist_queries"), 1);
  const auto times = [](const std::string& text, std::string_view word) {
    int found = 0;
    for (auto at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++found;
    return found;
  };
  const auto& trace = answer.fields.at("x-karmad-trace");
  EXPECT_EQ(times(trace, first.address()), 2) << trace;
  EXPECT_EQ(times(trace, second.address()), 2) << trace;
  const auto& explanation = answer.fields.at("x-karmad-explain");
  EXPECT_EQ(times(explanation, R"("chosen":)"), 4) << explanation;
}

TEST(NearestToDocument, ReadsTheVectorOnlyAtTheShardOfTheId) {
  // The id 7 belongs to one of the two.
  FakeMirror first(mirror_with(kVector, 1, "0.5"));
  FakeMirror second(mirror_with(kVector, 2, "0.25"));
  const Master master("ha_ping_interval = 0", two_shards(table_at(first), table_at(second),
                                                         "shard_by = id\n updates = any"));
  EXPECT_TRUE(master.search(kNear).body.contains(R"("total":2)"));
  EXPECT_EQ(first.requests() + second.requests(), 3U);
}

/// A mirror that answers a statement for the vector of the document, and a search with one row.
FakeMirror::React sql_mirror_with(int id, std::string_view distance) {
  const std::string vector =
      R"([{"columns":[{"v":{"type":"string"}}],"data":[{"v":"0.25,-1e-7"}],"total":1,"error":""}])";
  const auto found = fmt::format(
      R"([{{"columns":[{{"id":{{"type":"long long"}}}},{{"karmad_0":{{"type":"float"}}}}],)"
      R"("data":[{{"id":{},"karmad_0":{}}}],"total":1,"error":""}},)"
      R"({{"columns":[{{"Variable_name":{{"type":"string"}}}},{{"Value":{{"type":"string"}}}}],)"
      R"("data":[{{"Variable_name":"total_found","Value":"1"}}],"total":1,"error":""}}])",
      id, distance);
  return [=](const std::string& request) { return json(reads_vector(request) ? vector : found); };
}

TEST(NearestToDocument, InSqlReadsTheVectorOnlyAtTheShardOfTheId) {
  FakeMirror first(sql_mirror_with(1, "0.5"));
  FakeMirror second(sql_mirror_with(2, "0.25"));
  const Master master("ha_ping_interval = 0", two_shards(table_at(first), table_at(second),
                                                         "shard_by = id\n updates = any"));
  const auto answer = post(master.port(), "/sql?mode=raw", "SELECT id FROM t WHERE KNN(v,2,7)");
  EXPECT_TRUE(answer.body.contains("{\"id\":2},\n{\"id\":1}")) << answer.body;
  int read = 0;
  for (const auto* mirror : {&first, &second})
    for (const auto& request : mirror->seen()) read += reads_vector(request) ? 1 : 0;
  EXPECT_EQ(read, 1);
  EXPECT_EQ(first.requests() + second.requests(), 3U);
}

TEST(NearestToDocument, AsksAnotherMirrorWhereAReplyIsMalformed) {
  for (const std::string_view source : {"[]", "7", R"({"v":[NaN]})", R"({"v":[1,]})"}) {
    FakeMirror odd(mirror_with(source, 2, "0.25"));
    FakeMirror good(mirror_with(kVector, 2, "0.25"));
    FakeMirror other(mirror_with("", 1, "0.5"));
    const Master master(
        "ha_ping_interval = 0\n workers = 1\n agent_retry_count = 3\n agent_retry_delay = 1",
        two_shards(table_at(other), table_at(odd) + "|" + table_at(good),
                   "ha_strategy = roundrobin"));
    for (int round = 0; round < 2; ++round) {
      const auto answer = master.search(kNear);
      EXPECT_TRUE(answer.body.contains(R"("total":2)")) << source << answer.body;
    }
    EXPECT_EQ(master.count("queries_failed"), 0) << source;
    EXPECT_GE(odd.requests(), 1U);
  }
}

TEST(NearestToDocument, SaysThatAnAttributeIsNoVectorAndBlamesNoMirror) {
  const auto large = fmt::format(R"({{"v":[{}]}})", std::string(10'000'000, '1'));
  FakeMirror other(mirror_with("", 1, "0.5"));
  for (const std::string_view source :
       {std::string_view(R"({"v":7})"), std::string_view(R"({"v":"0.1,nan"})"),
        std::string_view(R"({"w":[1]})"), std::string_view(large)}) {
    FakeMirror odd(mirror_with(source, 2, "0.25"));
    const Master master("ha_ping_interval = 0", two_shards(table_at(other), table_at(odd)));
    const auto answer = master.search(kNear);
    EXPECT_EQ(answer.status, 400);
    EXPECT_TRUE(answer.body.contains("the attribute v of the document 7")) << answer.body;
    EXPECT_EQ(master.count("ag_1_errorsarow", "SHOW AGENT STATUS"), 0);
    EXPECT_EQ(master.count("queries_failed"), 1);
    EXPECT_EQ(master.count("bad_requests"), 0);
    EXPECT_EQ(odd.requests(), 1U);
  }
}

TEST(NearestToDocument, SaysWhichShardCouldNotBeReadForTheVector) {
  FakeMirror odd(mirror_with("7", 2, "0.25"));
  FakeMirror other(mirror_with("", 1, "0.5"));
  const Master master("ha_ping_interval = 0\n agent_retry_count = 0",
                      two_shards(table_at(other), table_at(odd)));
  const auto answer = master.search(kNear);
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(answer.body.contains("a hit is malformed")) << answer.body;
  EXPECT_TRUE(answer.body.contains(R"("hits":[])")) << answer.body;
  EXPECT_EQ(master.search(kNear, "X-Partial-Results: deny\r\n").status, 503);
  EXPECT_EQ(other.requests(), 2U) << "without a vector no shard is searched";
}

TEST(NearestToDocument, FindsNothingIfTheShardOfTheIdFailsAndWarns) {
  const auto fails = [](const std::string&) { return json(R"({"error":"x"})", 503); };
  FakeMirror first(fails);
  FakeMirror second(fails);
  const Master master(
      "ha_ping_interval = 0\n agent_retry_count = 0",
      two_shards(table_at(first), table_at(second), "shard_by = id\n updates = any"));
  const auto answer = master.search(kNear);
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_TRUE(answer.body.contains(R"("warning":{"reason":"table t: shard )")) << answer.body;
  EXPECT_TRUE(answer.body.contains(R"("hits":[])")) << answer.body;
  EXPECT_EQ(master.search(kNear, "X-Partial-Results: deny\r\n").status, 502);
  const auto sql = post(master.port(), "/sql?mode=raw", "SELECT id FROM t WHERE KNN(v,2,7)");
  EXPECT_EQ(sql.status, 200) << sql.body;
  EXPECT_TRUE(sql.body.contains("\"total\":0")) << sql.body;
  EXPECT_EQ(master.search(R"({"table":"t"})").status, 502) << "no shard has answered";
}

TEST(NearestToDocument, LacksAShardThatFailsInTheSecondRoundOnly) {
  FakeMirror first([](const std::string& request) {
    return reads_vector(request) ? json(search_answer("", 0)) : json(R"({"error":"x"})", 503);
  });
  FakeMirror second(mirror_with(kVector, 2, "0.25"));
  const Master master("ha_ping_interval = 0\n agent_retry_count = 0",
                      two_shards(table_at(first), table_at(second)));
  const auto answer = master.search(kNear);
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(answer.body.contains("table t: shard 1: ")) << answer.body;
  EXPECT_TRUE(answer.body.contains(near_hit(2, "0.25"))) << answer.body;
  EXPECT_EQ(master.search(kNear, "X-Partial-Results: deny\r\n").status, 503);
  // The client's mistake in either round is told in the mirror's words.
  second.react([](const std::string&) { return json(R"({"error":"no such thing"})", 400); });
  EXPECT_EQ(master.search(kNear).status, 400);
  second.react([](const std::string& request) {
    return reads_vector(request) ? mirror_with(kVector, 2, "1")(request)
                                 : json(R"({"error":"wrong length"})", 400);
  });
  const auto refused = master.search(kNear);
  EXPECT_EQ(refused.status, 400);
  EXPECT_TRUE(refused.body.contains("wrong length")) << refused.body;
}

TEST(NearestToDocument, IsPlannedAgainWhenAShardMovesInTheSecondRound) {
  std::atomic<bool> searched{false};
  std::atomic<bool> reloaded{false};
  const auto moves = [&](const std::string& request) {
    if (reads_vector(request)) return json(search_answer("", 0));
    searched = true;
    EXPECT_TRUE(eventually([&] { return reloaded.load(); }));
    return refused(410, "X-Sub-Status: 1008\r\n", R"({"error":"moved"})");
  };
  FakeMirror first(moves);
  FakeMirror twin(moves);
  FakeMirror second(mirror_with(kVector, 2, "0.25"));
  FakeMirror moved(mirror_with("", 1, "0.5"));
  Master master(taking_turns(),
                two_shards(table_at(first) + "|" + table_at(twin), table_at(second)));
  auto pending = Pending(master, "/search", kNear);
  ASSERT_TRUE(eventually([&] { return searched.load(); }));
  ASSERT_TRUE(master.reload(taking_turns(), two_shards(table_at(moved), table_at(second))));
  reloaded = true;
  const auto answer = pending.answer();
  EXPECT_TRUE(answer.body.contains(R"("total":2)")) << answer.body;
  EXPECT_EQ(moved.requests(), 2U) << "both rounds";
  EXPECT_EQ(master.count("planned_anew"), 1);
  EXPECT_EQ(master.count("queries"), 1);
}

TEST(NearestToDocument, EndsAtTheDeadlineAndWithItsClientInTheSecondRound) {
  FakeMirror first([](const std::string& request) {
    return reads_vector(request) ? json(search_answer("", 0)) : silence();
  });
  FakeMirror second(mirror_with(kVector, 2, "0.25"));
  const Master master("ha_ping_interval = 0\n agent_query_timeout = 3s\n agent_retry_count = 0",
                      two_shards(table_at(first), table_at(second)));
  const auto answer = master.search(kNear);
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(answer.body.contains(R"("timed_out":true)")) << answer.body;
  HttpClient client(master.port());
  client.send(fmt::format("POST /search HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{}",
                          kNear.size(), kNear));
  EXPECT_TRUE(eventually([&] { return first.requests() == 4; }));
  client.reset();  // the master's end checks that nothing is left of the query
}

}  // namespace
}  // namespace karmad::test
