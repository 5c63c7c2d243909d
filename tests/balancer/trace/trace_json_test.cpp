#include "balancer/trace/trace_json.hpp"

#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <algorithm>

namespace karmad {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kBegan{1s};

rapidjson::Document parsed(const std::string& text) {
  rapidjson::Document json;
  json.Parse<rapidjson::kParseValidateEncodingFlag>(text.c_str(), text.size());
  EXPECT_FALSE(json.HasParseError()) << text;
  return json;
}

bool is_printable(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7f; });
}

struct TraceJson : testing::Test {
  TraceJson() {
    trace.id = 7;
    trace.client = "127.0.0.1";
    trace.operation = "search";
    trace.table = "products";
    trace.began = kBegan;
    trace.deadline = kBegan + 30s;
  }

  void failed_attempt(std::string error) {
    trace.begin({.mirror = "a:1", .at = kBegan + 10us})
        .end(kBegan + 40us, Outcome::broken, std::move(error));
  }
  std::string field() const {
    std::string out;
    append_json(out, trace, kBegan + 90us);
    return out;
  }
  std::string line(const Access& access = {}) const {
    std::string out;
    append_access_json(out, trace, kBegan + 1234us, access);
    return out;
  }

  Trace trace;
};

TEST_F(TraceJson, ShowsTheRequestAndItsAttempts) {
  failed_attempt("reset");
  auto second = trace.begin({.shard = 2,
                             .mirror = "b:2",
                             .reason = AttemptReason::hedge,
                             .choice = {"nodeads", 3, 2},
                             .pause = 5us,
                             .at = kBegan + 50us});
  second.connected(kBegan + 60us);
  second.first_byte(kBegan + 70us);
  second.end(kBegan + 80us, Outcome::answered);
  EXPECT_EQ(field(),
            R"({"id":7,"operation":"search","table":"products","client":"127.0.0.1",)"
            R"("deadline_us":30000000,"took_us":90,"attempts":[)"
            R"({"shard":1,"mirror":"a:1","reason":"initial","start_us":10,"end_us":40,)"
            R"("outcome":"connection broken","error":"reset"},)"
            R"({"shard":2,"mirror":"b:2","reason":"hedge","strategy":"nodeads","suitable":3,)"
            R"("acceptable":2,"pause_us":5,"start_us":50,"connected_us":60,"first_byte_us":70,)"
            R"("end_us":80,"outcome":"answered"}]})");
}

TEST_F(TraceJson, NamesTheRequestAndItsTrace) {
  trace.request_id = "abc";
  trace.trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
  trace.begin({.mirror = "a:1", .span = 0xabc, .at = kBegan}).end(kBegan, Outcome::answered);
  for (const auto& text : {field(), line()}) {
    const auto json = parsed(text);
    EXPECT_STREQ(json["request_id"].GetString(), "abc");
    EXPECT_STREQ(json["trace_id"].GetString(), "4bf92f3577b34da6a3ce929d0e0e4736");
    EXPECT_STREQ(json["attempts"][0]["span_id"].GetString(), "0000000000000abc");
  }
}

TEST_F(TraceJson, ShowsTheWaitForTickets) {
  EXPECT_EQ(field().find("queued_us"), std::string::npos);
  trace.queued = 1500us;
  EXPECT_EQ(parsed(field())["queued_us"].GetInt(), 1500);
  EXPECT_EQ(parsed(line())["queued_us"].GetInt(), 1500);
}

TEST_F(TraceJson, ShowsTheHedgesOfAShard) {  // CO-086
  trace.begin({.mirror = "a:1", .hedging = HedgeRules{.threshold = 100ms, .step = 50ms}})
      .end(kBegan + 120us, Outcome::cancelled);
  trace.begin({.mirror = "b:2", .reason = AttemptReason::hedge})
      .end(kBegan + 120us, Outcome::answered);
  const auto json = parsed(field());
  EXPECT_STREQ(json["attempts"][0]["hedging"].GetString(), "t:100ms, s:50ms, w:False");
  EXPECT_FALSE(json["attempts"][1].HasMember("hedging"));
}

TEST_F(TraceJson, IsAValidFieldForAnyTextOfAnAgent) {
  failed_attempt("\xff\"\\\r\n\t\x7f\x01 \xc3\xa4 \xf0\x9f\x98\x80");
  const auto text = field();
  EXPECT_TRUE(is_printable(text)) << text;
  const auto json = parsed(text);
  EXPECT_STREQ(json["attempts"][0]["error"].GetString(),
               "\xEF\xBF\xBD\"\\\r\n\t\x7f\x01 \xc3\xa4 \xf0\x9f\x98\x80");
}

TEST_F(TraceJson, LeavesOutAttemptsThatWouldMakeItTooLong) {
  for (int i = 0; i < 100; ++i) failed_attempt(std::string(1000, '\xff'));
  const auto text = field();
  EXPECT_LE(text.size(), kTraceFieldSize);
  const auto json = parsed(text);
  EXPECT_GE(json["attempts"].Size(), 2U);
  EXPECT_EQ(json["attempts"].Size() + json["left_out"].GetUint(), 100U);
}

