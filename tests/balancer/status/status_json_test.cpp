#include "balancer/status/status_json.hpp"

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
  snapshot.process.counters.push_back({"search_tickets_total", "", "unlimited"});
  snapshot.process.counters.push_back({"search_tickets_available", "", "-2"});
  const auto json = told_of(snapshot);
  EXPECT_TRUE(json["uptime"].IsInt());
  EXPECT_EQ(json["ag_products_1_2_connect_failures"].GetInt(), 11);
  EXPECT_DOUBLE_EQ(json["ag_products_1_1_connect_max"].GetDouble(), 0.885);
  EXPECT_STREQ(json["search_tickets_total"].GetString(), "unlimited");
  EXPECT_EQ(json["search_tickets_available"].GetInt(), -2);
}

TEST(StatusJson, TakesForANumberOnlyWhatJsonDoes) {
  const struct {
    const char* text;
    bool number;
  } cases[] = {{"0", true},
               {"-1", true},
               {"0.5", true},
               {"12.250", true},
               {"18446744073709551615", true},
               {"", false},
               {"-", false},
               {"01", false},
               {"1.", false},
               {".5", false},
               {"1e5", false},
               {"+1", false},
               {"0.1.0", false},
               {"nan", false}};
  for (const auto& c : cases) {
    Snapshot snapshot;
    snapshot.process.counters.push_back({"x", "", c.text});
    EXPECT_EQ(told_of(snapshot)["x"].IsNumber(), c.number) << c.text;
  }
}

TEST(StatusJson, SurvivesBytesThatAreNoText) {
  Snapshot snapshot;
  snapshot.process.counters.push_back({"\xff\"\\", "", "\xc3"});
  snapshot.process.counters.push_back({"\xff\"\\", "", "twice"});
  EXPECT_TRUE(told_of(snapshot).IsObject());
}

}  // namespace
}  // namespace karmad
