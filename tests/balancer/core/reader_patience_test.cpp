#include "balancer/core/client_connection.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace karmad {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kStart{1h};

/// When a client is given up that has acknowledged `taken(t)` bytes at the time t; 1 h: never.
Micros ends(Micros timeout, const std::function<std::uint64_t(Micros)>& taken) {
  ReaderPatience patience(timeout, taken(0us), kStart);
  for (auto now = kStart; now < kStart + 1h;) {
    now = patience.until();
    patience.progress(taken(std::chrono::duration_cast<Micros>(now - kStart)), now);
    if (patience.until() <= now) return std::chrono::duration_cast<Micros>(now - kStart);
  }
  return 1h;
}

/// Reads steadily, and acknowledges in steps.
auto steadily(std::uint64_t per_second, std::uint64_t step) {
  return [=](Micros t) {
    return static_cast<std::uint64_t>(t.count()) * per_second / 1'000'000 / step * step;
  };
}

TEST(ReaderPatience, GivesUpAClientThatReadsNothing) {
  EXPECT_EQ(ends(5s, [](Micros) { return 0; }), 5s);
  EXPECT_EQ(ends(700ms, [](Micros) { return 12345; }), 700ms) << "it took that before";
}

TEST(ReaderPatience, NeverEndsForAClientThatReadsAsFastAsPromised) {  // 64 KB per network_timeout
  for (const std::uint64_t rate : {13'200, 20'000, 41'000, 150'000, 5'000'000})
    for (const std::uint64_t step : {1, 1448, 32'768, 65'483})
      EXPECT_EQ(ends(5s, steadily(rate, step)), 1h) << rate << " " << step;
}

TEST(ReaderPatience, WaitsForRareStepsOfALargeBuffer) {
  EXPECT_EQ(ends(5s, [](Micros t) { return 3'000'000 + steadily(20'000, 384 << 10)(t); }), 5s)
      << "before the first step nothing is known";
  EXPECT_EQ(ends(5s,
                 [](Micros t) {
                   return t < 2s ? t.count() : 2'000'000 + steadily(20'000, 384 << 10)(t);
                 }),
            1h);
}

TEST(ReaderPatience, EndsSoonAfterAFastClientStops) {
  const auto stops = [](Micros t) {
    return static_cast<std::uint64_t>(std::min<Micros>(t, 20s).count()) * 10;
  };
  EXPECT_GT(ends(5s, stops), 20s);
  EXPECT_LE(ends(5s, stops), 20s + 2 * ReaderPatience::kMost * 5s);
}

TEST(ReaderPatience, EndsForAClientThatIsTooSlow) {
  EXPECT_LT(ends(5s, steadily(3'000, 1)), 20s);
  EXPECT_LT(ends(5s, steadily(6'000, 1)), 80s);
}

}  // namespace
}  // namespace karmad
