#include "config/settings/units.hpp"

#include <gtest/gtest.h>

#include "config/text/source_text.hpp"

namespace karmad {
namespace {

TEST(CountedNoun, IsSingularForOne) {
  EXPECT_EQ(counted_noun(0, "table"), "0 tables");
  EXPECT_EQ(counted_noun(1, "mirror"), "1 mirror");
  EXPECT_EQ(counted_noun(21, "worker"), "21 workers");
}

TEST(ParseTime, ReadsEverySuffixInAnyCaseAndBareNumbersInTheKeysUnit) {  // HA-009, HA-012
  struct {
    const char* text;
    Micros bare;
    Micros time;
  } const cases[] = {{"7us", 1s, 7us},         {"15ms", 1s, 15ms}, {"3s", 1ms, 3s},
                     {"2m", 1ms, 120s},        {"1h", 1ms, 1h},    {"1d", 1ms, 24h},
                     {"2w", 1ms, 2 * 7 * 24h}, {"15MS", 1s, 15ms}, {"2M", 1s, 120s},
                     {"60", 1s, 60s},          {"60", 1ms, 60ms},  {"0", 1s, 0s},
                     {"007", 1s, 7s}};
  for (const auto& c : cases) {
    const auto time = parse_time(c.text, c.bare);
    ASSERT_TRUE(time) << c.text << ": " << time.error().why;
    EXPECT_EQ(*time, c.time) << c.text;
  }
}

TEST(ParseTimes, ReadsUpToEightWithBlanksAroundTheCommas) {  // CO-044
  EXPECT_EQ(parse_times("300ms, 1s ,\t3", 1s).value(), (std::vector<Micros>{300ms, 1s, 3s}));
  EXPECT_EQ(parse_times("5", 1ms).value(), std::vector<Micros>{5ms});
  EXPECT_EQ(parse_times("1,2,3,4,5,6,7,8", 1ms).value().size(), kMostTimes);
  for (const auto& [text, offset] : {std::pair("", 0U),
                                     {",", 0U},
                                     {"1,", 2U},
                                     {"1, ,2", 2U},
                                     {"1,  x", 4U},
                                     {"1 2", 1U},
                                     {"1,2,3,4,5,6,7,8,9", 16U},
                                     {"1,-2", 2U}}) {
    const auto times = parse_times(text, 1ms);
    ASSERT_FALSE(times) << text;
    EXPECT_EQ(times.error().offset, offset) << text;
  }
}

TEST(ParseAppNames, ReadsABoundedList) {  // AC-056
  EXPECT_EQ(parse_app_names("nightly-, Grafana/ 9").value(), (AppNames{"nightly-", "Grafana/ 9"}));
  const std::string longest(kLongestAppName, 'x');
  EXPECT_EQ(parse_app_names(longest).value(), AppNames{longest});
  std::string most = "a";
  for (std::size_t i = 1; i < kMostAppNames; ++i) most += ",a";
  EXPECT_EQ(parse_app_names(most).value().size(), kMostAppNames);
  for (const auto& [text, offset] : {std::pair<std::string, std::size_t>("", 0U),
                                     {",a", 0U},
                                     {"a,", 2U},
                                     {"a, ,b", 2U},
                                     {"a, " + longest + "y", 3U},
                                     {most + ",a", most.size() + 1}}) {
    const auto names = parse_app_names(text);
    ASSERT_FALSE(names) << text;
    EXPECT_EQ(names.error().offset, offset) << text;
  }
}

TEST(ParseTime, SaysWhatIsWrongAndWhere) {
  struct {
    const char* text;
    std::size_t offset;
    const char* why;
  } const cases[] = {
      {"1.5s", 1, "'1.5s' has a fraction; write a whole number of a smaller unit"},
      {"500 ms", 3, "'500 ms' has a blank between number and unit; write '500ms'"},
      {"-1s", 0, "'-1s' must not be negative"},
      {"5 parsecs", 1, "'5 parsecs' has an unknown unit; known are us, ms, s, m, h, d, w"},
      {"5x", 1, "'5x' has an unknown unit; known are us, ms, s, m, h, d, w"},
      {"ms", 0, "'ms' does not begin with a whole number"},
      {"+5s", 0, "'+5s' does not begin with a whole number"},
      {"", 0, "a value is missing"},
      {"99999999999999999999", 0, "'99999999999999999999' is too large"},
      {"9223372036854775807w", 0, "'9223372036854775807w' is too large"}};
  for (const auto& c : cases) {
    const auto time = parse_time(c.text, 1ms);
    ASSERT_FALSE(time) << c.text;
    EXPECT_EQ(time.error().why, c.why);
    EXPECT_EQ(time.error().offset, c.offset) << c.text;
  }
}

TEST(ParseSize, CountsInPowersOf1024) {
  struct {
    const char* text;
    std::uint64_t bytes;
  } const cases[] = {{"0", 0},          {"4097", 4097},      {"64k", 65536},
                     {"64KiB", 65536},  {"128m", 128 << 20}, {"1G", 1ULL << 30},
                     {"2t", 2ULL << 40}};
  for (const auto& c : cases) {
    const auto size = parse_size(c.text);
    ASSERT_TRUE(size) << c.text;
    EXPECT_EQ(*size, c.bytes) << c.text;
  }
  for (const char* text : {"", "k", "-1k", "1.5m", "1 m", "8388608t", "1kb", "12ms"})
    EXPECT_FALSE(parse_size(text)) << text;
}

TEST(ParseCount, IsAWholeNumberAndNothingElse) {
  EXPECT_EQ(parse_count("42").value(), 42U);
  EXPECT_EQ(parse_count("-1").error().why, "'-1' must not be negative");
  for (const char* text : {"", "4x", "4 ", "0x10", "1e3", "18446744073709551616"})
    EXPECT_FALSE(parse_count(text)) << text;
}

TEST(ParseSwitch, IsZeroOrOne) {
  EXPECT_TRUE(parse_switch("1").value());
  EXPECT_FALSE(parse_switch("0").value());
  EXPECT_TRUE(parse_switch("yes").value());
  EXPECT_FALSE(parse_switch("no").value());
  EXPECT_EQ(parse_switch("on").error().why, "'on' is neither 0 nor 1");
}

TEST(ParseOrigins, TakesEveryOriginOrAListOfThem) {
  EXPECT_EQ(parse_origins("*").value(), Origins{.any = true});
  EXPECT_EQ(
      parse_origins("https://a.example, http://localhost:3000,chrome-extension://abc").value(),
      (Origins{.list = {"https://a.example", "http://localhost:3000", "chrome-extension://abc"}}));
}

TEST(ParseOrigins, RefusesWhatNoBrowserSends) {
  const std::pair<const char*, std::size_t> cases[] = {
      {"", 0},
      {"a.example", 0},
      {"null", 0},
      {"://a", 0},
      {"https://", 8},
      {"https://a.example/", 8},
      {"https://*.example", 8},
      {"*, https://a.example", 0},
      {"https://a.example https://b.example", 8},
      {"https://A.example", 0},
      {"https://a.example:443", 0},
      {"http://a.example, http://b.example:80", 18},
  };
  for (const auto& [text, offset] : cases) {
    const auto origins = parse_origins(text);
    ASSERT_FALSE(origins) << text;
    EXPECT_EQ(origins.error().offset, offset) << text << ": " << origins.error().why;
  }
}

TEST(ParseMode, TakesThreeOctalDigits) {
  EXPECT_EQ(parse_mode("660").value().bits, 0660u);
  EXPECT_EQ(parse_mode("0600").value().bits, 0600u);
  EXPECT_EQ(text(parse_mode("007").value()), "0007");
  for (const auto* text : {"66", "0", "6666", "0o66", "680", "-66", "rw-", "06660", " 660"})
    EXPECT_FALSE(parse_mode(text)) << text;
}

TEST(TimeText, ReadsBackAsTheSameTimeForAnyBareUnit) {
  struct {
    Micros time;
    const char* text;
  } const cases[] = {{0us, "0"},      {1us, "1us"}, {1500us, "1500us"}, {1500ms, "1500ms"},
                     {60s, "1m"},     {90s, "90s"}, {24h, "1d"},        {300s, "5m"},
                     {7 * 24h, "1w"}, {25h, "25h"}};
  for (const auto& c : cases) {
    EXPECT_EQ(time_text(c.time), c.text);
    EXPECT_EQ(parse_time(c.text, 1us).value(), c.time);
  }
}

TEST(SizeText, ReadsBackAsTheSameSize) {
  for (const std::uint64_t bytes :
       {0ULL, 1ULL, 1023ULL, 1024ULL, 4097ULL, 128ULL << 20, 5ULL << 40})
    EXPECT_EQ(parse_size(size_text(bytes)).value(), bytes);
  EXPECT_EQ(size_text(128U << 20), "128m");
}

TEST(ClientAuth, IsAKindAndTheFileFromTheRoot) {
  const auto read = parse_client_auth("Basic \t/etc/karmad/users");
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, (ClientAuth{ClientAuth::Kind::basic, "/etc/karmad/users"}));
  EXPECT_EQ(text(*read), "basic /etc/karmad/users");
  EXPECT_EQ(text(*parse_client_auth("bearer /t")), "bearer /t");
  for (const auto* wrong : {"digest /x", "/x", "basic", "basic users"})
    EXPECT_FALSE(parse_client_auth(wrong)) << wrong;
}

}  // namespace
}  // namespace karmad
