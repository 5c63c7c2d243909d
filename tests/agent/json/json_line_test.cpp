#include "agent/json/json_line.hpp"

#include <gtest/gtest.h>

#include <limits>

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

}  // namespace
}  // namespace karmad
