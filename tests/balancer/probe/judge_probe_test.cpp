#include "balancer/probe/probe.hpp"

#include <gtest/gtest.h>

namespace karmad {
namespace {

using namespace std::chrono_literals;
using About = ProbeRequest::About;
using Texts = std::vector<std::string>;

// Sun, 06 Nov 1994 08:49:37 GMT
constexpr std::chrono::sys_seconds kThen{784111777s};

ProbeTarget target_of(Texts tables = {"t"}) {
  ProbeTarget target{.table = "t", .part = "shard 1", .address = {}, .tables = std::move(tables)};
  target.address.host = "a";
  target.address.port = 1;
  return target;
}

ProbeExchange answered(About about, std::string body, int status = 200, std::string table = "t") {
  ProbeExchange exchange;
  exchange.request.about = about;
  exchange.request.table = std::move(table);
  exchange.answer.status = status;
  exchange.answer.body = std::move(body);
  exchange.answer.trip = Micros(400);
  exchange.answer.at = kThen;
  return exchange;
}

constexpr auto kTables = R"([{"data":[{"Table":"T","Type":"rt"},{"Table":"u","Type":"rt"}]}])";

TEST(ProbeJudge, ReadsTheAnswersOfASearchServer) {
  const std::vector exchanges{
      answered(About::banner, R"({"version":{"number":"7.4.1"},"tagline":"You Know, for Search"})"),
      answered(About::version, R"([{"data":[{"Counter":"version","Value":"6.3.6 abc"}]}])"),
      answered(About::tables, kTables),
      answered(About::schema, R"([{"data":[{"Field":"id","Type":"bigint","Properties":""},
                                           {"Field":"Price","Type":"uint"}]}])")};
  const auto report = judge_probe(target_of(), exchanges);
  EXPECT_EQ(report.engine, "Manticore 6.3.6 abc");
  EXPECT_EQ(report.trip, Micros(400));
  EXPECT_FALSE(report.clock);
  EXPECT_EQ(report.problems, Texts{});
  EXPECT_EQ(report.columns,
            (std::map<std::string, std::string>{{"id", "bigint"}, {"price", "uint"}}));
}

TEST(ProbeJudge, NamesMissingTablesAndFailedStatements) {
  EXPECT_EQ(
      judge_probe(target_of({"t", "x"}), std::vector{answered(About::tables, kTables)}).problems,
      Texts{"it has no table 'x'; it has T, u"});
  EXPECT_EQ(judge_probe(target_of(), std::vector{answered(About::tables, "[{}]")}).problems,
            Texts{"it has no table 't' and no other"});
  EXPECT_EQ(judge_probe(target_of(), std::vector{answered(About::tables, R"({"error":"no"})", 500)})
                .problems,
            Texts{"SHOW TABLES: no"});
  EXPECT_EQ(judge_probe(target_of(), std::vector{answered(About::tables, "<html>", 404)}).problems,
            Texts{"SHOW TABLES has no rows (status 404): it does not seem to be a Manticore"});
}

TEST(ProbeJudge, ComparesClocksToTheSecond) {
  struct {
    const char* date;
    int seconds;
    bool wrong;
  } const cases[] = {{"Sun, 06 Nov 1994 08:49:37 GMT", 0, false},
                     {"Sun, 06 Nov 1994 08:49:36 GMT", -1, false},
                     {"Sun, 06 Nov 1994 08:49:39 GMT", 2, false},
                     {"Sun, 06 Nov 1994 08:50:37 GMT", 60, true},
                     {"Sun, 06 Nov 1994 08:48:37 GMT", -60, true}};
  for (const auto& c : cases) {
    auto exchange = answered(About::banner, "{}");
    exchange.answer.date = c.date;
    exchange.answer.at += 500ms;
    exchange.answer.trip = Micros(0);
    const auto report = judge_probe(target_of(), std::vector{exchange});
    ASSERT_TRUE(report.clock);
    EXPECT_EQ(report.clock->count(), c.seconds) << c.date;
    EXPECT_EQ(!report.problems.empty(), c.wrong) << c.date;
  }
  auto nonsense = answered(About::banner, "{}");
  nonsense.answer.date = "yesterday";
  EXPECT_FALSE(judge_probe(target_of(), std::vector{nonsense}).clock);
}

