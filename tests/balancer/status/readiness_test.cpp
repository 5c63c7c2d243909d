#include "balancer/status/status_json.hpp"

#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include "tests/config/written.hpp"

namespace karmad {
namespace {

constexpr auto kOneShard = "table t {\n type = distributed\n agent = a:1|b:2:x\n}\n";

struct Readiness : ::testing::Test {
  AgentRegistry registry{1, std::chrono::seconds(60)};
  Loops loops;
  Problems problems;
  std::shared_ptr<const Topology> topology = Topology::build(
      *load_text(kOneShard).settings, {.registry = registry, .loops = loops}, nullptr, problems);

  Agent& agent(std::size_t i) { return *topology->agents[i]; }
};

TEST_F(Readiness, NeedsOneMirrorOfEveryShardThatAnsweredAndIsNotDead) {  // HA-022
  EXPECT_FALSE(readiness(*topology, /*draining=*/false, 0).first);
  agent(1).counters.answered = true;
  agent(1).counters.errors_in_a_row = 3;
  EXPECT_TRUE(readiness(*topology, /*draining=*/false, 0).first);
  agent(1).counters.errors_in_a_row = 4;
  EXPECT_FALSE(readiness(*topology, /*draining=*/false, 0).first);
  agent(0).counters.answered = true;
  EXPECT_TRUE(readiness(*topology, /*draining=*/false, 0).first);
  EXPECT_FALSE(readiness(*topology, /*draining=*/true, 0).first);
}

TEST_F(Readiness, DoesNotNeedATableThatIsNotRequiredUnlessItIsAskedFor) {
  const auto two = Topology::build(
      *load_text("table t {\n type = distributed\n agent = a:1\n}\n"
                 "table spare {\n type = distributed\n agent = c:1\n required = no\n}\n")
           .settings,
      {.registry = registry, .loops = loops}, nullptr, problems);
  two->agents[0]->counters.answered = true;
  const auto [ready, body] = readiness(*two, /*draining=*/false, 0);
  EXPECT_TRUE(ready);
  EXPECT_TRUE(body.contains(R"("table":"spare","shard":1,"required":false)")) << body;
  EXPECT_FALSE(readiness(*two, /*draining=*/false, 0, two->find("spare")).first);
  EXPECT_TRUE(readiness(*two, /*draining=*/false, 0, two->find("t")).first);
  EXPECT_FALSE(readiness(*two, /*draining=*/true, 0, two->find("t")).first);
}

TEST_F(Readiness, IsJsonForAnyTextOfAnAgent) {
  agent(0).last_error("\xff\"}\n");
  const auto [ready, body] = readiness(*topology, /*draining=*/false, 0);
  EXPECT_FALSE(ready);
  rapidjson::Document json;
  json.Parse<rapidjson::kParseValidateEncodingFlag>(body.c_str());
  ASSERT_FALSE(json.HasParseError()) << body;
  const auto& mirrors = json["missing"][0]["mirrors"];
  EXPECT_STREQ(mirrors[0]["why"].GetString(), "\xEF\xBF\xBD\"}\n");
  EXPECT_STREQ(mirrors[1]["why"].GetString(), "has not answered yet");
}

}  // namespace
}  // namespace karmad
