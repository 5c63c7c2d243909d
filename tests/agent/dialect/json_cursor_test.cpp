#include "agent/dialect/manticore_json/json_cursor.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

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

/// The same byte by byte, for values that begin with a bracket.
std::string taken_slowly(std::string_view text) {
  std::string open;
  bool in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string) {
      if (c == '\\') ++at;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '\\') {
      return "malformed";
    } else if (c == '{' || c == '[') {
      open.push_back(c);
    } else if (c == '}' || c == ']') {
      if (open.back() != (c == '}' ? '{' : '[')) return "malformed";
      open.pop_back();
      if (open.empty()) return std::string(text.substr(0, at + 1));
    }
  }
  return "malformed";
}

TEST(JsonCursor, FindsTheEndWhereverQuotesAndBackslashesStand) {
  std::mt19937 random(7);
  constexpr std::string_view pieces[] = {"{",  "[",    "]",    "}",        "\"",
                                         "\\", "\\\\", "\\\"", "a",        "\"]\"",
                                         "[]", "{}",   "[{}]", "\"\\\\\"", "\"\\\"\""};
  int whole = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text = random() % 2 == 0 ? "[" : "{";
    const char* const end = text[0] == '[' ? "]" : "}";
    for (auto left = random() % 40; left > 0; --left) {
      // Mostly what is balanced, so that the end is far away.
      text.append(random() % 8, ' ');
      text += pieces[random() % 32 == 0 ? random() % 9 : 8 + random() % 7];
    }
    text += end;
    const auto expected = taken_slowly(text);
    if (expected.size() > 128) ++whole;
    // Not a byte behind the end is looked at.
    const std::vector<char> exact(text.begin(), text.end());
    EXPECT_EQ(taken({exact.data(), exact.size()}), expected) << text;
  }
  EXPECT_GT(whole, 1000);
}

TEST(JsonCursor, RefusesABackslashOutsideOfStrings) {
  EXPECT_EQ(taken(R"([\"])"), "malformed");
  EXPECT_EQ(taken(R"([1]\)"), "[1]");
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

TEST(JsonMembers, GivesTheSameKeysWhetherTheyWereLikelyOrNot) {
  for (const auto* text :
       {R"({"a":1,"b":2})", R"({ "b" : 2 , "a":1})", R"({"c":3,"a\"":4,"a":5})", R"({"a"})",
        R"({"a":1,})", R"({"a":1 "b":2})", R"({"a":1)", R"({"a)", R"({"a":)", "{", "{}", "[]"}) {
    const auto seen = [&](auto step) {
      JsonCursor json(text);
      JsonMembers members(json);
      std::string all;
      while (const auto key = step(members)) {
        const auto value = take_value(json);
        if (!value) break;
        all.append(*key).append(*value);
      }
      return all + (members.complete() ? "." : "!");
    };
    EXPECT_EQ(seen([](auto& members) { return members.next(R"("a":)", R"("b":)"); }),
              seen([](auto& members) { return members.next(); }))
        << text;
  }
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
