#include "balancer/simulate/world/event_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>

namespace karmad::simulate {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kQueueStart{1h};

/// Whether no event is left.
bool is_at_its_end(EventQueue& queue) {
  constexpr std::uint32_t kLast = 99;
  queue.add_at(TimePoint::max(), {}, {kLast});
  return queue.pop().subject.index == kLast;
}

TEST(SimulationEventQueue, GivesEventsInOrderOfTimeAndThenOfCreation) {
  EventQueue queue;
  queue.add_at(kQueueStart + 3us, {}, {0});
  queue.add_after(kQueueStart, 3us, {}, {1});
  queue.add_after(kQueueStart, 1us, {}, {2});
  queue.add_at(kQueueStart + 1us, {}, {3});
  queue.add_at(kQueueStart + 3us, {}, {4});
  for (const auto subject : {2U, 3U, 0U, 1U, 4U}) EXPECT_EQ(queue.pop().subject.index, subject);
  EXPECT_TRUE(is_at_its_end(queue));
}

TEST(SimulationEventQueue, KeepsTheOrderOfManyEventsWithManyDelays) {
  EventQueue queue;
  std::minstd_rand random(1);  // NOLINT: the test is the same each time
  std::vector<TimePoint> popped;
  auto now = kQueueStart;
  for (int i = 0; i < 20'000; ++i) {
    const Micros delay{random() % 30};  // more delays than there are queues for
    if (random() % 2 == 0) {
      queue.add_after(now, delay, {});
    } else {
      queue.add_at(now + delay, {});
    }
    if (random() % 3 != 0) {
      now = queue.pop().at;
      popped.push_back(now);
    }
  }
  while (popped.size() < 20'000U) popped.push_back(queue.pop().at);
  EXPECT_TRUE(is_at_its_end(queue));
  EXPECT_TRUE(std::ranges::is_sorted(popped));
}

}  // namespace
}  // namespace karmad::simulate
