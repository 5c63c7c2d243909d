#include "balancer/pipeline/trace_scope.hpp"

#include <rapidjson/document.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "balancer/trace/line_writer.hpp"
#include "tests/balancer/pipeline/asking.hpp"

namespace karmad {
namespace {

struct TracedQuery : testing::Asking {
  /// Answers after one attempt.
  static Task<Answer> handle(Query& query) {
    open_trace(query);
    query.request.operation = "search";
    query.record.trace.table = "t";
    auto attempt = query.record.trace.begin({.mirror = "a:1", .at = query.record.began});
    attempt.end(query.record.began, Outcome::answered);
    Answer answer;
    answer.body = "12345";
    close_trace(query, answer);
    co_return answer;
  }

  /// The line that is logged for this request.
  rapidjson::Document logged(std::string_view head, std::string_view body = {}) {
    auto path = (std::filesystem::temp_directory_path() / "traced_XXXXXX").string();
    ::close(::mkstemp(path.data()));
    {
      const auto log = *LineWriter::open(path, {});
      shared.process.access_log = log.get();
      ask(handle, head, body);
      shared.process.access_log = nullptr;
    }
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    std::filesystem::remove(path);
    rapidjson::Document json;
    json.Parse(text.str().c_str());
    EXPECT_TRUE(json.IsObject()) << text.str();
    return json;
  }
};

TEST_F(TracedQuery, SendsTheTraceIfTheRequestAsksForIt) {
  const auto answer = ask(handle, "GET / HTTP/1.1\r\nHost: h\r\nX-Karmad-Trace: 1\r\n");
  rapidjson::Document json;
  json.Parse(answer.trace.c_str());
  ASSERT_TRUE(json.IsObject()) << answer.trace;
  EXPECT_STREQ(json["operation"].GetString(), "search");
  EXPECT_STREQ(json["client"].GetString(), "::1");
  EXPECT_GT(json["deadline_us"].GetInt64(), 0);
  EXPECT_STREQ(json["attempts"][0]["mirror"].GetString(), "a:1");
}

TEST_F(TracedQuery, IsSentToNoOtherClient) {
  EXPECT_EQ(ask(handle, "GET / HTTP/1.1\r\nHost: h\r\n").trace, "");
  EXPECT_EQ(ask(handle, "GET / HTTP/1.1\r\nHost: h\r\nX-Karmad-Trace: 0\r\n").trace, "");
}

TEST_F(TracedQuery, LogsOneLine) {
  const std::string head = "POST /search?a=b HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n";
  const auto json = logged(head, "abc");
  EXPECT_STREQ(json["method"].GetString(), "POST");
  EXPECT_STREQ(json["path"].GetString(), "/search");
  EXPECT_STREQ(json["table"].GetString(), "t");
  EXPECT_EQ(json["status"].GetInt(), 200);
  EXPECT_EQ(json["bytes_in"].GetUint(), head.size() + 2 + 3);
  EXPECT_EQ(json["bytes_out"].GetUint(), 5U);
  EXPECT_EQ(json["attempts"].Size(), 1U);
}

TEST_F(TracedQuery, LogsThatAnAnswerToHeadHasNoBody) {
  EXPECT_EQ(logged("HEAD / HTTP/1.1\r\nHost: h\r\n")["bytes_out"].GetUint(), 0U);
}

TEST_F(TracedQuery, LogsThatTheClientLeft) {
  leaves = true;
  const auto json = logged("GET / HTTP/1.1\r\nHost: h\r\n");
  EXPECT_EQ(json["status"].GetInt(), 499);
  EXPECT_EQ(json["bytes_out"].GetUint(), 0U);
}

}  // namespace
}  // namespace karmad
