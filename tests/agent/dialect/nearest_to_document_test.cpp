// Searches by the vector of a document: the requests of both rounds, and what is read in between.
#include <algorithm>
#include <random>

#include "agent/dialect/plan/two_rounds.hpp"
#include "agent/dialect/request/document_ids.hpp"
#include "tests/agent/dialect/row_replies.hpp"
#include "tests/agent/dialect/search_support.hpp"

namespace karmad::nearest_to_document_tests {
namespace {

/// A search over shards, round by round.
class Rounds {
 public:
  explicit Rounds(std::string body, ShardLayout layout = 2)
      : body_(std::move(body)), request_(Searching::post(body_)) {
    const bool sql = body_.starts_with("SELECT");
    if (sql) request_.path = "/sql";
    if (sql) request_.query = "mode=raw";
    dialect_ = sql ? make_manticore_sql({}) : make_manticore_json({});
    parsed_ = dialect_->parse(request_);
    EXPECT_TRUE(parsed_) << parsed_.error().reason;
    auto plan = dialect_->plan(request_, *parsed_, layout);
    if (plan)
      plan_ = *std::move(plan);
    else
      refusal_ = plan.error().reason;
  }

  const std::string& refusal() const { return refusal_; }
  std::string asked(std::size_t shard = 0) const {
    if (!plan_) return "refused: " + refusal_;
    const std::vector<std::string> tables{"s"};
    std::string buffer;
    return std::string(write_planned(*plan_, shard, tables, buffer).body);
  }
  std::string asks(std::size_t shards) const {
    std::string text;
    for (std::size_t s = 0; s < shards; ++s) text += plan_->asks(s) ? 'y' : 'n';
    return text;
  }
  /// "next", "merge", a mistake, or which shard could not be understood.
  std::string told(const std::vector<std::string>& answers) {
    const auto more = begin_next_round(*plan_, replies(answers));
    if (more) return *more ? "next" : "merge";
    const auto& bad = more.error();
    if (bad.status != 0) return fmt::format("{} {}", bad.status, bad.reason);
    return fmt::format("bad shard {}: {}", bad.shard, bad.reason);
  }
  std::string merged(const std::vector<std::string>& answers) const {
    std::string out;
    const auto bad = merge(*plan_, replies(answers), {}, out);
    return bad ? "bad: " + bad->reason : out;
  }

 private:
  static std::vector<ShardReply> replies(const std::vector<std::string>& answers) {
    std::vector<ShardReply> out;
    for (const auto& answer : answers) out.push_back({answer});
    return out;
  }

