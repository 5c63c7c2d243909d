#include "balancer/status/status_json.hpp"

#include <gtest/gtest.h>
#include <rapidjson/document.h>
#include <rapidjson/pointer.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <limits>
#include <string>

#include "tests/balancer/status/sample.hpp"

namespace karmad {
namespace {

std::string document(const Snapshot& snapshot) {
  std::string out;
  append_agents_json(out, snapshot);
  return out;
}

/// The value at a JSON pointer, as JSON.
std::string at(const rapidjson::Document& document, const std::string& pointer) {
  const auto* value = rapidjson::Pointer(pointer).Get(document);
  if (value == nullptr) return "(nothing)";
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  value->Accept(writer);
  return buffer.GetString();
}

TEST(AgentsJson, ShowsEveryNumberOfAMirror) {
  rapidjson::Document parsed;
  parsed.Parse(document(sample_snapshot()));
  ASSERT_FALSE(parsed.HasParseError());
  const std::string mirror = "/tables/0/shards/0/mirrors/0";
  const std::string totals =
      R"("query_timeouts":0,"connect_timeouts":0,"connect_failures":0,"network_errors":0,)"
      R"("wrong_query":0,"wrong_replies":0,"unexpected_closings":0,"warnings":0,)"
      R"("succeeded_queries":7,"queries":4,"query_ms_mean":1.542,"connect_count":3,)"
      R"("connect_ms_mean":0.304,"connect_ms_max":0.885})";
  EXPECT_EQ(
      at(parsed, mirror),
      R"({"mirror":1,"address":"127.0.0.1:9321","tables":["s1"],"state":"ready",)"
      R"("state_since":"","reason":"",)"
      R"("diagnosis":"127.0.0.1:9321 ready",)"
      R"("weight":0.6667,"probability":1.0,"service":"ready","configured_weight":1.0,)"
      R"("search_duration_ms":null,)"
      R"("failure_penalty_ms":0.0,"started":1.0,"persistent":false,"blackhole":false,)"
      R"("role":"primary","tags":"dc:ny,rack:2","staleness_ms":null,)"
      R"("generation":18446744073709551615,"rtt_ms":0.958,"rtt_ms_least":0.812,)"
      R"("load":0.25,"unsuitable":"",)"
      R"("errors_in_a_row":0,"last_error":"","last_error_at":"","pinged":true,"ping_ms":0.958,"in_flight":1,)"
      R"("max_in_flight":16,"open_connections":3,"waiting":0,"last_query_s":0.17,"last_answer_s":0.165,)"
      R"("latency_ms":{"mean":1.542,"p50":1.4,"p95":2.0,"p99":2.04},)"
      R"("periods":{"1":{)" +
          totals + R"(,"5":{)" + totals + R"(,"15":{)" + totals +
          R"(},"since_start":{"attempts":7,)" + totals + "}");
}

TEST(AgentsJson, GoesByTableShardAndMirror) {
  rapidjson::Document parsed;
  parsed.Parse(document(sample_snapshot()));
  ASSERT_FALSE(parsed.HasParseError());
  const std::pair<std::string, std::string> cases[] = {
      {"/version", "\"0.1.0\""},
      {"/uptime_s", "3723.5"},
      {"/period_s", "60.0"},
      {"/stored_periods", "15"},
      {"/tables/0/name", "\"products\""},
      {"/tables/0/dialect", "\"manticore\""},
      {"/tables/0/shards/0/shard", "1"},
      {"/tables/0/shards/0/strategy", "\"nodeads\""},
      {"/tables/0/shards/0/kind", "\"roles\""},
      {"/tables/0/shards/0/mixed", "true"},
      {"/tables/0/shards/0/criteria",
       R"("{\"mode\":\"secondaryPreferred\",\"maxStalenessSeconds\":120}")"},
      {"/tables/0/shards/0/max_in_flight",
       R"({"waiting":2,"waited":9,"refused":4,"waited_ms":31.25})"},
      {"/tables/0/shards/0/mirrors/1/max_in_flight", "null"},
      {"/tables/0/shards/0/mirrors/1/mirror", "2"},
      {"/tables/0/shards/0/mirrors/1/role", "\"unknown\""},
      {"/tables/0/shards/0/mirrors/1/tags", "\"\""},
      {"/tables/0/shards/0/mirrors/1/staleness_ms", "null"},
      {"/tables/0/shards/0/mirrors/1/generation", "null"},
      {"/tables/0/shards/0/mirrors/1/rtt_ms", "null"},
      {"/tables/0/shards/0/mirrors/1/rtt_ms_least", "null"},
      {"/tables/0/shards/0/mirrors/1/load", "null"},
      {"/tables/0/shards/0/mirrors/1/unsuitable", "\"not reachable: connection refused\""},
      {"/tables/0/shards/0/mirrors/1/tables", R"(["s1","s1b"])"},
      {"/tables/0/shards/0/mirrors/1/state", "\"dead\""},
      {"/tables/0/shards/0/mirrors/1/reason", "\"connection refused\""},
      {"/verdict",
       "\"table products, shard 1: 1 of 2 mirrors ready: 127.0.0.1:9322 dead: "
       "connection refused\""},
      {"/tables/0/shards/0/mirrors/1/probability", "0.0"},
      {"/tables/0/shards/0/mirrors/1/last_error", "\"connection refused\""},
      {"/tables/0/shards/0/mirrors/1/ping_ms", "null"},
      {"/tables/0/shards/0/mirrors/1/latency_ms",
       R"({"mean":null,"p50":null,"p95":null,"p99":null})"},
      {"/tables/0/shards/0/mirrors/1/periods/5/connect_failures", "11"},
      {"/tables/0/shards/0/mirrors/1/periods/5/connect_ms_max", "null"},
      {"/tables/0/shards/0/mirrors/1/since_start/attempts", "11"},
      {"/tables/0/shards/1/shard", "2"},
      {"/tables/0/shards/1/kind", "\"direct\""},
      {"/tables/0/shards/1/mixed", "false"},
      {"/tables/0/shards/1/criteria", "\"\""},
      {"/tables/0/shards/1/mirrors/0/persistent", "true"},
      {"/tables/0/shards/1/mirrors/0/role", "\"replica\""},
      {"/tables/0/shards/1/mirrors/0/tags", "\"dc:sf\""},
      {"/tables/0/shards/1/mirrors/0/staleness_ms", "2500.0"},
      {"/tables/0/shards/1/mirrors/0/generation", "41"},
      {"/tables/0/blackholes/0/shard", "3"},
      {"/tables/0/blackholes/0/kind", "(nothing)"},
      {"/tables/0/blackholes/0/mirrors/0/state", "\"blackhole\""},
      {"/tables/0/blackholes/0/mirrors/0/role", "(nothing)"},
      {"/tables/1/shards", "[]"},
  };
  for (const auto& [pointer, expected] : cases) EXPECT_EQ(at(parsed, pointer), expected) << pointer;
}

TEST(AgentsJson, IsValidJsonForAnyTextOfAnAgent) {
  auto snapshot = sample_snapshot();
  snapshot.agents[0].last_error = std::string("\"\\\x00\xff\xc3(", 6);
  auto& standing = snapshot.tables[0].shards[0].mirrors[0].standing;
  standing.tags = "a:\xff";
  standing.unsuitable = "\"\n";
  standing.load = std::numeric_limits<double>::infinity();
  rapidjson::Document parsed;
  parsed.Parse<rapidjson::kParseValidateEncodingFlag>(document(snapshot));
  ASSERT_FALSE(parsed.HasParseError());
  EXPECT_EQ(at(parsed, "/tables/0/shards/0/mirrors/0/last_error"),
            "\"\\\"\\\\\\u0000\xEF\xBF\xBD\xEF\xBF\xBD(\"");
  EXPECT_EQ(at(parsed, "/tables/0/shards/0/mirrors/0/tags"), "\"a:\xEF\xBF\xBD\"");
  EXPECT_EQ(at(parsed, "/tables/0/shards/0/mirrors/0/unsuitable"), R"("\"\n")");
  EXPECT_EQ(at(parsed, "/tables/0/shards/0/mirrors/0/load"), "null");
}

}  // namespace
}  // namespace karmad
