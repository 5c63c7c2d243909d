#include "agent/json/json_line.hpp"

#include <gtest/gtest.h>

#include <iterator>
#include <limits>
#include <string>

#include "agent/json/json_text.hpp"

namespace karmad {
namespace {

template <class... Arguments>
std::string as_string(Arguments... arguments) {
  std::string text = "before ";
  JsonLine(text).add_quoted(arguments...);
  return text.substr(7);
}

std::string ascii(std::string_view value, std::size_t most) {
  std::string text;
  JsonLine(text).add_ascii(value, most);
  return text;
}

TEST(JsonLine, QuotesWhateverBytesGoIn) {
  const std::string_view text("a\"\\\n\0\xc3\xa4\xff", 8);
  EXPECT_EQ(as_string(text), "\"a\\\"\\\\\\n\\u0000\xc3\xa4\xef\xbf\xbd\"");
  EXPECT_EQ(ascii(text, 100), R"("a\"\\\u000a\u0000\u00e4\ufffd")");
  EXPECT_EQ(ascii("plain text", 5), R"("plain")");
  EXPECT_EQ(as_string(std::string_view("plain text")), R"("plain text")");
  EXPECT_EQ(as_string(std::string_view()), R"("")");
  EXPECT_EQ(as_string(std::string_view("a\x01 \xC3\xA9 \xFF \xC3\t\r\x7f")),
            "\"a\\u0001 \xC3\xA9 \xEF\xBF\xBD \xEF\xBF\xBD\\t\\r\x7f\"");
}

TEST(JsonLine, WritesDoublesWithAPointAndNoExponent) {
  const auto number = [](double value) {
    std::string text;
    JsonLine(text).add_number(value);
    return text;
  };
  EXPECT_EQ(number(0), "0.0");
  EXPECT_EQ(number(60), "60.0");
  EXPECT_EQ(number(-0.958), "-0.958");
  EXPECT_EQ(number(0.000001), "0.000001");
  EXPECT_EQ(number(1e15), "1000000000000000.0");
  EXPECT_EQ(std::stod(number(std::numeric_limits<double>::max())),
            std::numeric_limits<double>::max());
}

TEST(ShortenedUtf8, EndsWithAWholeCharacter) {
  EXPECT_EQ(shortened_utf8("", 0), "");
  EXPECT_EQ(shortened_utf8("abc", 3), "abc");
  EXPECT_EQ(shortened_utf8("abc", 2), "ab");
  const std::string text = "a€😀b";  // 1, 3, 4 and 1 bytes
  const std::size_t kept[] = {0, 1, 1, 1, 4, 4, 4, 4, 8, 9, 9};
  for (std::size_t most = 0; most < std::size(kept); ++most)
    EXPECT_EQ(shortened_utf8(text, most), text.substr(0, kept[most])) << most;
  // Other bytes are cut as they are.
  EXPECT_EQ(shortened_utf8(std::string(100, '\x80'), 50).size(), 47U);
}

}  // namespace
}  // namespace karmad
