#include "agent/dialect/rows/json_path.hpp"

#include <gtest/gtest.h>

namespace karmad {
namespace {

TEST(JsonPath, IsReadInAllItsForms) {
  const auto read = [](std::string_view name) {
    const auto path = read_json_path(name);
    if (!path) return std::string("none");
    auto text = path->attribute;
    for (const auto& step : path->steps)
      text += step.element ? " #" + std::to_string(*step.element) : " " + step.member;
    return text;
  };
  EXPECT_EQ(read("meta.s"), "meta s");
  EXPECT_EQ(read("meta['s']"), "meta s");
  EXPECT_EQ(read("meta[\"s\"].Deep[3]['a.b'].c"), "meta s Deep #3 a.b c");
  EXPECT_EQ(read("list[0]"), "list #0");
  for (const auto* plain :
       {"price", "", ".a", "[0]", "a.", "a..b", "a[", "a[]", "a['", "a['b", "a['b'", "a['']", "a[1",
        "a[-1]", "a[1]b", "a['b']c", "a[99999999999999999999]"})
    EXPECT_EQ(read(plain), "none") << plain;
}

TEST(JsonPath, LeadsToAValue) {
  constexpr std::string_view value =
      R"({"a":1,"A":2,"b":{"c":[10,{"d":"x"}]},"e\u0066":3,"g":null,"a":4})";
  const auto at = [&](std::string_view name) {
    return value_at(value, read_json_path(name)->steps);
  };
  EXPECT_EQ(at("m.a"), "1");
  EXPECT_EQ(at("m.A"), "2") << "members differ by case";
  EXPECT_EQ(at("m.b.c[0]"), "10");
  EXPECT_EQ(at("m.b.c[1].d"), R"("x")");
  EXPECT_EQ(at("m.ef"), "3");
  EXPECT_EQ(at("m.g"), "null");
  for (const auto* nowhere :
       {"m.x", "m.B", "m.a.b", "m[0]", "m.b[0]", "m.b.c.d", "m.b.c[2]", "m.e"})
    EXPECT_EQ(at(nowhere), "") << nowhere;
  EXPECT_EQ(value_at(R"({"a":)", read_json_path("m.a")->steps), "");
  EXPECT_EQ(value_at(R"([1,)", read_json_path("m[1]")->steps), "");
}

}  // namespace
}  // namespace karmad