TEST(ProbeJudge, TellsRefusedCredentialsOnce) {
  const std::vector exchanges{answered(About::banner, "", 401), answered(About::tables, "", 401)};
  EXPECT_EQ(judge_probe(target_of(), exchanges).problems,
            Texts{"it refuses karmad without credentials (status 401)"});
}

TEST(ProbeJudge, SurvivesAnyAnswer) {
  const Texts bodies{"",
                     "null",
                     "[]",
                     "[[]]",
                     "[{\"data\":7}]",
                     "\xff",
                     "{\"version\":1}",
                     "[{\"data\":[7,null,{\"Table\":5},{\"Field\":[]}]}]",
                     std::string(100'000, '[')};
  for (const auto& body : bodies)
    for (const auto about : {About::banner, About::ping, About::version, About::tables,
                             About::schema, About::path, About::readiness}) {
      const std::vector exchanges{answered(about, body), answered(about, body, 599)};
      for (const auto& problem : judge_probe(target_of(), exchanges).problems)
        EXPECT_EQ(problem.find('\x1b'), std::string::npos);
    }
  EXPECT_EQ(judge_probe(
                target_of(),
                std::vector{answered(About::tables, "[{\"data\":[{\"Table\":\"\\u001b[31m\"}]}]")})
                .problems,
            Texts{"it has no table 't'; it has ?[31m"});
}

TEST(ProbeJudge, ComparesTheColumnsWithinOneShardOnly) {
  std::vector targets{target_of(), target_of(), target_of(), target_of()};
  targets[1].address.host = "b";
  targets[2].address.host = "c";
  targets[3].part = "shard 2";
  std::vector<AgentReport> reports(4);
  reports[0].columns = {{"id", "bigint"}, {"price", "uint"}};
  reports[1].columns = {{"id", "uint"}, {"name", "text"}};
  reports[3].columns = {{"other", "text"}};
  compare_columns(targets, reports);
  EXPECT_EQ(reports[0].problems, Texts{});
  EXPECT_EQ(reports[1].problems,
            Texts{"its columns differ from those of a:1: id is uint here and bigint there, name is "
                  "only here, price is missing here"});
  EXPECT_EQ(reports[2].problems, Texts{}) << "it told none";
  EXPECT_EQ(reports[3].problems, Texts{});
}

TEST(ProbePlan, AsksAKarmadForReadinessAndOthersForTheirSchema) {
  const auto target = target_of({"x", "y"});
  const auto about = [&](Engine engine) {
    std::string all;
    for (const auto& each : further_requests(target, engine))
      all += each.request.method + " " + each.request.target + " " + each.request.body + "\n";
    return all;
  };
  EXPECT_EQ(about(Engine::karmad), "GET /readyz?table=x \nGET /readyz?table=y \n");
  EXPECT_EQ(about(Engine::unknown),
            "POST /sql?mode=raw SHOW STATUS LIKE 'version'\nPOST /sql?mode=raw SHOW TABLES\n"
            "POST /sql?mode=raw DESC x\nPOST /sql?mode=raw DESC y\n");
}

TEST(ProbeText, ShowsFactsProblemsAndTheSum) {
  const std::vector targets{target_of(), target_of({"x", "y"})};
  std::vector<AgentReport> reports(2);
  reports[0] = {.engine = "E 1", .trip = Micros(1234), .clock = -1s};
  reports[1].problems = {"it is gone"};
  EXPECT_EQ(probe_text(targets, reports),
            "table t\n  shard 1\n    a:1 (t): ok; E 1, 1.2 ms, clock -1 s\n"
            "    a:1 (x, y): PROBLEM\n      it is gone\nprobe: 2 agents, 1 with problems\n");
}

}  // namespace
}  // namespace karmad
