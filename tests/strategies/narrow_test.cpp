#include "strategies/narrow.hpp"

#include <gtest/gtest.h>

#include "tests/strategies/builders.hpp"
#include "tests/strategies/pictures.hpp"

namespace karmad {
namespace {

using namespace std::chrono_literals;
using testing::set_of;
using testing::with_errors_in_a_row;
using testing::with_rates;

TEST(Prefer, KeepsWhatSatisfiesAndAllWhenNothingDoes) {
  const auto odd = [](auto mirror) { return mirror % 2 == 1; };
  EXPECT_EQ(prefer(Candidates::first(4), odd), set_of({1, 3}));
  EXPECT_EQ(prefer(set_of({0, 2}), odd), set_of({0, 2}));
  EXPECT_EQ(set_of({0, 2}).where(odd), Candidates{});
}

TEST(Lowest, KeepsEveryMirrorWithTheLowestKey) {
  const int keys[]{5, 2, 7, 2, 3};
  const auto key = [&](auto mirror) { return keys[mirror]; };
  EXPECT_EQ(lowest(Candidates::first(5), key), set_of({1, 3}));
  EXPECT_EQ(lowest(set_of({0, 2, 4}), key), set_of({4}));
  EXPECT_EQ(lowest(Candidates{}, key), Candidates{});
}

Candidates near(std::initializer_list<std::optional<Micros>> trips, Micros window,
                std::optional<Candidates> from = {}) {
  const auto set = testing::picture(SetKind::flat, testing::with_rtt(Role::router, trips));
  return prefer_near(set, from.value_or(Candidates::first(trips.size())), window);
}

TEST(PreferNear, KeepsMirrorsWithinTheWindowOfTheFastestBothEndsIncluded) {  // SS-155
  EXPECT_EQ(near({5ms, 20ms, 20'001us}, 15ms), set_of({0, 1}));
  EXPECT_EQ(near({10ms, 20ms, 100ms}, 15ms), set_of({0, 1}));
  EXPECT_EQ(near({100ms, 0ms, 15ms}, 15ms), set_of({1, 2}));
}

TEST(PreferNear, MeasuresFromTheFastestCandidate) {  // SS-155
  EXPECT_EQ(near({26ms, 5ms, 100ms}, 15ms, set_of({0, 2})), set_of({0}));
  EXPECT_EQ(near({26ms, 5ms}, 15ms, Candidates{}), Candidates{});
}

TEST(PreferNear, AWindowOfZeroKeepsTheFastestAndAHugeOneEverybody) {  // SS-036
  EXPECT_EQ(near({7ms, 5ms, 5ms, 5001us}, 0ms), set_of({1, 2}));
  EXPECT_EQ(near({7ms, 0ms, 40s}, Micros::max()), Candidates::first(3));
}

TEST(PreferNear, KeepsUnmeasuredMirrorsOnlyWithoutAMeasuredOne) {
  EXPECT_EQ(near({{}, {}}, 15ms), Candidates::first(2));
  EXPECT_EQ(near({{}, 90ms}, 15ms), set_of({1}));
  EXPECT_EQ(prefer_near({}, Candidates::first(3), 15ms), Candidates::first(3));
}

// Case 7, HA-022
TEST(PreferAlive, TheFourthErrorInARowMakesAMirrorDead) {
  EXPECT_EQ(prefer_alive(with_errors_in_a_row({0, 3, 4}), Candidates::first(3), 3), set_of({0, 1}));
}

TEST(PreferAlive, MirrorsWithinTheToleranceAreAllAlike) {
  EXPECT_EQ(prefer_alive(with_errors_in_a_row({0, 1, 2, 3}), Candidates::first(4), 3),
            Candidates::first(4));
}

TEST(PreferAlive, ToleratesAsManyErrorsAsItIsTold) {
  const auto mirrors = with_errors_in_a_row({0, 1, 2});
  EXPECT_EQ(prefer_alive(mirrors, Candidates::first(3), 0), set_of({0}));
  EXPECT_EQ(prefer_alive(mirrors, Candidates::first(3), 1), set_of({0, 1}));
}

TEST(PreferAlive, WhenAllAreDeadTheFewestErrorsInARowWin) {
  EXPECT_EQ(prefer_alive(with_errors_in_a_row({9, 5, 7, 5}), Candidates::first(4), 3),
            set_of({1, 3}));
}

TEST(PreferAlive, LooksOnlyAtTheMirrorsItIsGiven) {
  EXPECT_EQ(prefer_alive(with_errors_in_a_row({0, 5, 7}), set_of({1, 2}), 3), set_of({1}));
}

// Case 8, HA-023
TEST(PreferFewestErrors, TheLowestCriticalRateWins) {
  const auto mirrors =
      with_rates({error_rates(90, 0, 10), error_rates(80, 15, 5), error_rates(70, 0, 30)});
  EXPECT_EQ(prefer_fewest_errors(mirrors, Candidates::first(3)), set_of({1}));
}

TEST(PreferFewestErrors, TheRateWithWarningsDecidesTies) {
  const auto mirrors =
      with_rates({error_rates(80, 10, 10), error_rates(85, 5, 10), error_rates(170, 10, 20)});
  EXPECT_EQ(prefer_fewest_errors(mirrors, Candidates::first(3)), set_of({1, 2}));
}

TEST(PreferFewestErrors, ThreePercentOfErrorsAreAsGoodAsNone) {
  const auto mirrors =
      with_rates({error_rates(97, 0, 3), error_rates(100, 0, 0), error_rates(96, 0, 4)});
  EXPECT_EQ(prefer_fewest_errors(mirrors, Candidates::first(3)), set_of({0, 1}));
}

TEST(PreferFewestErrors, MirrorsWithoutSuccessArePassedOver) {
  const auto mirrors =
      with_rates({error_rates(0, 0, 0), error_rates(50, 0, 50), error_rates(0, 10, 0)});
  EXPECT_EQ(prefer_fewest_errors(mirrors, Candidates::first(3)), set_of({1}));
}

TEST(PreferFewestErrors, WithoutAnySuccessKeepsAllMirrors) {
  const auto mirrors =
      with_rates({error_rates(0, 0, 0), error_rates(0, 0, 50), error_rates(0, 3, 1)});
  EXPECT_EQ(prefer_fewest_errors(mirrors, Candidates::first(3)), Candidates::first(3));
}

}  // namespace
}  // namespace karmad
