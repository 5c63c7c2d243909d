#include "balancer/topology/set_watch.hpp"

#include <gtest/gtest.h>

namespace karmad {
namespace {

using namespace std::chrono_literals;
using Lines = std::vector<SetWatch::Line>;

Candidates these(std::initializer_list<std::size_t> mirrors) {
  Candidates set;
  for (const auto mirror : mirrors) set.insert(mirror);
  return set;
}

TEST(SetWatch, HasALineForEachChangeAndNoneWhereNothingChanges) {
  SetWatch watch(2);
  const TimePoint t0{1h};
  EXPECT_EQ(watch.look({}, t0), Lines{});
  EXPECT_EQ(watch.look(these({1}), t0), (Lines{{.mirror = 1, .down = true, .left = 1}}));
  EXPECT_EQ(watch.look(these({1}), t0 + 1h), Lines{});
  EXPECT_EQ(watch.look(these({0, 1}), t0 + 1h), (Lines{{.mirror = 0, .down = true, .left = 0}}));
  EXPECT_EQ(watch.look(these({0}), t0 + 2h),
            (Lines{{.mirror = 1, .down = false, .left = 1, .ends_outage = true}}));
  EXPECT_EQ(watch.look({}, t0 + 3h), (Lines{{.mirror = 0, .down = false, .left = 2}}));
}

TEST(SetWatch, CountsDownWhenAllGoAtOnce) {
  SetWatch watch(2);
  EXPECT_EQ(
      watch.look(these({0, 1}), TimePoint{1h}),
      (Lines{{.mirror = 0, .down = true, .left = 1}, {.mirror = 1, .down = true, .left = 0}}));
}

TEST(SetWatch, HasOneLineASecondOfAMirrorThatComesAndGoes) {
  SetWatch watch(2);
  const TimePoint t0{1h};
  std::size_t lines = 0;
  std::size_t left_out = 0;
  for (int i = 0; i < 100; ++i) {
    const auto told = watch.look(i % 2 == 0 ? these({0}) : these({}), t0 + i * 100ms);
    lines += told.size();
    for (const auto& line : told) left_out += line.left_out;
  }
  EXPECT_LE(lines, 10u);
  EXPECT_GE(lines, 5u);
  EXPECT_GE(lines + left_out, 85u);
  EXPECT_LE(lines + left_out, 100u);
}

TEST(SetWatch, ComesToTellTheTruthWhenItIsCalmAgain) {
  SetWatch watch(1);
  const TimePoint t0{1h};
  EXPECT_EQ(watch.look(these({0}), t0).size(), 1u);
  EXPECT_EQ(watch.look({}, t0 + 100ms), Lines{});
  EXPECT_EQ(watch.look(these({0}), t0 + 200ms), Lines{});
  EXPECT_EQ(watch.look({}, t0 + 300ms), Lines{});
  EXPECT_EQ(watch.look({}, t0 + 1s),
            (Lines{{.mirror = 0, .down = false, .left = 1, .left_out = 2, .ends_outage = true}}));
}

}  // namespace
}  // namespace karmad
