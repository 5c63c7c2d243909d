#include "balancer/mirror_finder.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace karmad {
namespace {

HostAddress host_ip(const std::string& text) {
  return boost::asio::ip::make_address(text);
}

std::vector<std::string> mirror_texts(const std::vector<NamedMirror>& mirrors) {
  std::vector<std::string> all;
  for (const auto& [address, weight] : mirrors)
    all.push_back(fmt::format("{} {}", text(address), weight ? static_cast<int>(*weight) : -1));
  return all;
}
using MirrorTexts = std::vector<std::string>;

TEST(NameOrder, SortsAddressesByNumberAndDropsTwins) {
  EXPECT_EQ(mirror_texts(mirrors_at(
                {host_ip("10.0.0.10"), host_ip("::1"), host_ip("10.0.0.9"), host_ip("10.0.0.10")})),
            (MirrorTexts{"10.0.0.9:0 -1", "10.0.0.10:0 -1", "[::1]:0 -1"}));
}

TEST(SrvOrder, MakesOtherPrioritiesThanTheLowestStandBys) {
  EXPECT_EQ(mirror_texts(mirrors_of({{20, 9, 80, {host_ip("10.0.0.3")}},
                                     {10, 7, 81, {host_ip("10.0.0.2"), host_ip("10.0.0.1")}},
                                     {10, 0, 82, {host_ip("10.0.0.1")}}})),
            (MirrorTexts{"10.0.0.1:81 7", "10.0.0.1:82 1", "10.0.0.2:81 7", "10.0.0.3:80 0"}));
}

TEST(SrvOrder, DoesNotCountPrioritiesWithoutAnAddress) {
  EXPECT_EQ(mirror_texts(mirrors_of({{1, 1, 80, {}}, {2, 5, 80, {host_ip("10.0.0.3")}}})),
            MirrorTexts{"10.0.0.3:80 5"});
}

TEST(SrvOrder, ScalesWeightsAboveTheHighest) {
  EXPECT_EQ(mirror_texts(mirrors_of({{1, 50000, 80, {host_ip("10.0.0.1")}},
                                     {1, 25000, 80, {host_ip("10.0.0.2")}},
                                     {1, 1, 80, {host_ip("10.0.0.3")}}})),
            (MirrorTexts{"10.0.0.1:80 1000", "10.0.0.2:80 500", "10.0.0.3:80 1"}));
}

TEST(SrvOrder, DoesNotDependOnTheOrderOfTheAnswer) {
  const SrvTarget a{1, 3, 80, {host_ip("10.0.0.1"), host_ip("10.0.0.2")}};
  const SrvTarget b{2, 4, 80, {host_ip("10.0.0.2")}};
  EXPECT_EQ(mirrors_of({a, b}), mirrors_of({b, a}));
  EXPECT_EQ(mirror_texts(mirrors_of({a, b})), (MirrorTexts{"10.0.0.1:80 3", "10.0.0.2:80 3"}));
}

}  // namespace
}  // namespace karmad
