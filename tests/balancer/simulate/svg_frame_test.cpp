#include "balancer/simulate/svg_frame.hpp"

#include <gtest/gtest.h>

#include "balancer/simulate/html_text.hpp"

namespace karmad {
namespace {

using namespace std::chrono_literals;

std::vector<std::string> tick_texts(const ChartScale& scale) {
  std::vector<std::string> texts;
  for (const auto tick : scale.ticks()) texts.push_back(round_number(tick));
  return texts;
}

using Texts = std::vector<std::string>;

TEST(ChartScale, HasRoundTicks) {
  EXPECT_EQ(tick_texts(ChartScale::linear(10)), (Texts{"0", "2", "4", "6", "8", "10"}));
  EXPECT_EQ(tick_texts(ChartScale::linear(0.7)), (Texts{"0", "0.2", "0.4", "0.6", "0.8"}));
  EXPECT_EQ(tick_texts(ChartScale::linear(0)), (Texts{"0", "0.2", "0.4", "0.6", "0.8", "1"}));
  EXPECT_EQ(tick_texts(ChartScale::logarithmic(3, 40)), (Texts{"2", "5", "10", "20", "50"}));
  EXPECT_EQ(tick_texts(ChartScale::logarithmic(5, 5)), (Texts{"5", "10"}));
  EXPECT_EQ(tick_texts(ChartScale::logarithmic(1, 9000)),
            (Texts{"1", "10", "100", "1000", "10000"}));
}

TEST(ChartScale, PlacesValues) {
  EXPECT_DOUBLE_EQ(ChartScale::linear(10).place(5), 0.5);
  EXPECT_DOUBLE_EQ(ChartScale::linear(10).place(20), 1);
  EXPECT_NEAR(ChartScale::logarithmic(1, 100).place(10), 0.5, 1e-9);
}

TEST(SpreadPlaces, MovesNamesApart) {
  EXPECT_EQ(spread_places({50, 50, 10}, 10, 0, 100), (std::vector<double>{50, 60, 10}));
  EXPECT_EQ(spread_places({99, 99}, 10, 0, 100), (std::vector<double>{90, 100}));
  EXPECT_EQ(spread_places({1, 2, 3}, 60, 0, 100), (std::vector<double>{0, 50, 100}));
  EXPECT_TRUE(spread_places({}, 10, 0, 100).empty());
}

TEST(HtmlText, ShortensByCharacters) {
  EXPECT_EQ(shortened("short", 5), "short");
  EXPECT_EQ(shortened("longer", 5), "long\u2026");
  EXPECT_EQ(shortened("\u00e4\u00f6\u00fc\u00df", 3), "\u00e4\u00f6\u2026");
}

TEST(HtmlText, WritesNumbers) {
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(1234567), "1\u202f234\u202f567");
  EXPECT_EQ(short_number(0), "0");
  EXPECT_EQ(short_number(0.12345), "0.123");
  EXPECT_EQ(short_number(9.996), "10.0");
  EXPECT_EQ(short_number(99.96), "100");
  EXPECT_EQ(short_number(12345), "12345");
  EXPECT_EQ(round_number(0.5), "0.5");
  EXPECT_EQ(round_number(20000), "20000");
  EXPECT_EQ(duration_text(340us), "340 us");
  EXPECT_EQ(duration_text(12'340us), "12.3 ms");
  EXPECT_EQ(duration_text(999'600us), "1.00 s");
}

}  // namespace
}  // namespace karmad
