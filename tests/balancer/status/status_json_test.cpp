#include "balancer/status/rows/agent_status.hpp"

#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include "tests/balancer/status/sample.hpp"

namespace karmad {
namespace {

rapidjson::Document told_of(const Snapshot& snapshot) {
  std::string text;
  append_status_json(text, snapshot);
  rapidjson::Document json;
  json.Parse<rapidjson::kParseValidateEncodingFlag>(text.c_str(), text.size());
  EXPECT_TRUE(json.IsObject()) << text;
  return json;
}

TEST(StatusJson, HasTheRowsOfShowStatus) {
  auto snapshot = sample_snapshot();
  snapshot.process.counters.push_back({{.name = "search_tickets_total"}, Unlimited{}});
  snapshot.process.counters.push_back({{.name = "search_tickets_available"}, -2});
  const auto json = told_of(snapshot);
  EXPECT_TRUE(json["uptime"].IsInt());
  EXPECT_EQ(json["ag_products_1_2_connect_failures"].GetInt(), 11);
  EXPECT_DOUBLE_EQ(json["ag_products_1_1_connect_max"].GetDouble(), 0.885);
  EXPECT_STREQ(json["search_tickets_total"].GetString(), "unlimited");
  EXPECT_EQ(json["search_tickets_available"].GetInt(), -2);
}

TEST(StatusJson, WritesEveryValueByItsType) {
  const struct {
    StatValue value;
    const char* json;
    Unit unit = Unit::count;
  } cases[] = {{0U, "0"},
               {-1, "-1"},
               {0.5, "0.5"},
               {Micros{12250}, "12.250", Unit::milliseconds},
               {Micros{12250000}, "12.250", Unit::seconds},
               {18446744073709551615U, "18446744073709551615"},
               {{}, R"("n/a")"},
               {Unlimited{}, R"("unlimited")"},
               {0.5, R"("50.00%")", Unit::share},
               {true, R"("yes")"}};
  for (const auto& c : cases) {
    Snapshot snapshot;
    snapshot.process.counters.push_back({{.name = "x", .unit = c.unit}, c.value});
    std::string text;
    append_status_json(text, snapshot);
    EXPECT_TRUE(text.ends_with(std::string(R"(,"x":)") + c.json + "}")) << text;
  }
}

TEST(StatusJson, SurvivesBytesThatAreNoText) {
  Snapshot snapshot;
  snapshot.process.version = "\xc3";
  snapshot.process.counters.push_back({{.name = "\xff\"\\"}, 1U});
  snapshot.process.counters.push_back({{.name = "\xff\"\\"}, 2U});
  EXPECT_TRUE(told_of(snapshot).IsObject());
}

}  // namespace
}  // namespace karmad
