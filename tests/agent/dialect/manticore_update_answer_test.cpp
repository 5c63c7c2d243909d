#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tests/agent/dialect/updating.hpp"

namespace karmad {
namespace {

TEST(JudgeUpdate, DistinguishesMistakesOfTheClientFromErrorsOfTheAgent) {
  const Updating updating;
  const struct {
    int status;
    std::string_view body;
    Outcome outcome;
  } cases[] = {
      // Done.
      {200, R"({"table":"m","id":51,"created":true,"result":"created","status":201})",
       Outcome::answered},
      {201, R"({"_index":"m","_id":51,"result":"created"})", Outcome::answered},
      {200, R"({"table":"m","id":51,"result":"updated"})", Outcome::answered},
      {200, R"({"table":"m","updated":0})", Outcome::answered},
      {200, R"({"table":"m","id":5,"found":false,"result":"not found"})", Outcome::answered},
      {200,
       R"({"items":[{"bulk":{"table":"m","_id":50,"created":1}}],"current_line":3,"skipped_lines":0,"errors":false,"error":""})",
       Outcome::answered},
      {200, R"({"items":[],"errors":false,"warning":{"reason":"x"}})",
       Outcome::answered_with_warning},
      // A bulk that failed in parts: the client reads which.
      {200, R"({"items":[{"insert":{"status":409}}],"errors":true,"error":"out of memory"})",
       Outcome::answered},
      {500,
       R"({"items":[{"replace":{"error":{"type":"table 'm' does not support INSERT","table":"m"},"status":409}}],"current_line":1,"skipped_lines":1,"errors":true,"error":"table 'm' does not support INSERT"})",
       Outcome::client_mistake},
      {500, R"({"items":[],"errors":true,"error":"an unknown error"})", Outcome::client_mistake},
      {500, R"({"items":[],"errors":true})", Outcome::client_mistake},
      // Conflicts.
      {409,
       R"({"error":{"type":"action_request_validation_exception","reason":"table 'm' does not support INSERT","table":"m"},"status":409})",
       Outcome::client_mistake},
      {500, R"({"error":{"type":"duplicate id '51'","index":"m"},"status":500})",
       Outcome::client_mistake},
      {500, R"({"error":{"type":"text of tomorrow","table":"m"},"status":409})",
       Outcome::client_mistake},
      {500,
       R"({"error":{"type":"attribute 'a' can not be updated (must be boolean)."},"status":500})",
       Outcome::client_mistake},
      {500, R"({"error":{"type":"table m: attribute 'x' not found"},"status":500})",
       Outcome::client_mistake},
      {500, R"({"error":"column count does not match schema"})", Outcome::client_mistake},
      {400, R"({"error":"Error parsing json query: x"})", Outcome::client_mistake},
      {404, "", Outcome::client_mistake},
      // The mirror's.
      {200, R"({"error":"disk on fire"})", Outcome::agent_error},
      {200, R"({"error":{"type":"unknown column: 'x'"}})", Outcome::client_mistake},
      {409, R"({"error":{"reason":"unknown local table 'm'"},"status":409})", Outcome::agent_error},
      {500, R"({"error":{"type":"an unknown error"},"status":500})", Outcome::agent_error},
      {500, R"({"error":{"type":"unknown local table 'm'"},"status":500})", Outcome::agent_error},
      {500, "Internal Server Error", Outcome::wrong_reply},
      {429, R"({"errors":true})", Outcome::agent_error},
      {503, R"({"errors":true})", Outcome::agent_error},
      {204, "", Outcome::wrong_reply},
      {302, "", Outcome::wrong_reply},
      {200, "garbage", Outcome::wrong_reply},
      {200, "", Outcome::wrong_reply},
  };
  for (const auto& c : cases) {
    const auto judged = updating.judged(c.status, c.body);
    EXPECT_EQ(judged.outcome, c.outcome) << c.status << ' ' << c.body << ' ' << judged.message;
    const bool done = c.outcome == Outcome::answered || c.outcome == Outcome::answered_with_warning;
    EXPECT_EQ(judged.message.empty(), done) << c.body;
  }
  EXPECT_EQ(updating.judged(500, R"({"error":{"type":"duplicate id '51'"}})").message,
            "duplicate id '51'");
  EXPECT_EQ(updating.judged(200, "{}", "text/html").outcome, Outcome::wrong_reply);
}

TEST(AnswerToAnUpdate, NamesTheTableAsTheClientDid) {
  const Updating updating;
  const Parsed parsed{.table = "Pro\"ducts", .answer = PassedAnswer::with_table};
  const struct {
    std::string_view answer, told;
  } cases[] = {
      {R"({"table":"m","id":51,"created":true,"result":"created","status":201})",
       R"({"table":"Pro\"ducts","id":51,"created":true,"result":"created","status":201})"},
      {R"( { "_index" : "m" , "_id":51,"doc":{"table":"m"}} )",
       R"( { "_index" : "Pro\"ducts" , "_id":51,"doc":{"table":"m"}} )"},
      {R"({"error":{"type":"x","reason":"table 'm' does not support INSERT","table":"m"},"status":409})",
       R"({"error":{"type":"x","reason":"table 'm' does not support INSERT","table":"Pro\"ducts"},"status":409})"},
      {R"({"items":[{"bulk":{"table":"m","_id":1}},{"insert":{"error":{"type":"x","index":"m"},"status":409}},7,{"x":[]}],"errors":true,"error":""})",
       R"({"items":[{"bulk":{"table":"Pro\"ducts","_id":1}},{"insert":{"error":{"type":"x","index":"Pro\"ducts"},"status":409}},7,{"x":[]}],"errors":true,"error":""})"},
  };
  for (const auto& c : cases)
    EXPECT_EQ(body_for_client(parsed, 200, c.answer).value_or("as it came"), c.told);
  for (const auto* same :
       {R"({"table":"Pro\"ducts","id":1})", R"({"table":7})", R"({"error":"x"})", "[]", "", "x",
        R"({"table":"m")", R"({"items":[{"bulk":{"table":"m"}]})"})
    EXPECT_EQ(body_for_client(parsed, 200, same), std::nullopt) << same;
  const auto longer = R"({"table":"m","x":")" + std::string(1 << 20, 'x') + "\"}";
  EXPECT_EQ(body_for_client(parsed, 200, longer), std::nullopt);
}

TEST(RefusedUpdate, IsJsonForAnyText) {
  std::string out = "x";
  Updating().dialect().refuse(400, "bad \"\xFF\"\n", out);
  EXPECT_EQ(out, "x{\"error\":\"bad \\\"\xEF\xBF\xBD\\\"\\n\"}");
}

}  // namespace
}  // namespace karmad