  std::string body_;
  ClientRequest request_;
  std::unique_ptr<Dialect> dialect_;
  std::expected<Parsed, ClientError> parsed_;
  std::optional<Plan> plan_;
  std::string refusal_;
};

std::string document(std::string_view vector) {
  return answer(1, fmt::format(R"({{"_id":7,"_score":1,"_source":{{"v":{}}}}})", vector));
}

std::string near(int id, std::string_view distance, std::string_view source = "") {
  return fmt::format(R"({{"_id":{},"_score":1,"_knn_dist":{},"_source":{{{}}}}})", id, distance,
                     source);
}

std::string row_of(std::string_view vector) {
  return raw_reply({raw_set({"v:float_vector"}, {fmt::format(R"({{"v":{}}})", vector)})});
}

TEST(NearestToDocument, ReadsTheVectorFirstAndAsksAllShardsWithItsNumbersAsTheyAreWritten) {
  Rounds rounds(R"({"table":"t","knn":{"field":"v","doc_id":7,"k":3,"ef":9},"limit":2})");
  EXPECT_EQ(rounds.asked(),
            R"({"table":"s","query":{"equals":{"id":7}},"_source":["v"],"limit":1})");
  EXPECT_EQ(rounds.told({answer(0, ""), document("[0.123456, -1e-7,2.50]")}), "next");
  EXPECT_EQ(
      rounds.asked(1),
      R"({"table":"s","knn":{"query_vector":[0.123456,-1e-7,2.50],"k":4,"filter":{"bool":{"must_not":[{"equals":{"id":7}}]}},"field":"v","ef":9},"limit":2})");
  const std::vector<std::string> found{answer(4, near(1, "0.1") + "," + near(5, "0.5")),
                                       answer(4, near(2, "0.2") + "," + near(3, "0.3"))};
  EXPECT_EQ(rounds.told(found), "merge") << "there are two rounds at most";
  EXPECT_EQ(rounds.merged(found), whole(3, near(1, "0.1") + "," + near(2, "0.2")));
}

TEST(NearestToDocument, LeavesTheDocumentOutByTheFilterThatTheRequestHas) {
  const auto second = [](std::string_view members) {
    Rounds rounds(fmt::format(R"({{"table":"t",{}}})", members));
    EXPECT_EQ(rounds.told({document("[1]"), answer(0, "")}), "next");
    return rounds.asked();
  };
  EXPECT_EQ(
      second(R"("knn":{"field":"v","doc_id":7,"filter":{"range":{"p":{"lt":2}}}},"limit":9)"),
      R"({"table":"s","knn":{"query_vector":[1],"filter":{"bool":{"must":[{"range":{"p":{"lt":2}}}],"must_not":[{"equals":{"id":7}}]}},"field":"v"},"limit":9})");
  EXPECT_EQ(
      second(R"("query":{"match":{"a":"b"}},"knn":{"doc_id":7,"field":"v","query":[9]},"limit":9)"),
      R"({"table":"s","query":{"bool":{"must":[{"match":{"a":"b"}}],"must_not":[{"equals":{"id":7}}]}},"knn":{"query_vector":[1],"field":"v"},"limit":9})");
}

TEST(NearestToDocument, AsksOnlyTheShardOfTheIdForTheVectorWhereThatIsKnown) {
  Rounds rounds(R"({"table":"t","knn":{"field":"v","doc_id":7,"k":3}})", {3, ShardBy::id});
  const auto home = DocumentId::of_number("7")->shard(3);
  std::string expected = "nnn";
  expected[home] = 'y';
  EXPECT_EQ(rounds.asks(3), expected);
  std::vector<std::string> replies(3);
  replies[home] = document("[1]");
  EXPECT_EQ(rounds.told(replies), "next");
  EXPECT_EQ(rounds.asks(3), "yyy");
}

TEST(NearestToDocument, FindsNothingWithoutTheDocumentOrItsVector) {
  for (const auto* vector : {"[]", "null", "\"\"", "[ ]"}) {
    Rounds rounds(R"({"table":"t","knn":{"field":"V","doc_id":7,"k":3},)"
                  R"("aggs":{"n":{"terms":{"field":"p"}}}})");
    const std::vector<std::string> replies{document(vector), answer(0, "")};
    EXPECT_EQ(rounds.told(replies), "merge") << vector;
    EXPECT_EQ(rounds.merged(replies), whole(0, "", R"(,"aggregations":{"n":{"buckets":[]}})"));
  }
  Rounds missing(R"({"table":"t","knn":{"field":"v","doc_id":7,"k":3}})");
  EXPECT_EQ(missing.told({answer(0, ""), answer(0, "")}), "merge");
  EXPECT_EQ(missing.merged({answer(0, ""), ""}), whole(0, ""));
}

TEST(NearestToDocument, NamesTheShardOfAMalformedReplyAndNoneWhereTheAttributeIsNoVector) {
  const std::string more(1 << 20, '1');
  const std::string bad = "bad shard 1: ";
  const std::string no_vector =
      "400 the attribute v of the document 7 is missing or no vector: a list of numbers of at most "
      "1048576 bytes";
  const struct {
    std::string reply;
    std::string told;
  } cases[] = {
      {answer(1, R"({"_id":7,"_source":{"w":[1]}})"), no_vector},
      {document("7"), no_vector},
      {document("{}"), no_vector},
      {document("true"), no_vector},
      {document(R"(["1"])"), no_vector},
      {document("[[1]]"), no_vector},
      {document("[1,null]"), no_vector},
      {document(R"("0.1,nan")"), no_vector},
      {document(R"("0.1;2")"), no_vector},
      {document(R"("0.1],[2")"), no_vector},
      {document("[NaN]"), bad + "a hit is malformed"},
      {document("[" + more + "]"), no_vector},
      {answer(1, "7"), bad + "a hit is malformed"},
      {answer(1, R"({"_id":7})"), bad + "a hit is malformed"},
      {answer(1, R"({"_id":7,"_source":[1]})"), bad + "a hit is malformed"},
      {"[]", bad + "it does not end as a JSON object"},
  };
  for (const auto& [reply, told] : cases) {
    Rounds rounds(R"({"table":"t","knn":{"field":"v","doc_id":7,"k":3}})");
    EXPECT_EQ(rounds.told({answer(0, ""), reply}), told) << reply.substr(0, 200);
    EXPECT_TRUE(rounds.asked().contains("equals")) << "the first round goes on";
    EXPECT_EQ(rounds.told({answer(0, ""), document("[1]")}), "next");
  }
}

TEST(NearestToDocument, RefusesWhatHasNoDocumentAndFusedSearches) {
  const auto refused = [](std::string_view members) {
    return Rounds(fmt::format(R"({{"table":"t",{}}})", members)).refusal();
  };
  const std::string id = "\"doc_id\" of \"knn\" must be a positive integer";
  EXPECT_EQ(refused(R"("knn":{"field":"v","doc_id":"7","k":3})"), id);
  EXPECT_EQ(refused(R"("knn":{"field":"v","doc_id":-7,"k":3})"), id);
  EXPECT_EQ(refused(R"("knn":{"doc_id":7,"k":3})"), "\"field\" of \"knn\" is missing");
  for (const auto* filter : {"7", "\"x\"", "[]", "null", "true"})
    EXPECT_EQ(refused(fmt::format(R"("knn":{{"field":"v","doc_id":7,"k":3,"filter":{}}})", filter)),
              "\"filter\" of \"knn\" must be an object")
        << filter;
  for (const auto* fused :
       {R"("knn":[{"field":"v","doc_id":7}])", R"("knn":{"field":"v","doc_id":7},"hybrid":{})",
        R"("knn":{"field":"v","doc_id":7},"options":{"fusion_method":"rrf"})"})
    EXPECT_TRUE(refused(fused).contains("cannot be fused")) << fused;
  // The only shard has the document.
  const auto* const alone = R"({"table":"t","knn":{"field":"v","doc_id":7,"k":3},"limit":3})";
  Rounds rounds(alone, 1);
  EXPECT_EQ(rounds.asked(), R"({"table":"s","knn":{"field":"v","doc_id":7,"k":3},"limit":3})");
  EXPECT_EQ(rounds.told({answer(0, "")}), "merge");
}

TEST(NearestToDocument, InSqlReadsTheVectorAndAsksAllShardsWithIt) {
  Rounds rounds("SELECT id FROM t WHERE KNN(`v` , 5,7 , 2000) and a>1 OPTION max_matches=9");
  EXPECT_EQ(rounds.asked(), "SELECT `v` FROM s WHERE id=7 LIMIT 1");
  const auto none = raw_reply({raw_set({"v:float_vector"}, {})});
  EXPECT_EQ(rounds.told({none, row_of("\"0.123456,-0.10\"")}), "next");
  EXPECT_EQ(rounds.asked(),
            "SELECT id, knn_dist() AS karmad_0 FROM s WHERE KNN(`v` , 6,(0.123456,-0.10) , 2000) "
            "AND id<>7 and a>1 LIMIT 0,9 OPTION max_matches=9; SHOW META");
  const auto rows = [](std::string_view row) {
    return raw_reply(
        {raw_set({"id:long long", "karmad_0:float"}, {std::string(row)}), meta_set(3)});
  };
  const std::vector<std::string> found{rows(R"({"id":1,"karmad_0":0.2})"),
                                       rows(R"({"id":2,"karmad_0":0.1})")};
  EXPECT_EQ(rounds.told(found), "merge");
  EXPECT_EQ(rows_in(rounds.merged(found)), "{\"id\":2},\n{\"id\":1}\n");
  Rounds most("SELECT id FROM t WHERE KNN(v,2147483647,7)");
  EXPECT_EQ(most.told({none, row_of("[1]")}), "next");
  EXPECT_TRUE(most.asked().contains("KNN(v,2147483647,(1))")) << most.asked();
}

TEST(NearestToDocument, InSqlFindsNothingOrNamesTheShard) {
  const std::string statement = "SELECT id FROM t WHERE KNN(v,5,7)";
  for (const auto& reply :
       {row_of("\"\""), row_of("[]"), row_of("null"), raw_reply({raw_set({"v:float_vector"}, {})}),
        std::string(R"([{"total":0,"error":"","warning":""}])")}) {
    Rounds rounds(statement);
    EXPECT_EQ(rounds.told({reply, ""}), "merge") << reply;
    EXPECT_EQ(rounds.merged({reply, ""}), R"([{"total":0,"error":"","warning":""}])");
  }
  for (const auto* cell : {"\"inf\"", "1.5", "{}", "true", "\"a,b\""})
    EXPECT_TRUE(Rounds(statement).told({row_of(cell), ""}).starts_with("400 the attribute v of"))
        << cell;
  for (const auto* reply : {"[]", "{}", "[{}]x", R"([{"error":"no"}])"})
    EXPECT_TRUE(Rounds(statement).told({reply, ""}).starts_with("bad shard 0: ")) << reply;
  EXPECT_TRUE(Rounds(statement).told({row_of("x"), ""}).starts_with("bad shard 0: "));
  EXPECT_EQ(Rounds("SELECT id FROM t WHERE KNN('v',5,7)").refusal(),
            "at offset 33: KNN() names no attribute");
  EXPECT_EQ(Rounds("SELECT id FROM t WHERE KNN(v,7)").refusal(),
            "at offset 29: KNN() by the id of a document needs k: KNN(attribute, 5, 7)");
  EXPECT_EQ(Rounds("SELECT id FROM t WHERE KNN(v,5,x)").refusal(),
            "at offset 31: KNN() takes a vector, (0.1,0.2), or the id of a document");
  for (const auto* k : {"abc", "0", "5.5", "2147483648"})
    EXPECT_EQ(Rounds(fmt::format("SELECT id FROM t WHERE KNN(v, {}, 7)", k)).refusal(),
              "at offset 30: k of KNN() must be an integer from 1 to 2147483647")
        << k;
}

TEST(NearestToDocument, InSqlRefusesWhatIsTooLongWithTheVector) {
  std::string counts;
  for (int i = 0; i < 16; ++i) counts += fmt::format(", COUNT(DISTINCT a{})", i);
  Rounds rounds("SELECT b" + counts + " FROM t WHERE KNN(v,5,7) GROUP BY b");
  std::string numbers = "0.25";
  while (numbers.size() < 600'000) numbers += ",0.25";
  const auto none = raw_reply({raw_set({"v:float_vector"}, {})});
  EXPECT_TRUE(rounds.told({none, row_of("\"" + numbers + "\"")}).contains("WHERE is too long"));
  EXPECT_EQ(rounds.told({none, row_of("\"0.25\"")}), "next");
}

TEST(NearestToDocument, SortsOnlyTheNearestOfAllShards) {
  const auto* const body = R"j({"table":"t","knn":{"field":"v","query_vector":[1],"k":3},)j"
                           R"j("limit":2,"sort":["price",{"knn_dist()":"desc"}]})j";
  const Rounds rounds(body);
  EXPECT_TRUE(rounds.asked().contains(R"("limit":3)")) << rounds.asked();
  const auto hit = [](int id, std::string_view distance, int price) {
    return near(id, distance, fmt::format(R"("price":{})", price));
  };
  // 1, 2 and 3 are the nearest; 4 has the distance of 3 and a higher id.
  const std::vector<std::string> found{
      answer(3, hit(9, "0.9", 1) + "," + hit(4, "0.3", 2) + "," + hit(1, "0.1", 9)),
      answer(3, hit(8, "0.8", 1) + "," + hit(3, "0.3", 4) + "," + hit(2, "0.2", 5))};
  EXPECT_EQ(rounds.merged(found), whole(3, hit(3, "0.3", 4) + "," + hit(2, "0.2", 5)));
  // All hits are asked for and read; otherwise the nearest ones are the first.
  EXPECT_TRUE(Rounds(R"j({"table":"t","knn":{"field":"v","query_vector":[1],"k":3},"limit":2,)j"
                     R"j("sort":["knn_dist()","price"]})j")
                  .asked()
                  .contains(R"("limit":2)"));
  EXPECT_EQ(rounds.merged({answer(3, hit(9, "0.9", 1) + ",7"), ""}), "bad: a hit is malformed");
}

std::string near_row(int id, int price, std::string_view distance) {
  return fmt::format(R"({{"id":{},"price":{},"karmad_0":{}}})", id, price, distance);
}

std::string near_reply(const std::vector<std::string>& rows) {
  return raw_reply(
      {raw_set({"id:long long", "price:uint", "karmad_0:float"}, rows), meta_set(rows.size())});
}

// SS-104: ORDER BY decides between equal distances only, as on one server.
TEST(NearestToDocument, InSqlSortsTheNearestOfAllShardsByTheDistanceFirst) {
  const Rounds rounds("SELECT id, price FROM t WHERE KNN(v,3,(1,2)) ORDER BY price DESC LIMIT 1,9");
  EXPECT_EQ(rounds.asked(),
            "SELECT id, price, knn_dist() AS karmad_0 FROM s WHERE KNN(v,3,(1,2)) ORDER BY "
            "knn_dist() ASC, price DESC, id ASC LIMIT 0,10; SHOW META");
  const std::vector<std::string> found{
      near_reply({near_row(1, 20, "0.1"), near_row(4, 10, "0.3"), near_row(9, 90, "0.9")}),
      near_reply({near_row(2, 30, "0.2"), near_row(3, 80, "0.3"), near_row(8, 99, "0.8")})};
  EXPECT_EQ(rows_in(rounds.merged(found)), "{\"id\":2,\"price\":30},\n{\"id\":3,\"price\":80}\n");
  const auto asked = [](std::string_view rest) {
    return Rounds(fmt::format("SELECT id, KNN_DIST() d FROM t WHERE KNN(v,{}", rest)).asked();
  };
  EXPECT_TRUE(asked("30,(1)) ORDER BY d DESC LIMIT 4").contains("LIMIT 0,4;"));
  EXPECT_TRUE(asked("30000,(1)) ORDER BY id DESC LIMIT 4").contains("LIMIT 0,4;"));
  Rounds by_document("SELECT id FROM t WHERE KNN(v,3,7) ORDER BY price LIMIT 2");
  EXPECT_EQ(by_document.told({row_of("[1]"), ""}), "next");
  EXPECT_TRUE(by_document.asked().contains(
      "KNN(v,4,(1)) AND id<>7 ORDER BY knn_dist() ASC, price ASC, id ASC LIMIT 0,2;"))
      << by_document.asked();
}

TEST(NearestToDocument, InSqlSortsOnlyTheNearestOfAllShardsByAnOrderThatNamesTheDistance) {
  const Rounds rounds(
      "SELECT id, price FROM t WHERE KNN(v,3,(1,2)) ORDER BY price DESC, knn_dist() LIMIT 1,9");
  EXPECT_EQ(rounds.asked(),
            "SELECT id, price, knn_dist() AS karmad_0 FROM s WHERE KNN(v,3,(1,2)) ORDER BY price "
            "DESC, knn_dist() ASC, id ASC LIMIT 0,3; SHOW META");
  const std::vector<std::string> found{
      near_reply({near_row(9, 90, "0.9"), near_row(1, 20, "0.1"), near_row(4, 10, "0.3")}),
      near_reply({near_row(3, 80, "0.3"), near_row(8, 70, "0.8"), near_row(2, 30, "0.2")})};
  EXPECT_EQ(rows_in(rounds.merged(found)), "{\"id\":2,\"price\":30},\n{\"id\":1,\"price\":20}\n");
  EXPECT_EQ(rounds.merged({near_reply({near_row(9, 90, "0.9"), "{}"}), ""}),
            "bad: a row is malformed");
  const auto asked = [](std::string_view rest) {
    return Rounds(fmt::format("SELECT id FROM t WHERE KNN(v,{}", rest)).asked();
  };
  // The nearest are the first rows of a shard; more than 10000 are not asked for.
  EXPECT_TRUE(asked("30,(1)) ORDER BY knn_dist() ASC LIMIT 4").contains("LIMIT 0,4;"));
  EXPECT_TRUE(asked("30,(1)) ORDER BY knn_dist() DESC LIMIT 4").contains("LIMIT 0,30;"));
  EXPECT_TRUE(asked("30000,(1)) ORDER BY a, knn_dist() LIMIT 4").contains("LIMIT 0,4;"));
  EXPECT_TRUE(asked("3000,(1)) ORDER BY a, knn_dist() LIMIT 4")
                  .contains("LIMIT 0,3000 OPTION max_matches=3"));
  // The filter leaves out one of the four that a shard finds.
  Rounds by_document("SELECT id FROM t WHERE KNN(v,3,7) ORDER BY price, knn_dist() LIMIT 2");
  EXPECT_EQ(by_document.told({row_of("[1]"), ""}), "next");
  EXPECT_TRUE(by_document.asked().contains("LIMIT 0,4;")) << by_document.asked();
}

TEST(NearestToDocument, TakesOrRefusesAnyReplyWithTheVector) {
  std::mt19937 random(7);
  const std::string bodies[] = {R"({"table":"t","knn":{"field":"v","doc_id":7,"k":3}})",
                                "SELECT id FROM t WHERE KNN(v,5,7)"};
  const std::string replies[] = {document("[0.5,-1e3]"), row_of("\"0.5,-1e3\"")};
  std::size_t taken = 0;
  for (int round = 0; round < 20'000; ++round) {
    Rounds rounds(bodies[round % 2]);
    auto reply = replies[round % 2];
    for (auto changes = random() % 3; changes > 0; --changes)
      reply[random() % reply.size()] = "{}[]\",:\\0-.e \xFF"[random() % 15];
    if (random() % 8 == 0) reply.resize(random() % reply.size());
    taken += rounds.told({reply, ""}) == "next" ? 1 : 0;
  }
  EXPECT_GT(taken, 6'000);
  EXPECT_LT(taken, 19'000);
}

}  // namespace
}  // namespace karmad::nearest_to_document_tests
