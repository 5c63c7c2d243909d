#include "balancer/pipeline/route.hpp"

#include "agent/dialect/dialect.hpp"
#include "tests/balancer/pipeline/asking.hpp"

namespace karmad {
namespace {

struct ARoute : testing::Asking {
  Route route{[](Query&, const Table& table, const Dialect&, const Parsed& parsed) -> Task<Answer> {
    Answer answer;
    answer.body.append(parsed.read ? "reads " : "writes ").append(table.name);
    co_return answer;
  }};
  Answer post(std::string_view path, std::string_view body) {
    std::string head("POST ");
    head.append(path).append(" HTTP/1.1\r\nHost: h\r\n");
    return ask(route, head, body);
  }
};

TEST_F(ARoute, HandsASearchOnWithItsTable) {
  EXPECT_EQ(post("/search", R"({"table":"t"})").body, "reads t");
}

TEST_F(ARoute, HandsAnUpdateOnAsOne) {
  EXPECT_EQ(post("/insert", R"({"table":"t","doc":{"a":1}})").body, "writes t");
}

TEST_F(ARoute, RefusesWhatNoTableAnswers) {
  EXPECT_EQ(post("/search", R"({"table":"u"})").status, 404);
  EXPECT_EQ(post("/nothing", "{}").status, 404);
}

TEST_F(ARoute, AnswersForItselfWithoutAskingShards) {
  EXPECT_EQ(ask(route, "GET /healthz HTTP/1.1\r\nHost: h\r\n").body, R"({"status":"ok"})");
}

}  // namespace
}  // namespace karmad
