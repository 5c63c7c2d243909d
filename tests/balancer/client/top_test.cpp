#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <algorithm>
#include <span>

#include "balancer/client/commands.hpp"
#include "balancer/client/top_view.hpp"
#include "balancer/trace/plain_text.hpp"

namespace karmad {
namespace {

std::string top_mirror(int number, std::string_view state, int attempts,
                       std::string_view reason = "") {
  return fmt::format(
      R"({{"mirror":{0},"address":"10.0.0.{0}:9308","state":"{1}","state_since":"2026-11-24T02:28:01.330Z",)"
      R"("reason":"{3}","diagnosis":"10.0.0.{0}:9308 {1}: {3}","weight":0.5,"role":"replica","in_flight":3,"errors_in_a_row":0,)"
      R"("latency_ms":{{"p50":1.25,"p95":2,"p99":null}},"since_start":{{"attempts":{2}}}}})",
      number, state, attempts, reason);
}

std::string top_agents(const std::string& mirrors, std::string_view verdict = "all well",
                       std::string_view diagnosis = "some are ready") {
  return fmt::format(
      R"({{"version":"1.0","verdict":"{}","uptime_s":10,"tables":[{{"name":"t","shards":[)"
      R"({{"shard":1,"diagnosis":"{}","mirrors":[{}]}}]}}]}})",
      verdict, diagnosis, mirrors);
}

constexpr std::string_view kNoEvents = R"({"newest":0,"events":[]})";

TopView top_view(const std::string& agents, std::string_view status = "{}",
                 std::string_view events = kNoEvents, std::string_view table = "") {
  return read_top(agents, status, events, table).value();
}

TEST(Top, ShowsTheVerdictAndMirrorsInTroubleFirst) {
  const auto view =
      top_view(top_agents(top_mirror(1, "ready", 30) + "," + top_mirror(2, "slow", 10, "late"),
                          "table t, shard 1: 10.0.0.2:9308 slow"));
  const auto lines = top_lines(view, {});
  EXPECT_EQ(lines[0], "▲ table t, shard 1: 10.0.0.2:9308 slow");
  EXPECT_TRUE(lines[3].starts_with("STATE          SINCE    MIRROR"));
  EXPECT_EQ(lines[4],
            "▲ slow         02:28:01 10.0.0.2:9308 t       1.2 replica   25%    50%   1.2   2.0"
            "     -      3      0");
  EXPECT_TRUE(
      lines[5].starts_with("✔ ready        02:28:01 10.0.0.1:9308 t       1.1 replica   75%"))
      << lines[5];
}

TEST(Top, HasRatesSinceTheViewBefore) {
  const auto before =
      top_view(top_agents(top_mirror(1, "ready", 100) + "," + top_mirror(2, "ready", 100)),
               R"({"requests":1000,"search_tickets_out":5,"tickets_refused":1})");
  EXPECT_EQ(before.rates.find("requests/s")->second, 100) << "over the uptime of 10 s";
  auto view =
      top_view(top_agents(top_mirror(1, "ready", 130) + "," + top_mirror(2, "ready", 110)),
               R"({"requests":1050,"search_tickets_out":7,"tickets_refused":2,"tickets_expired":1,
           "requests_over_client_rate":3})");
  since(view, before, 2);
  EXPECT_EQ(view.rates.find("requests/s")->second, 25);
  EXPECT_EQ(view.rates.find("refused/s")->second, 2);
  EXPECT_EQ(view.rates.find("search tickets")->second, 7) << "no counter";
  EXPECT_EQ(view.mirrors[0].share, 0.75);
  EXPECT_EQ(view.mirrors[1].share, 0.25);
}

TEST(Top, ShowsNoTrafficAfterARestartOfKarmad) {
  const auto before = top_view(top_agents(top_mirror(1, "ready", 100)), R"({"requests":1000})");
  auto view = top_view(top_agents(top_mirror(1, "ready", 2)), R"({"requests":5})");
  since(view, before, 1);
  EXPECT_EQ(view.rates.find("requests/s")->second, 0);
  EXPECT_FALSE(view.mirrors[0].share);
}

TEST(Top, FitsTheTerminal) {
  std::string mirrors = top_mirror(1, "dead", 1, std::string(500, 'r'));
  for (int i = 2; i < 40; ++i) mirrors += "," + top_mirror(i, "ready", 1);
  const auto view =
      top_view(top_agents(mirrors, std::string(300, 'v')), "{}",
               R"({"events":[{"id":1,"time":"2026-11-24T02:28:01.330Z","message":"m"}]})");
  for (const std::size_t columns : {20U, 80U, 132U}) {
    const auto lines = top_lines(view, {.columns = columns, .rows = 24});
    EXPECT_LE(lines.size(), 24U);
    for (const auto& line : lines) EXPECT_LE(width_of(line), columns) << line;
    EXPECT_TRUE(std::ranges::any_of(lines, [](const auto& l) { return l.contains("more"); }));
  }
  EXPECT_EQ(top_lines(view, {}).size(), 4U + 39 + 3 + 2) << "a pipe gets all";
}

TEST(Top, HasTheDiagnosesOfShardsAndMirrorsInTroubleUncut) {
  const auto mirrors = top_mirror(1, "dead", 1, "refused") + "," + top_mirror(2, "ready", 1) + "," +
                       top_mirror(3, "slow", 1, "queries take 412.0 ms on average");
  const auto of_shard = "1 of 3 mirrors ready: 10.0.0.1:9308 dead: refused";
  const auto view = top_view(top_agents(mirrors, "another table, shard 1: 9 dead", of_shard));
  const auto lines = top_lines(view, {});
  EXPECT_EQ(lines[8], fmt::format("✖ table t, shard 1: {}", of_shard));
  EXPECT_EQ(lines[9], "▲ 10.0.0.3:9308 slow: queries take 412.0 ms on average");
  const auto narrow = top_lines(view, {.columns = 40});
  EXPECT_EQ(fmt::format("{}", fmt::join(std::span(narrow).subspan(8, 4), "\n")),
            "✖ table t, shard 1: 1 of 3 mirrors\n"
            "  ready: 10.0.0.1:9308 dead: refused\n"
            "▲ 10.0.0.3:9308 slow: queries take 412.0\n"
            "  ms on average");
  const auto known = top_view(top_agents(
      mirrors, fmt::format("table t, shard 1: {} (2 mirrors are in trouble in all)", of_shard),
      of_shard));
  EXPECT_EQ(top_lines(known, {})[8], lines[9]) << "the verdict has the other one";
}

TEST(Top, PassesNoControlCharacterToTheTerminal) {
  const auto view = top_view(top_agents(top_mirror(1, "dead", 1, R"(\u001b[2J\u009b31m\u0007)"),
                                        R"(a\u001b]0;title\u0007)"));
  for (const auto& line : top_lines(view, {}))
    for (std::size_t i = 0; i < line.size(); ++i) {
      EXPECT_GE(static_cast<unsigned char>(line[i]), ' ');
      EXPECT_FALSE(line[i] == '\xc2' && static_cast<unsigned char>(line[i + 1]) < 0xa0);
    }
}

TEST(Top, UsesColoursOnlyIfToldAndAlwaysAWord) {
  const auto view = top_view(top_agents(top_mirror(1, "dead", 1)));
  EXPECT_FALSE(fmt::format("{}", fmt::join(top_lines(view, {}), "")).contains('\x1b'));
  const auto coloured = top_lines(view, {.colours = true, .utf8 = false});
  EXPECT_TRUE(coloured[4].starts_with("\x1b[31;1mx dead")) << coloured[4];
}

TEST(Top, KeepsOneTableIfToldSo) {
  EXPECT_EQ(read_top(top_agents(top_mirror(1, "ready", 1)), "{}", kNoEvents, "other").error(),
            "no table 'other'; the tables are: t");
  EXPECT_EQ(top_view(top_agents(top_mirror(1, "ready", 1)), "{}", kNoEvents, "t").mirrors.size(),
            1U);
}

TEST(Top, RefusesWhatIsNotFromKarmad) {
  for (const auto* agents : {"", "[]", "{}", "{\"verdict\":", "<html>"})
    EXPECT_EQ(read_top(agents, "{}", kNoEvents, "").error(),
              "the answer to GET /agents is not that of karmad");
  const auto odd =
      read_top(R"({"verdict":1,"tables":[1,{"shards":{}},{"shards":[{"mirrors":[5,{}]}]}]})", "{}",
               R"({"events":[3]})", "");
  ASSERT_TRUE(odd) << "unknown shapes are left out";
  EXPECT_EQ(top_lines(*odd, {}).size(), 4U + 2 + 2 + 2);
}

TEST(Top, IsOneJsonDocumentForScripts) {
  rapidjson::Document document;
  document.Parse(top_json(top_view(top_agents(top_mirror(1, "ready", 1)))).c_str());
  ASSERT_FALSE(document.HasParseError());
  EXPECT_STREQ(document["verdict"].GetString(), "all well");
  EXPECT_EQ(document["mirrors"][0]["p50_ms"].GetDouble(), 1.25);
  EXPECT_TRUE(document["mirrors"][0]["p99_ms"].IsNull());
}

TEST(ServerAddress, IsAHostAUrlOrASocket) {
  const auto is = [](const std::string& text, const std::string& wanted) {
    const auto server = parse_server_address(text);
    ASSERT_TRUE(server) << text;
    EXPECT_EQ(karmad::text(server->address), wanted) << text;
  };
  is("", "127.0.0.1:9308");
  is("search1", "search1:9308");
  is("search1:80", "search1:80");
  is("http://search1:80/", "search1:80");
  is("[::1]:80", "[::1]:80");
  is("9309", "127.0.0.1:9309");
  is("http://81/", "127.0.0.1:81");
  is("/run/karmad.sock", "/run/karmad.sock");
  is("./karmad.sock", "./karmad.sock");
  for (const auto* wrong :
       {"a:b", "a:", "a:123456", "a:65536", "65536", "https://a", "::1", "fe80::2:9308"})
    EXPECT_FALSE(parse_server_address(wrong)) << wrong;
}

TEST(PlainText, HasNoCharacterThatControlsATerminal) {
  EXPECT_EQ(without_controls("a\x1b[1m\x7f\u009b\u202e\u2066\u2028\u061c b\u00e9\u20ac"),
            "a?[1m?????? b\u00e9\u20ac");
}

TEST(PlainText, IsCutOrFilledToItsWidth) {
  EXPECT_EQ(fitted("größe", 7), "größe  ");
  EXPECT_EQ(fitted("größe", 7, true), "  größe");
  EXPECT_EQ(fitted("größe", 4), "grö~");
  EXPECT_EQ(fitted("größe", 0), "");
}

TEST(ExplanationText, SaysForEachMirrorWhetherItWasACandidate) {
  const auto text = explanation_text(
      R"({"id":"r1","query":7,"time":"2026","table":"t","criteria":"any mirror","status":200,"took_ms":1.5,)"
      R"("left_out":0,"shards":[{"shard":1,"strategy":"nodeads","choices":[{"set":"flat","chosen_by":"nodeads",)"
      R"("mirrors":[{"mirror":1,"address":"a:1","role":"router","state":"ready","in_flight":2,"probability":1.0,)"
      R"("removed_by":""},{"mirror":2,"address":"b:2","role":"router","state":"failing","probability":0,)"
      R"("removed_by":"strategy nodeads: 9 errors in a row"}],"draws":[{"below":1,"drawn":0.5}],"chosen":1,)"
      R"("address":"a:1","refused":"","attempt":{"reason":"initial","started_ms":0.1,"took_ms":1.2,)"
      R"("outcome":"answered","status":200,"error":""}}]}]})");
  ASSERT_TRUE(text);
  EXPECT_EQ(*text,
            "request r1 of 2026, table t: status 200, took 1.500 ms\n"
            "criteria: any mirror\n"
            "shard 1, strategy nodeads\n"
            "  choice 1 by nodeads, set flat\n"
            "      1 a:1  candidate, 100.0 %  (router ready, in flight 2)\n"
            "      2 b:2  removed: strategy nodeads: 9 errors in a row  (router failing)\n"
            "    drawn: 0.500 below 1\n"
            "    chosen: 1 a:1\n"
            "    attempt (initial) at 0.100 ms: answered, status 200, took 1.200 ms\n");
  EXPECT_FALSE(explanation_text("{}"));
  EXPECT_FALSE(explanation_text("["));
  EXPECT_TRUE(explanation_text(R"({"shards":[1,{"choices":[2,{"mirrors":[3],"attempt":4}]}]})"));
}

}  // namespace
}  // namespace karmad
