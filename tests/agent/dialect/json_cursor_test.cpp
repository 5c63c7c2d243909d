#include "agent/dialect/manticore_json/json_cursor.hpp"

#include <gtest/gtest.h>

#include <string>

#include "agent/dialect/manticore_json/json_text.hpp"

namespace karmad {
namespace {

std::string taken(std::string_view text) {
  JsonCursor json(text);
  const auto value = take_value(json);
  return value ? std::string(*value) : "malformed";
}

TEST(JsonCursor, TakesAValueAndNothingBehindIt) {
  const struct {
    std::string_view text, value;
  } cases[] = {
      {"1,2", "1"},
      {" -1.5e3 ", "-1.5e3"},
      {"true}", "true"},
      {"null", "null"},
      {R"("a\"b",)", R"("a\"b")"},
      {R"("\\","x")", R"("\\")"},
      {R"({"a":[1,{"b":"}]"}]},7)", R"({"a":[1,{"b":"}]"}]})"},
      {"[]]", "[]"},
      {R"({"a long key that spans blocks":"and [ a { long ] value } too","b":[[[]]]}x)",
       R"({"a long key that spans blocks":"and [ a { long ] value } too","b":[[[]]]})"},
  };
  for (const auto& c : cases) EXPECT_EQ(taken(c.text), c.value) << c.text;
}

TEST(JsonCursor, RefusesWhatIsNotBalancedOrNoValue) {
  for (const auto* text : {"", " ", "[1", "{]", "[}", "[[{]]]", "\"abc", "\"a\\", "nil", "truely",
                           ",", "}", "{\"a\":\"b}"})
    EXPECT_EQ(taken(text), "malformed") << text;
}

TEST(JsonCursor, EndsAtADepthThatIsNoAnswerAnyMore) {
  EXPECT_EQ(taken(std::string(1024, '[') + std::string(1024, ']')).size(), 2048u);
  EXPECT_EQ(taken(std::string(1025, '[') + std::string(1025, ']')), "malformed");
  EXPECT_EQ(taken(std::string(100'000, '[')), "malformed");
}

TEST(JsonMembers, GivesEachKeyOnceAndKnowsWhetherTheObjectWasWhole) {
  JsonCursor json(R"( { "a" : 1 , "b":[2], "a":3 } )");
  JsonMembers members(json);
  std::string seen;
  while (const auto key = members.next()) {
    seen += *key;
    seen += *take_value(json);
  }
  EXPECT_EQ(seen, "a1b[2]a3");
  EXPECT_TRUE(members.complete());
}

TEST(JsonMembers, StopsAtAMissingCommaColonOrBrace) {
  for (const auto* text : {R"({"a":1 "b":2})", R"({"a" 1})", R"({"a":1)", R"({"a":1,})", "[]"}) {
    JsonCursor json(text);
    JsonMembers members(json);
    while (members.next())
      if (!take_value(json)) break;
    EXPECT_FALSE(members.complete()) << text;
  }
}

TEST(JsonText, ResolvesEscapesAndLeavesBrokenOnesAsTheyAre) {
  const struct {
    std::string_view raw, text;
  } cases[] = {
      {"plain", "plain"},
      {R"(a\"b\\c\/d)", "a\"b\\c/d"},
      {R"(\n\t\r\b\f)", "\n\t\r\b\f"},
      {R"(\u0041)", "A"},
      {R"(\u00e9)", "\xC3\xA9"},
      {R"(\u20ac)", "\xE2\x82\xAC"},
      {R"(\ud83d\ude00)", "\xF0\x9F\x98\x80"},
      {R"(\ud83d)", "\xEF\xBF\xBD"},
      {R"(\u12)", R"(\u12)"},
      {R"(\)", R"(\)"},
  };
  for (const auto& c : cases) EXPECT_EQ(json_unescaped(c.raw), c.text) << c.raw;
}

TEST(AppendQuoted, MakesAnyBytesAValidJsonString) {
  std::string out;
  append_json_quoted(out, "a\"b\\\n\x01 \xC3\xA9 \xFF \xC3");
  EXPECT_EQ(out, "\"a\\\"b\\\\\\n\\u0001 \xC3\xA9 \xEF\xBF\xBD \xEF\xBF\xBD\"");
}

}  // namespace
}  // namespace karmad
