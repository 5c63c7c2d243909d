#include "balancer/handover/learned.hpp"

#include <gtest/gtest.h>

namespace karmad {
namespace {

using namespace std::chrono_literals;

Learned learned_example() {
  LearnedMirror mirror{.address = "10.0.0.1:9312", .tables = {"a", "b"}};
  mirror.memory.karma = 0.25;
  mirror.memory.description = parse_description(R"({"role":"primary","set":"s"})").value();
  mirror.memory.trip = 321us;
  mirror.memory.signals = {.latency = 1500.5F,
                           .penalty = 12.5F,
                           .load = 0.5F,
                           .failures_in_a_row = 3,
                           .answers_since_start = 9,
                           .starting_for = 2s};
  mirror.memory.latencies[0] = 4;
  mirror.memory.latencies[kLatencyBuckets - 1] = 7;
  mirror.rest = {.unavailable = 3s, .paused = 90s};
  mirror.failures = {{{11, 2s}, {0, 0us}}};
  mirror.ejection = {true, 3, 5s, "8 failures in a row"};
  mirror.standing = {.known = true, .unreachable = true, .answers = 2, .needed = 8};
  LearnedMirror unknown{.address = "/run/m.sock", .tables = {"a"}};
  LearnedAgent agent{.address = "10.0.0.1:9312",
                     .errors_in_a_row = 4,
                     .answered = true,
                     .ping_trip = 250us,
                     .limit = ConcurrencyLimit::Learned{23.5, 800us},
                     .last_error = "said \"no\"\n",
                     .last_error_at = 1'764'000'000'123'456us};
  return {.tables = {{.name = "t", .shards = {{mirror, unknown}, {unknown}}}},
          .agents = {agent, {.address = "/run/m.sock"}},
          .tickets = LearnedTickets{40, 1234.5},
          .overrides = R"({"weight":2})"};
}

TEST(Learned, IsReadAsItWasWritten) {
  const auto learned = learned_example();
  const auto read = parse_learned(to_json(learned));
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(*read, learned);
  EXPECT_EQ(parse_learned(to_json(Learned{})), Learned{});
}

TEST(Learned, OfAnotherVersionIsNotRead) {
  EXPECT_EQ(parse_learned(R"({"version":2})").error(),
            "it has version 2, karmad " KARMAD_VERSION " reads version 1");
  EXPECT_FALSE(parse_learned("{}"));
  EXPECT_EQ(parse_learned("").error(), "it is no JSON object");
  EXPECT_EQ(parse_learned("[1]").error(), "it is no JSON object");
  EXPECT_FALSE(parse_learned(std::string(1 << 20, '[')));
  for (const auto* wrong :
       {"{\"version\":1,\"agents\":[{\"address\":\"a\xff\"}]}", "{\"version\":1,\"\xc3\":2}",
        R"({"version":1,"tickets":{"throughput":1e999}})"})
    EXPECT_EQ(parse_learned(wrong).error(), "it is no JSON object") << wrong;
}

TEST(Learned, WithMembersOfWrongTypesOrValuesHasTheirDefaults) {
  const auto read = parse_learned(
      R"({"version":1,"agents":[7,{"address":1,"errors_in_a_row":-3,"ping_trip_us":1e300}],)"
      R"("tables":[{"name":"t","shards":[5,[{"karma":"x","latencies":[99999,1,2,-5,3],)"
      R"("failures":[1],"description":"no","answers_in_a_row":1000}]]}],"more":{}})");
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->agents.size(), 2u);
  EXPECT_EQ(read->agents[1].errors_in_a_row, 0u);
  EXPECT_LE(read->agents[1].ping_trip, 24h * 365);
  ASSERT_EQ(read->tables.at(0).shards.size(), 2u);
  const auto& mirror = read->tables[0].shards[1].at(0);
  EXPECT_EQ(mirror.memory.karma, 0);
  EXPECT_FALSE(mirror.memory.description);
  EXPECT_EQ(mirror.memory.latencies, LatencyCounts{});
  EXPECT_EQ(mirror.standing.answers, 255);
}

}  // namespace
}  // namespace karmad
