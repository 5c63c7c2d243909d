#include <gtest/gtest.h>

#include "balancer/rules/protection.hpp"

namespace karmad {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint at(Micros since) {
  return TimePoint{} + 1h + since;
}

Candidates only(std::size_t mirror) {
  Candidates one;
  one.insert(mirror);
  return one;
}

/// Two mirrors, of which the first answered a ping then.
SetDescription pinged(TimePoint when, Role role = Role::replica) {
  SetDescription picture;
  picture.mirrors.resize(2);
  picture.mirrors[0] = {.role = role, .updated = when};
  return picture;
}

TEST(UnavailableMarks, EndWithTheirTime) {
  UnavailableMarks marks(2);
  EXPECT_FALSE(marks.any());
  marks.mark(0, at(0s), 10s);
  marks.mark_paused(1, at(0s), 5s);
  EXPECT_TRUE(marks.any());
  EXPECT_EQ(marks.marked(pinged(at(-1s)), true, at(4s)), only(0) | only(1));
  EXPECT_EQ(marks.marked(pinged(at(-1s)), true, at(6s)), only(0));
  EXPECT_EQ(marks.marked(pinged(at(-1s)), true, at(11s)), Candidates{});
}

TEST(UnavailableMarks, OfAMirrorThatShutsDownEndWithAPingThatItServes) {  // CO-033
  UnavailableMarks marks(2);
  marks.mark(0, at(0s), 5min);
  EXPECT_EQ(marks.marked(pinged(at(1s)), true, at(2s)), Candidates{});
  EXPECT_EQ(marks.marked(pinged(at(1s)), false, at(2s)), only(0))
      << "it says only that it is there";
  EXPECT_EQ(marks.marked(pinged(at(1s), Role::unknown), true, at(2s)), only(0));
}

TEST(UnavailableMarks, OfAMirrorThatAskedForAPauseOutlastItsPings) {  // CO-036
  UnavailableMarks marks(2);
  marks.mark_paused(0, at(0s), 20s);
  EXPECT_EQ(marks.marked(pinged(at(1s)), true, at(2s)), only(0));
  marks.mark(0, at(3s), 1s);  // something else, which is over sooner
  EXPECT_EQ(marks.marked(pinged(at(4s)), true, at(19s)), only(0));
  EXPECT_EQ(marks.marked(pinged(at(4s)), true, at(20s)), Candidates{});
}

}  // namespace
}  // namespace karmad
