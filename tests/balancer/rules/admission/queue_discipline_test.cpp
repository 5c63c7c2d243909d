#include "balancer/rules/admission/queue_discipline.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace karmad {
namespace {

using namespace std::chrono_literals;
using enum QueueMove;

struct Look {
  Micros at;
  std::size_t waiting;
  Micros oldest;
  QueueMove move;
};

void expect(QueueOrder order, const std::vector<Look>& looks) {
  QueueDiscipline discipline({.order = order, .target = 20ms, .interval = 200ms});
  for (const auto& look : looks) {
    if (look.waiting == 0) {
      discipline.emptied();
      continue;
    }
    EXPECT_EQ(discipline.next(look.waiting, look.oldest, TimePoint(1s) + look.at), look.move)
        << look.at.count();
  }
}

TEST(Fifo, ServesAsTheyCame) {
  expect(QueueOrder::fifo, {{0ms, 1, 0ms, serve_oldest}, {1h, 1000, 1h, serve_oldest}});
}

TEST(Lifo, ServesTheNewestOnceTheOldestWaitedTooLongForAnInterval) {
  expect(QueueOrder::lifo, {
                               {0ms, 5, 20ms, serve_oldest},
                               {10ms, 5, 21ms, serve_oldest},
                               {209ms, 5, 150ms, serve_oldest},
                               {210ms, 5, 150ms, serve_newest},
                               {220ms, 1, 200ms, serve_newest},
                           });
}

TEST(Lifo, ThenShedsRequestsThatWaitedLongerThanTheInterval) {
  expect(QueueOrder::lifo, {
                               {0ms, 3, 300ms, serve_oldest},
                               {200ms, 3, 500ms, shed_oldest},
                               {200ms, 2, 201ms, shed_oldest},
                               {200ms, 1, 201ms, serve_newest},
                           });
}

TEST(Lifo, ServesAsTheyCameAgainOnceTheQueueWasEmpty) {
  expect(QueueOrder::lifo, {
                               {0ms, 5, 100ms, serve_oldest},
                               {200ms, 5, 100ms, serve_newest},
                               {210ms, 5, 20ms, serve_newest},  // the older ones made room
                               {430ms, 0, 0ms, serve_oldest},
                               {440ms, 5, 100ms, serve_oldest},
                           });
}

TEST(Lifo, ReplacesTheOldestByANewRequestOnlyInOverload) {
  QueueDiscipline discipline({.order = QueueOrder::lifo});
  EXPECT_FALSE(discipline.newest_first());
  discipline.next(5, 100ms, TimePoint(1s));
  discipline.next(5, 100ms, TimePoint(2s));
  EXPECT_TRUE(discipline.newest_first());
  discipline.settings({.order = QueueOrder::fifo});
  EXPECT_FALSE(discipline.newest_first());
}

TEST(Codel, ShedsOneAfterAnIntervalAndThenMoreAndMoreOften) {
  expect(QueueOrder::codel, {
                                {0ms, 9, 30ms, serve_oldest},
                                {199ms, 9, 30ms, serve_oldest},
                                {200ms, 9, 30ms, shed_oldest},
                                {200ms, 8, 30ms, serve_oldest},
                                {399ms, 8, 30ms, serve_oldest},
                                {400ms, 8, 30ms, shed_oldest},  // 200 / sqrt(2) later:
                                {541ms, 8, 30ms, serve_oldest},
                                {542ms, 8, 30ms, shed_oldest},  // 200 / sqrt(3) later:
                                {656ms, 8, 30ms, serve_oldest},
                                {657ms, 8, 30ms, shed_oldest},
                            });
}

TEST(Codel, ShedsNoRequestOnceTheWaitIsShort) {
  expect(QueueOrder::codel, {
                                {0ms, 9, 30ms, serve_oldest},
                                {200ms, 9, 30ms, shed_oldest},
                                {300ms, 9, 20ms, serve_oldest},
                                {400ms, 9, 30ms, serve_oldest},
                                {599ms, 9, 30ms, serve_oldest},
                                {600ms, 9, 30ms, shed_oldest},
                            });
}

TEST(Codel, NeverShedsTheLastOne) {
  expect(QueueOrder::codel, {{0ms, 1, 30ms, serve_oldest}, {10s, 1, 10s, serve_oldest}});
}

}  // namespace
}  // namespace karmad
