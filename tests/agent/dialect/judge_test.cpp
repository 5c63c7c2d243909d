#include "agent/dialect/replies/judge.hpp"

#include "tests/agent/dialect/search_support.hpp"

namespace karmad {
namespace {

constexpr std::string_view kJudgedType = "application/json; charset=UTF-8";

Judgement judged(int status, std::string_view body, bool merged = false,
                 std::string_view type = kJudgedType) {
  static const Searching searching;
  return searching.dialect().judge({status, type, body}, merged);
}

TEST(Judge, OfABeginningLooksAtItsFirstByteAndSaysWhichTheLastMustBe) {
  const struct {
    std::string_view body;
    Outcome outcome;
    char ends_in;
  } cases[] = {
      {R"({"took":1,"hits":{"hits":[{"_id")", Outcome::answered, '}'},
      {" \n[{", Outcome::answered, ']'},
      {R"({"warning":{"reason":"w"},"hits":)", Outcome::answered_with_warning, '}'},
      {"<html>", Outcome::wrong_reply, 0},
      {"", Outcome::wrong_reply, 0},
  };
  static const Searching searching;
  for (const auto& c : cases) {
    SCOPED_TRACE(c.body);
    const auto judgement =
        searching.dialect().judge({200, kJudgedType, c.body, /*whole=*/false}, false);
    EXPECT_EQ(judgement.outcome, c.outcome);
    EXPECT_EQ(judgement.ends_in, c.ends_in);
  }
}

TEST(Judge, NamesTheCodingOfACompressedAnswer) {
  EXPECT_EQ(judged(200, "\x1f\x8b\x08xyz}").message, "the answer is compressed (gzip), not JSON");
  EXPECT_EQ(judged(200, "xyz}").message, "the answer is not JSON");
}

TEST(Judge, DistinguishesMistakesOfTheClientFromErrorsOfTheAgent) {
  const struct {
    int status;
    std::string_view body;
    Outcome outcome;
  } cases[] = {
      // 400: always the query.
      {400, R"({"error":"unknown option 'foo'"})", Outcome::client_mistake},
      {400, "", Outcome::client_mistake},
      {404, "", Outcome::client_mistake},
      {409, R"({"error":{"type":"x","reason":"duplicate id"},"status":409})",
       Outcome::client_mistake},
      {403, R"({"error":"denied"})", Outcome::client_mistake},
      // … except errors about the name of the table, which karmad has set, and requests to retry.
      {404, R"({"error":"unknown table 's1'"})", Outcome::agent_error},
      {429, R"({"error":"later"})", Outcome::agent_error},
      {408, "", Outcome::agent_error},
      // 500 is used for both.
      {500, R"({"error":"table s1: query error: P08: syntax error, unexpected $end near ''"})",
       Outcome::client_mistake},
      {500, R"({"error":"table s1: unknown column: nosuch"})", Outcome::client_mistake},
      {500, R"({"error":"P01: syntax error, unexpected identifier"})", Outcome::client_mistake},
      {500, R"({"error":{"reason":"sort-by attribute 'x' not found"}})", Outcome::client_mistake},
      {500, R"({"error":"nested \"aggs\" is not supported"})", Outcome::client_mistake},
      {500, R"({"error":"table t: KNN index 'v' requires a vector of 4 entries; 3 entries given"})",
       Outcome::client_mistake},
      {500, R"({"error":"unknown local table(s) 's1' in search request"})", Outcome::agent_error},
      {500, R"({"error":"table t: agent a:1: query timed out"})", Outcome::agent_error},
      {500,
       R"({"error":"table t: agent a:1: remote query error: unknown column: x;\ntable t: agent b:1: query timed out"})",
       Outcome::agent_error},
      {500, R"({"error":"an unknown error"})", Outcome::agent_error},
      {500, R"({"error":7})", Outcome::agent_error},
      {500, "Internal Server Error", Outcome::agent_error},
      {502, R"({"error":"unknown column: x"})", Outcome::agent_error},
      {503, R"({"error":"syntax error"})", Outcome::agent_error},
      {200, R"({"error":"unknown column: x"})", Outcome::client_mistake},
      {200, R"({"error":"disk on fire"})", Outcome::agent_error},
      {302, "", Outcome::wrong_reply},
      {204, "", Outcome::wrong_reply},
  };
  for (const auto& c : cases) {
    const auto judgement = judged(c.status, c.body);
    EXPECT_EQ(judgement.outcome, c.outcome) << c.status << ' ' << c.body;
    EXPECT_FALSE(judgement.message.empty());
  }
}

TEST(Judge, TakesRefusedCredentialsForTheClientsWhateverTheText) {
  for (const int status : {401, 403})
    for (const auto* body : {"", R"({"error":"internal error: connection refused"})"})
      EXPECT_EQ(judged(status, body).outcome, Outcome::client_mistake) << status << body;
}

TEST(Judge, GivesTheAgentsTextAsTheReasonCutToABound) {
  EXPECT_EQ(judged(500, R"({"error":"unknown column: \"x\""})").message, "unknown column: \"x\"");
  EXPECT_EQ(judged(500, "{\"error\":\"P01: syntax error near '\xC3\"}").message,
            "P01: syntax error near '\xEF\xBF\xBD");
  EXPECT_EQ(judged(500, "{\"error\":\"P01: syntax error near '\xC3\"}").outcome,
            Outcome::client_mistake);
  EXPECT_EQ(judged(500, "{\"error\":\"" + std::string(100'000, 'x') + "\"}").message.size(), 1024u);
}

TEST(Judge, LooksAtTheEndsOfWhatIsPassedThrough) {
  const auto good = answer(1, R"({"_id":1})");
  EXPECT_EQ(judged(200, good).outcome, Outcome::answered);
  EXPECT_EQ(judged(200, "\n" + good + "\r\n").outcome, Outcome::answered);
  EXPECT_EQ(judged(200, good, false, "").outcome, Outcome::answered);
  EXPECT_EQ(judged(200, good, false, "text/html").outcome, Outcome::wrong_reply);
  for (const auto* bad : {"", "{", "garbage", "{\"took\":1", "took\":1}", "[}"})
    EXPECT_EQ(judged(200, bad).outcome, Outcome::wrong_reply) << bad;
  // The content is not checked.
  EXPECT_EQ(judged(200, "{garbage}").outcome, Outcome::answered);
}

TEST(Judge, LooksAtWhatAMergeNeeds) {
  EXPECT_EQ(judged(200, answer(1, R"({"_id":1})"), true).outcome, Outcome::answered);
  for (const auto* bad : {"{garbage}", "{}", R"({"took":1})", R"({"hits":{"hits":[]}})",
                          R"({"hits":{"total":1}})", R"({"hits":[]})", "[]"})
    EXPECT_EQ(judged(200, bad, true).outcome, Outcome::wrong_reply) << bad;
  EXPECT_EQ(judged(200, "{\"x\":" + std::string(100'000, '[') + "}", true).outcome,
            Outcome::wrong_reply);
}

TEST(Judge, SeesAWarning) {
  const auto* const body =
      R"({"took":1,"timed_out":false,"warning":{"reason":"x"},"hits":{"total":1,"hits":[]}})";
  EXPECT_EQ(judged(200, body).outcome, Outcome::answered_with_warning);
  EXPECT_EQ(judged(200, body, true).outcome, Outcome::answered_with_warning);
  EXPECT_EQ(judged(200, answer(1, R"({"_id":1,"warning":{}})")).outcome, Outcome::answered);
}

TEST(Refusal, IsJsonForAnyText) {
  std::string out = "x";
  Searching().dialect().refuse(500, "bad \"\xFF\"\n", out);
  EXPECT_EQ(out, "x{\"error\":\"bad \\\"\xEF\xBF\xBD\\\"\\n\"}");
}

}  // namespace
}  // namespace karmad
