#include "config/settings/address_range.hpp"

#include <gtest/gtest.h>

#include "config/settings/units.hpp"
#include "tests/config/written.hpp"

namespace karmad {
namespace {

IpAddress address(const std::string& spelt) {
  return parse_ranges(spelt).value().front().first;
}

TEST(AddressRange, HoldsTheAddressesWithItsFirstBits) {  // AC-042
  struct {
    const char* range;
    const char* inside;
    const char* outside;
  } const cases[] = {
      {"10.0.0.0/8", "10.255.0.1", "11.0.0.0"},
      {"192.168.1.7", "192.168.1.7", "192.168.1.6"},
      {"192.168.1.4/30", "192.168.1.7", "192.168.1.8"},
      {"0.0.0.0/0", "255.255.255.255", "::1"},
      {"::/0", "2001:db8::1", "10.0.0.1"},
      {"::1", "::1", "::2"},
      {"fe80::/10", "febf::1", "fec0::1"},
      {"2001:db8:0:1::/64", "2001:db8:0:1:ffff::", "2001:db8:0:2::"},
      {"2001:db8::/65", "2001:db8::7fff:ffff:ffff:ffff", "2001:db8::8000:0:0:0"},
      {"::ffff:10.0.0.0/104", "10.1.2.3", "11.1.2.3"},  // the same peer by its other name
      {"10.0.0.0/8", "::ffff:10.1.2.3", "::10.1.2.3"},
  };
  for (const auto& c : cases) {
    const auto ranges = parse_ranges(c.range);
    ASSERT_TRUE(ranges) << c.range << ": " << ranges.error().why;
    EXPECT_TRUE(contains(*ranges, address(c.inside))) << c.range << ' ' << c.inside;
    EXPECT_FALSE(contains(*ranges, address(c.outside))) << c.range << ' ' << c.outside;
  }
  EXPECT_FALSE(contains({}, address("::1")));
}

TEST(AddressRange, IsWrittenAsItIsRead) {
  for (const std::string spelt : {"10.0.0.0/8", "1.2.3.4/32", "0.0.0.0/0", "::/0", "::1/128",
                                  "fe80::/10", "2001:db8:0:1::/64"})
    EXPECT_EQ(text(parse_ranges(spelt).value().front()), spelt);
  EXPECT_EQ(text(parse_ranges("::ffff:0.0.0.0/96").value().front()), "0.0.0.0/0");
}

TEST(AnAddress, IsWrittenAsItIsRead) {
  for (const std::string spelt : {"203.0.113.9", "::1", "2001:db8::5", "fe80::1:2"})
    EXPECT_EQ(text(parse_address(spelt).value()), spelt);
  EXPECT_EQ(text(parse_address("::FFFF:1.2.3.4").value()), "1.2.3.4");
  for (const auto& spelt :
       {std::string(), std::string("1.2.3"), std::string("1.2.3.4:80"), std::string("[::1]"),
        std::string("::1%lo"), std::string("1.2.3.4\0", 8), std::string(100, '1')})
    EXPECT_FALSE(parse_address(spelt)) << spelt;
}

TEST(AddressRange, IsRefusedAtTheCharacterThatIsWrong) {
  const std::pair<const char*, std::size_t> cases[] = {
      {"", 0},           {"x", 0},          {"10.0.0.0/33", 9}, {"::/129", 3},
      {"10.0.0/8", 0},   {"10.0.0.0/", 9},  {"10.0.0.0/8x", 9}, {"10.0.0.0/-1", 9},
      {"10.0.0.1/8", 0}, {"fe80::1/10", 0}, {"fe80::1%lo", 0},  {"010.0.0.1", 0},
      {"::1,", 4},       {"::1, , ::2", 4}, {"::1,  ::x", 6},   {"::1 ::2", 0},
      {"1.2.3.4:80", 0}, {"localhost", 0},
  };
  for (const auto& [spelt, offset] : cases) {
    const auto ranges = parse_ranges(spelt);
    ASSERT_FALSE(ranges) << spelt;
    EXPECT_EQ(ranges.error().offset, offset) << spelt << ": " << ranges.error().why;
  }
  EXPECT_NE(parse_ranges("10.0.0.1/8").error().why.find("write 10.0.0.0/8"), std::string::npos);
  std::string many = "::1";
  for (std::size_t i = 0; i < kMostRanges; ++i) many += ",::1";
  EXPECT_FALSE(parse_ranges(many));
}

TEST(ParseRate, ReadsACountInATime) {
  struct {
    const char* text;
    Rate rate;
    const char* written;
  } const cases[] = {
      {"100", {100, 1s}, "100/s"},
      {"100/s", {100, 1s}, "100/s"},
      {"6/M", {6, 1min}, "6/m"},
      {"10/h", {10, 1h}, "10/h"},
      {"1/d", {1, 24h}, "1/d"},
      {"Unlimited", {}, "unlimited"},
      {"2147483647", {2147483647, 1s}, "2147483647/s"},
  };
  for (const auto& c : cases) {
    const auto rate = parse_rate(c.text);
    ASSERT_TRUE(rate) << c.text << ": " << rate.error().why;
    EXPECT_EQ(*rate, c.rate) << c.text;
    EXPECT_EQ(text(*rate), c.written);
  }
  for (const auto& [text, offset] : {std::pair("", 0U),
                                     {"0", 0U},
                                     {"-1", 0U},
                                     {"2147483648", 0U},
                                     {"1/ms", 1U},
                                     {"1/w", 1U},
                                     {"1 /s", 1U},
                                     {"1/", 1U},
                                     {"1.5", 1U},
                                     {"many", 0U}}) {
    const auto rate = parse_rate(text);
    ASSERT_FALSE(rate) << text;
    EXPECT_EQ(rate.error().offset, offset) << text;
  }
}

}  // namespace
}  // namespace karmad