TEST_F(TraceJson, StaysShortForAnyNames) {
  const std::string hostile(100000, '\x01');
  trace.client = trace.operation = trace.table = hostile;
  const std::string longest_id(128, 'x');
  trace.request_id = longest_id;
  trace.trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
  trace.begin({.mirror = hostile, .choice = {.strategy = hostile}, .span = 1, .at = kBegan})
      .end(kBegan, Outcome::broken, hostile);
  const auto text = field();
  EXPECT_LE(text.size(), kTraceFieldSize);
  parsed(text);
}

TEST_F(TraceJson, IsALineOfTheAccessLog) {
  failed_attempt("reset");
  trace.begin({.mirror = "b:2", .reason = AttemptReason::retry, .at = kBegan + 50us})
      .end(kBegan + 80us, Outcome::answered);
  trace.partial = true;
  EXPECT_EQ(
      line({.time = std::chrono::system_clock::time_point(1700000000s + 42us),
            .method = "POST",
            .path = "/search",
            .status = 200,
            .bytes_in = 321,
            .bytes_out = 45}),
      R"({"time":"2023-11-14T22:13:20.000042Z","id":7,"client":"127.0.0.1","method":"POST",)"
      R"("path":"/search","operation":"search","table":"products","status":200,"bytes_in":321,)"
      R"("bytes_out":45,"end":"partial","total_ms":1.234,"hedged":false,"retried":true,"partial":true,)"
      R"("attempts":[{"shard":1,"mirror":"a:1","reason":"initial","start_us":10,"end_us":40,)"
      R"("outcome":"connection broken","error":"reset"},{"shard":1,"mirror":"b:2",)"
      R"("reason":"retry","start_us":50,"end_us":80,"outcome":"answered"}]})");
}

TEST_F(TraceJson, ShowsWhyAnAnswerIsIncomplete) {
  EXPECT_FALSE(line({.bytes_out = 5}).contains("broken_off"));
  EXPECT_TRUE(line({.bytes_out = 5, .broken_off = "it \"closed\""})
                  .contains(R"("bytes_out":5,"broken_off":"it \"closed\"","end":"broken_off",)"));
}

TEST_F(TraceJson, ShowsTheStatusOfAnErrorReply) {
  const auto ended = [this](Outcome outcome, int status) {
    trace.begin({.mirror = "a:1", .at = kBegan}).end(kBegan + 1us, outcome, "", status);
  };
  ended(Outcome::agent_error, 503);
  ended(Outcome::answered, 200);
  ended(Outcome::connect_failed, 0);
  for (const auto& text : {field(), line()}) {
    const auto json = parsed(text);
    EXPECT_EQ(json["attempts"][0]["status"].GetInt(), 503);
    EXPECT_FALSE(json["attempts"][1].HasMember("status"));
    EXPECT_FALSE(json["attempts"][2].HasMember("status"));
  }
}

TEST_F(TraceJson, TellsTheProbabilityOfALine) {
  EXPECT_FALSE(line().contains("sample"));
  EXPECT_TRUE(line({.sample = 0.01}).contains(R"("partial":false,"sample":0.01,"attempts")"));
}

TEST_F(TraceJson, SaysInTheLogWhyARequestWasRefused) {
  EXPECT_TRUE(line({.status = 429, .reason = "so \"busy\""})
                  .contains(R"("end":"refused","reason":"so \"busy\"","total_ms")"));
}

TEST_F(TraceJson, TellsHowLongTheMergeTook) {
  EXPECT_FALSE(line().contains("merge_us"));
  trace.merge = 0us;
  EXPECT_EQ(parsed(line())["merge_us"].GetInt(), 0);
  EXPECT_EQ(parsed(field())["merge_us"].GetInt(), 0);
}

TEST_F(TraceJson, ShowsUniversalTime) {
  const struct {
    std::chrono::microseconds since;
    std::string_view text;
  } cases[] = {
      {0us, "1970-01-01T00:00:00.000000Z"},
      {951782399s + 999999us, "2000-02-28T23:59:59.999999Z"},
      {951782400s, "2000-02-29T00:00:00.000000Z"},
      {1735689599s + 1us, "2024-12-31T23:59:59.000001Z"},
      {1735689600s, "2025-01-01T00:00:00.000000Z"},
  };
  for (const auto& c : cases)
    EXPECT_EQ(parsed(line({.time = std::chrono::system_clock::time_point(c.since)}))["time"],
              rapidjson::Value(c.text.data(), static_cast<unsigned>(c.text.size())));
}

TEST_F(TraceJson, KeepsALineToOneLineAndToABoundedLength) {
  const std::string hostile(100000, '\n');
  for (int i = 0; i < 100; ++i) failed_attempt(hostile);
  const auto text = line({.method = hostile, .path = hostile});
  EXPECT_TRUE(is_printable(text));
  EXPECT_LT(text.size(), 64U << 10);
  EXPECT_GT(parsed(text)["left_out"].GetUint(), 35U);
}

}  // namespace
}  // namespace karmad
