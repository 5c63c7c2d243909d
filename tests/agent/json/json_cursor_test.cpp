#include "agent/json/json_cursor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include "agent/json/json_grammar.hpp"
#include "agent/json/json_text.hpp"
#include "tests/agent/transport/exact_bytes.hpp"

namespace karmad {
namespace {

std::string taken(std::string_view text) {
  JsonCursor json(text);
  const auto value = take_value(json);
  if (text.starts_with('{') || text.starts_with('[')) {
    const auto* const end = text.data() + text.size();
    const auto* const expected = value ? value->data() + value->size() : nullptr;
    EXPECT_EQ(after_nested_on_any_machine(text.data(), end), expected) << text;
  }
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

/// What RapidJSON takes for the value at the beginning of the text; nothing: it has a number that
/// is JSON, but too large for RapidJSON.
std::optional<std::string> taken_by_rapidjson(std::string_view text) {
  rapidjson::MemoryStream bytes(text.data(), text.size());
  rapidjson::Reader reader;
  rapidjson::BaseReaderHandler<> nothing;
  constexpr unsigned kFlags =
      rapidjson::kParseStopWhenDoneFlag | rapidjson::kParseValidateEncodingFlag |
      rapidjson::kParseIterativeFlag | rapidjson::kParseNumbersAsStringsFlag;
  reader.Parse<kFlags>(bytes, nothing);
  if (reader.GetParseErrorCode() == rapidjson::kParseErrorNumberTooBig) return std::nullopt;
  return reader.HasParseError() ? "malformed" : std::string(text.substr(0, bytes.Tell()));
}

std::string random_string(std::mt19937& random) {
  constexpr std::string_view pieces[] = {"a",
                                         "long plain words of text ",
                                         "\\\"",
                                         "\\\\",
                                         "\\n",
                                         "\\u00e9",
                                         "\xC3\xA9",
                                         "\xE2\x82\xAC",
                                         "\xF0\x9F\x98\x80",
                                         "\xED\x9F\xBF",
                                         "\xE0\xA4\x85",
                                         "]",
                                         "{",
                                         ",",
                                         ":",
                                         "0"};
  std::string text = "\"";
  for (auto left = random() % 6; left > 0; --left) text += pieces[random() % std::size(pieces)];
  return text + '"';
}

std::string random_value(std::mt19937& random, int depth) {
  constexpr std::string_view scalars[] = {"0",    "7",     "-0",    "12345678901234567890",
                                          "1.5",  "-2e9",  "3E-10", "0.25",
                                          "true", "false", "null"};
  const auto space = [&] { return std::string(random() % 4 == 0 ? random() % 3 : 0, ' '); };
  const auto kind = random() % (depth > 0 ? 8 : 4);
  if (kind < 2) return std::string(scalars[random() % std::size(scalars)]);
  if (kind < 4) return random_string(random);
  std::string text = kind < 6 ? "{" : "[";
  for (auto left = random() % 5; left > 0; --left) {
    if (kind < 6) text += space() + random_string(random) + space() + ":";
    text += space() + random_value(random, depth - 1) + space() + (left > 1 ? "," : "");
  }
  return text + (kind < 6 ? "}" : "]");
}

/// One byte more, less or another one, of those that matter.
void mutate(std::string& text, std::mt19937& random) {
  if (text.size() < 2) return;
  constexpr std::string_view bytes(
      "{}[],:\"\\ 0123-+.eEtrufalsn\n\t\x01\x7F\x80\xA0\xC0\xC2\xE0\xED\xF4\xFF");
  const auto at = random() % text.size();
  const auto byte = bytes[random() % bytes.size()];
  switch (random() % 4) {
    case 0:
      text.insert(at, 1, byte);
      break;
    case 1:
      text.erase(at, 1);
      break;
    case 2:
      text[at] = byte;
      break;
    default:
      std::swap(text[at], text[random() % text.size()]);
  }
}

TEST(JsonCursor, TakesWhatIsJsonAndNothingElse) {  // RFC 8259, RFC 3629
  std::mt19937 random(7);
  int whole = 0;
  int malformed = 0;
  for (int i = 0; i < 60'000; ++i) {
    auto text = random_value(random, 4);
    for (auto left = random() % 3; left > 0; --left) mutate(text, random);
    const auto first = text.find_first_not_of(" \n\t");
    if (first == text.npos) continue;
    text.erase(0, first);
    const auto expected = taken_by_rapidjson(text);
    if (!expected) continue;
    (expected == "malformed" ? malformed : whole) += text.size() > 100 ? 1 : 0;
    // Not a byte behind the end is looked at.
    const std::vector<char> exact(text.begin(), text.end());
    const auto mine = taken({exact.data(), exact.size()});
    if (text[0] == '{' || text[0] == '[' || text[0] == '"') {
      ASSERT_EQ(mine, expected) << text;
    } else if (mine != "malformed") {  // a scalar ends where a separator stands
      ASSERT_EQ(mine, expected) << text;
    }
  }
  EXPECT_GT(whole, 3000);
  EXPECT_GT(malformed, 3000);
}

/// After an opening bracket every row of up to four tokens, open or closed.
TEST(JsonCursor, TakesNoRowOfTokensThatIsNoJson) {
  constexpr std::string_view tokens[] = {"{", "}", "[", "]", ",", ":", "\"a\"", "1", " "};
  int whole = 0;
  for (std::size_t row = 0; row < 2 * 9 * 9 * 9 * 9; ++row) {
    std::string text = row % 2 == 0 ? "{" : "[";
    for (auto left = row / 2, at = std::size_t{0}; at < 4; left /= 9, ++at)
      text += tokens[left % 9];
    for (const std::string_view end : {"", "}", "]", "]}", "}]"}) {
      const auto closed = text + std::string(end);
      const auto expected = *taken_by_rapidjson(closed);
      whole += expected != "malformed" ? 1 : 0;
      ASSERT_EQ(taken(closed), expected) << closed;
    }
  }
  EXPECT_GT(whole, 2'000);
}

/// Compares with RapidJSON an array with the value at each place of a block, behind white space,
/// a number or a string.
void expect_as_rapidjson_takes_it(const std::string& value) {
  const auto expected = taken_by_rapidjson("[1," + value + "]");
  if (!expected) return;
  for (std::size_t shift = 0; shift < 70; ++shift)
    for (const auto& before : {std::string(shift, ' ') + "1,", std::string(shift + 1, '1') + ",",
                               '"' + std::string(shift, 'a') + "\","}) {
      const auto moved = "[" + before + value + "]";
      const auto wanted = *expected == "malformed" ? *expected : "[" + before + expected->substr(3);
      ASSERT_EQ(taken(moved), wanted) << moved;
    }
}

TEST(JsonCursor, TakesTheSameWhereverBlocksBegin) {
  std::mt19937 random(11);
  for (int i = 0; i < 600; ++i) {
    auto value = random_value(random, 3);
    if (i % 3 != 0) mutate(value, random);
    expect_as_rapidjson_takes_it(value);
  }
}

/// Numbers without exponents are checked in another way than others.
TEST(JsonCursor, TakesNumbersWhereverBlocksBegin) {
  for (const std::string numbers :
       {"-12.75,0.5,100,-0,7.0", "1e-05,true,-0.5e+7,2E3", "01", "-01.5", "1.2.3", "--1", "-", "5.",
        "-.5", "1-2", "12-,5", "0-05"})
    for (std::size_t at = 0; at < numbers.size(); ++at)
      for (const char byte : std::string_view("0.-,1e+")) {
        auto changed = numbers;
        changed[at] = byte;
        expect_as_rapidjson_takes_it(changed);
      }
}

TEST(JsonCursor, RefusesWhatOnlyLooksLikeJson) {
  for (const auto* text : {R"({"price":12,})",
                           "[1,]",
                           "[,1]",
                           "[1 2]",
                           "[1,,2]",
                           R"(["a" "b"])",
                           R"(["a":1])",
                           R"({"a"})",
                           R"({"a",1})",
                           R"({1:2})",
                           R"({"a":1 "b":2})",
                           R"({"a"::1})",
                           R"({"a":})",
                           R"({:1})",
                           R"({"a":[}])",
                           "[01]",
                           "[-]",
                           "[1.]",
                           "[.5]",
                           "[1e]",
                           "[+1]",
                           "[0x10]",
                           "[1-2]",
                           "[NaN]",
                           "[inf]",
                           "[-Infinity]",
                           "[True]",
                           "[nul]",
                           "[truefalse]",
                           "[\"\\x\"]",
                           "[\"\\u12g4\"]",
                           "[\"\\u12\"]",
                           "[\"a\nb\"]",
                           "[\"\t\"]",
                           "['a']",
                           "[a]",
                           "[\f1]",
                           "[\"\xC0\xAF\"]",
                           "[\"\xE0\x80\x80\"]",
                           "[\"\xED\xA0\x80\"]",
                           "[\"\xF4\x90\x80\x80\"]",
                           "[\"\xFF\"]",
                           "[\"\xE2\x82\"]",
                           "[\"\x80\"]",
                           "[1\xA0]",
                           "[/**/1]",
                           "{{}}",
                           "[{]}",
                           "{[]}"}) {
    const std::string_view all(text);
    EXPECT_EQ(taken(all), "malformed") << text;
    const auto far = "[" + std::string(61, ' ') + std::string(all) + "]";
    EXPECT_EQ(taken(far), "malformed") << far;
  }
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

TEST(PassedMembers, AreThoseThatACheckingWalkFinds) {
  for (
      const std::string_view text :
      {R"({})", R"({ })", R"({"a":1})", R"({"a":-1.5e3,"b":"x","c":null})",
       R"( {"a" : "q\"u" , "b\\":[1,{"x":"]"}],"c":{"d":{}} , "e":true})",
       R"({"a long name of more than sixteen bytes":"text of more than sixteen \\\" bytes, ÄÖÜ","b":""})",
       R"({"n":"\u0041\\","m":false })"}) {
    JsonCursor all(text);
    const auto value = take_value(all);
    ASSERT_TRUE(value) << text;
    JsonCursor json(*value);
    JsonMembers members(json);
    PassedMembers passed(*value);
    while (const auto name = members.next()) {
      const auto expected = take_value(json);
      const auto member = passed.next();
      ASSERT_TRUE(expected && member) << text;
      EXPECT_EQ(member->name, *name);
      EXPECT_EQ(member->value, *expected);
    }
    EXPECT_TRUE(members.complete()) << text;
    EXPECT_FALSE(passed.next()) << text;
  }
  for (const std::string_view other : {"", "[]", "1", R"("{}")"})
    EXPECT_FALSE(PassedMembers(other).next()) << other;
}

TEST(PassedMembers, ReadNoByteBeyondATextThatWasNotChecked) {
  const std::string text =
      R"( {"a" : "q\"u\\", "b":[1,{"x":"]"}],"c":{"d":{}},"a long name of 16 bytes":-1.5e3,"e":nan2} )";
  for (std::size_t from = 0; from < text.size(); ++from)
    for (auto size = text.size() - from; size > 0; --size) {
      const ExactBytes cut(text.substr(from, size));
      PassedMembers members(cut);
      for (std::size_t n = 0; members.next(); ++n) ASSERT_LT(n, text.size());
      last_member(cut, "e");
    }
  for (const std::string_view broken :
       {R"({"a)", R"({"a":)", R"({"a":1)", "{\"a\":\"x\n", "{", "{\"", R"({"a":{"b":nan2}})",
        R"({"a\\":"\\"})", "{\"a\\"}) {
    const ExactBytes exact(broken);
    PassedMembers members(exact);
    while (members.next()) continue;
  }
}

TEST(WholeObject, IsWithoutWhiteSpaceAndHasNothingBehindIt) {
  EXPECT_EQ(whole_object(" \r\n{\"a\":1}\t\n "), R"({"a":1})");
  EXPECT_EQ(whole_object("{ }"), "{ }");
  EXPECT_EQ(whole_value(" [1] "), "[1]");
  for (const std::string_view other :
       {"", " ", "1", "[]", "{}x", "{} {}", "{", "{\"a\":nan2}", "{}\f"})
    EXPECT_FALSE(whole_object(other)) << other;
}

}  // namespace
}  // namespace karmad
