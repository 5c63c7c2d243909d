#include "balancer/admission/ticket_pool.hpp"

#include <gtest/gtest.h>

#include "tests/balancer/admission/ticket_pools.hpp"

namespace karmad {
namespace {

// AC-010. A past deadline does not matter to a free ticket: the pool does not know it.
TEST_F(TicketPoolTest, GivesWhatItHasAndNoMore) {
  auto pool = pool_of(1);
  const auto only = take(pool, 1);
  EXPECT_FALSE(is_free(pool));
}

// AC-011; a request that would be refused need not queue.
TEST_F(TicketPoolTest, PredictsARefusal) {
  auto pool = pool_of({.size = 1, .queue_depth = 1});
  EXPECT_FALSE(pool.refuses(0, Priority::normal, now)) << "a ticket is free";
  auto only = take(pool, 1);
  EXPECT_FALSE(pool.refuses(0, Priority::normal, now)) << "there is a place in the queue";
  TicketRequest first;
  EXPECT_EQ(ask(pool, first), AskResult::queued);
  EXPECT_TRUE(pool.refuses(0, Priority::normal, now));
  TicketRequest second;
  EXPECT_EQ(ask(pool, second), AskResult::refused) << "it says the same of who asks";
  EXPECT_EQ(pool.statistics()[Priority::normal].refused, 2U);
  only.clear();
  EXPECT_TRUE(pool.collect(first, now));
  EXPECT_FALSE(pool.refuses(0, Priority::normal, now));
}

TEST_F(TicketPoolTest, ShrinksAtOnceAndWaitsForReturnedTickets) {  // AC-012
  auto pool = pool_of({.size = 10, .resize = TicketResize::immediate});
  auto tickets = take(pool, 5);
  pool.resize(8, now);
  EXPECT_EQ(available(pool), 3);
  pool.resize(3, now);
  EXPECT_EQ(available(pool), -2);
  EXPECT_FALSE(is_free(pool));
  TicketRequest waiting;
  EXPECT_EQ(ask(pool, waiting), AskResult::queued);
  tickets.pop_back();
  tickets.pop_back();
  EXPECT_FALSE(waiting.was_woken);
  tickets.pop_back();
  EXPECT_TRUE(waiting.was_woken);
  const auto ticket = pool.collect(waiting, now);
  EXPECT_TRUE(ticket);
  EXPECT_EQ(available(pool), 0);
}

TEST_F(TicketPoolTest, HasFreeTicketsAgainAfterReturns) {
  auto pool = pool_of({.size = 10, .resize = TicketResize::immediate});
  auto tickets = take(pool, 5);
  pool.resize(3, now);
  tickets.resize(2);
  EXPECT_EQ(available(pool), 1);
  EXPECT_TRUE(is_free(pool));
}

TEST_F(TicketPoolTest, AdmitsOneWaiterPerNewTicket) {  // AC-012
  auto pool = pool_of(3);
  const auto tickets = take(pool, 3);
  TicketRequest first;
  ask(pool, first);
  pool.resize(5, now);
  EXPECT_TRUE(first.was_woken);
  const auto ticket = pool.collect(first, now);
  const auto statistics = pool.statistics();
  EXPECT_EQ(statistics.out, 4U);
  EXPECT_EQ(statistics.available, 1);
  EXPECT_EQ(statistics.total, 5U);
}

TEST_F(TicketPoolTest, RefusesAtOnceWhenTheQueueIsFull) {  // AC-011
  auto pool = pool_of({.size = 4, .queue_depth = 0});
  auto tickets = take(pool, 4);
  TicketRequest fifth;
  EXPECT_EQ(ask(pool, fifth), AskResult::refused);

  pool.settings({.size = 4, .queue_depth = 1}, now);
  TicketRequest one;
  TicketRequest next;
  EXPECT_EQ(ask(pool, one), AskResult::queued);
  EXPECT_EQ(ask(pool, next), AskResult::refused);
  pool.settings({.size = 4, .queue_depth = 0}, now);
  EXPECT_FALSE(one.was_woken);
  tickets.pop_back();
  EXPECT_TRUE(one.was_woken);
  EXPECT_TRUE(pool.collect(one, now));
  EXPECT_EQ(pool.statistics()[Priority::normal].refused, 2U);
}

TEST_F(TicketPoolTest, HasRoomForFourTimesItsSizeToWait) {
  auto pool = pool_of(2);
  const auto tickets = take(pool, 2);
  std::vector<std::unique_ptr<TicketRequest>> waiting;
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(ask(pool, *waiting.emplace_back(std::make_unique<TicketRequest>())),
              AskResult::queued);
  TicketRequest ninth;
  EXPECT_EQ(ask(pool, ninth), AskResult::refused);
  for (auto& each : waiting) EXPECT_TRUE(pool.cancel(*each, now));
}

TEST_F(TicketPoolTest, GivesUpAGradualResizeThatTakesTooLong) {  // AC-012
  auto pool = pool_of({.size = 5, .stalled_after = 1ms});
  auto tickets = take(pool, 5);
  pool.resize(3, now);
  EXPECT_TRUE(pool.resizing());
  EXPECT_FALSE(pool.end_stalled_resize(now));
  tickets.pop_back();
  EXPECT_EQ(pool.size(), 4U) << "as they come back";
  EXPECT_TRUE(pool.end_stalled_resize(now + 1ms));
  EXPECT_FALSE(pool.end_stalled_resize(now + 2ms)) << "once";
  EXPECT_FALSE(pool.resizing());
  EXPECT_EQ(pool.size(), 4U) << "what was taken stays taken";
  tickets.pop_back();
  EXPECT_EQ(available(pool), 1);
}

TEST_F(TicketPoolTest, BecomesSmallerByWhatIsFreeAndThenByWhatComesBack) {
  auto pool = pool_of(5);
  auto tickets = take(pool, 4);
  pool.resize(2, now);
  EXPECT_EQ(pool.size(), 4U);
  TicketRequest waiting;
  EXPECT_EQ(ask(pool, waiting), AskResult::queued);
  tickets.resize(2);
  EXPECT_EQ(pool.size(), 2U);
  EXPECT_FALSE(pool.resizing());
  EXPECT_FALSE(waiting.was_woken);
  tickets.pop_back();
  EXPECT_TRUE(waiting.was_woken);
  EXPECT_TRUE(pool.collect(waiting, now));
}

TEST_F(TicketPoolTest, ServesInTheOrderTheyCame) {
  auto pool = pool_of(1);
  auto tickets = take(pool, 1);
  TicketRequest a;
  TicketRequest b;
  ask(pool, a);
  ask(pool, b);
  tickets.clear();
  EXPECT_TRUE(a.was_woken);
  EXPECT_FALSE(b.was_woken);
  pool.collect(a, now).give_back(now);
  EXPECT_TRUE(b.was_woken);
  EXPECT_FALSE(is_free(pool)) << "it is b's";
  pool.collect(b, now).give_back(now);
  EXPECT_TRUE(is_free(pool));
}

TEST_F(TicketPoolTest, AWaiterThatLeavesFreesItsPlace) {
  auto pool = pool_of({.size = 1, .queue_depth = 1});
  auto tickets = take(pool, 1);
  TicketRequest leaves;
  TicketRequest comes;
  ask(pool, leaves);
  EXPECT_TRUE(pool.cancel(leaves, now));
  EXPECT_EQ(ask(pool, comes), AskResult::queued);
  tickets.clear();
  EXPECT_FALSE(leaves.was_woken);
  EXPECT_TRUE(comes.was_woken);
  EXPECT_FALSE(pool.cancel(comes, now)) << "it has a ticket already";
  EXPECT_TRUE(pool.collect(comes, now));
  EXPECT_EQ(pool.statistics()[Priority::normal].canceled, 1U);
}

TEST_F(TicketPoolTest, ServesTheFewestAdmissionsFirstIfConfigured) {  // AC-007
  for (const auto order : {QueueOrder::fifo, QueueOrder::lifo, QueueOrder::codel}) {
    auto pool = pool_of({.size = 1,
                         .line = {.discipline = {.order = order, .target = 1ms, .interval = 1ms},
                                  .fewest_admissions = true}});
    auto tickets = take(pool, 1);
    TicketRequest often(Priority::low, 7);
    TicketRequest seldom(Priority::low, 2);
    TicketRequest as_seldom(Priority::low, 2);
    TicketRequest most_often(Priority::low, 8);
    for (auto* waiter : {&often, &seldom, &most_often}) ask(pool, *waiter);
    tickets.clear();
    ask(pool, as_seldom);
    for (auto* waiter : {&seldom, &as_seldom, &often, &most_often}) {
      EXPECT_TRUE(waiter->was_woken);
      pool.collect(*waiter, now += 100ms).give_back(now);
    }
    EXPECT_EQ(pool.statistics()[Priority::low].finished_processing, 4U) << "no request is shed";
    now = TimePoint(1s);
  }
}

TEST_F(TicketPoolTest, AdmissionsHaveNoEffectInOtherQueues) {
  auto pool = pool_of(1);
  auto tickets = take(pool, 1);
  TicketRequest often(Priority::low, 7);
  TicketRequest seldom(Priority::normal, 2);
  for (auto* waiter : {&often, &seldom}) ask(pool, *waiter);
  tickets.clear();
  for (auto* waiter : {&often, &seldom}) {
    EXPECT_TRUE(waiter->was_woken);
    pool.collect(*waiter, now).give_back(now);
  }
}

TEST_F(TicketPoolTest, SetsRetryAfter) {  // BP-015
  auto pool = pool_of({.size = 2, .queue_depth = 100});
  EXPECT_EQ(pool.retry_after(), 1s) << "nothing is known yet";
  auto tickets = take(pool, 2);
  std::vector<std::unique_ptr<TicketRequest>> waiting;
  const auto comes = [&] { ask(pool, *waiting.emplace_back(std::make_unique<TicketRequest>())); };
  for (int i = 0; i < 31; ++i) comes();
  std::size_t next = 0;
  pool.measure(now);
  for (int second = 0; second < 10; ++second) {  // two are served in a second, two come
    now += 1s;
    for (auto& ticket : tickets) {
      ticket.give_back(now);
      ticket = pool.collect(*waiting[next++], now);
      comes();
    }
    pool.measure(now);
  }
  EXPECT_EQ(pool.retry_after(), 16s) << "31 wait";
  for (; waiting.size() - next > 3; ++next) EXPECT_TRUE(pool.cancel(*waiting[next], now));
  EXPECT_EQ(pool.retry_after(), 2s) << "3 wait";
  for (; next < waiting.size(); ++next) EXPECT_TRUE(pool.cancel(*waiting[next], now));
  EXPECT_EQ(pool.retry_after(), 1s);
}

TEST_F(TicketPoolTest, ServesTheNewestAndShedsTheOldestUnderSustainedOverload) {
  auto pool = pool_of(
      {.size = 1,
       .queue_depth = 3,
       .line = {.discipline = {.order = QueueOrder::lifo, .target = 20ms, .interval = 200ms}}});
  auto holder = take(pool, 1);
  TicketRequest w[5];
  const auto pass = [&](TicketRequest& next) {
    holder.front().give_back(now);
    ASSERT_TRUE(next.was_woken);
    holder.front() = pool.collect(next, now);
  };
  for (int i = 0; i < 3; ++i) ask(pool, w[i]);
  now += 50ms;
  pass(w[0]);  // the oldest; but it is late
  now += 200ms;
  ask(pool, w[3]);
  pass(w[3]);
  EXPECT_TRUE(w[1].was_woken);
  EXPECT_FALSE(pool.collect(w[1], now));
  EXPECT_FALSE(pool.collect(w[2], now));
  ask(pool, w[4]);
  pass(w[4]);
  EXPECT_EQ(pool.statistics()[Priority::normal].shed, 2U);
}

TEST_F(TicketPoolTest, RecordsItsPeakUseUntilItIsRead) {  // AC-013
  auto pool = pool_of(10);
  auto tickets = take(pool, 7);
  tickets.resize(2);
  EXPECT_EQ(pool.take_peak(), 7U);
  EXPECT_EQ(pool.take_peak(), 2U);
  const auto more = take(pool, 1);
  EXPECT_EQ(pool.take_peak(), 3U);
}

TEST_F(TicketPoolTest, CountsExemptWorkApart) {  // AC-008
  auto pool = pool_of(1);
  {
    const auto tickets = take(pool, 1);
    const auto exempt = pool.exempt(0, now);
    EXPECT_EQ(pool.statistics()[Priority::exempt].processing(), 1U);
    EXPECT_EQ(pool.statistics().out, 1U);
  }
  {
    const auto exempt = pool.exempt(0, now);
    EXPECT_EQ(available(pool), 1);
  }
  const auto statistics = pool.statistics();
  EXPECT_EQ(statistics[Priority::exempt].started_processing, 2U);
  EXPECT_EQ(statistics[Priority::exempt].finished_processing, 2U);
  EXPECT_EQ(statistics[Priority::normal].started_processing, 1U);
}

TEST_F(TicketPoolTest, MeasuresWorkAndWaiting) {  // AC-015
  auto pool = pool_of(1);
  auto tickets = take(pool, 1);
  TicketRequest waiting;
  ask(pool, waiting);
  now += 40ms;
  tickets.front().give_back(now);
  pool.collect(waiting, now).give_back(now + 30ms);
  const auto statistics = pool.statistics();
  const auto& normal = statistics[Priority::normal];
  EXPECT_EQ(normal.added_to_queue, 1U);
  EXPECT_EQ(normal.removed_from_queue, 1U);
  EXPECT_EQ(normal.total_time_queued_us, 40'000U);
  EXPECT_EQ(normal.total_time_processing_us, 70'000U);
  EXPECT_EQ(statistics.delinquent, 1U) << "30 ms are not more than 30 ms";
  EXPECT_EQ(statistics.delinquent_ms, 40U);
  EXPECT_EQ(statistics.delinquent_ms_most, 40U);
}

TEST_F(TicketPoolTest, AResizeChangesNoOtherStatistic) {  // AC-014
  auto pool = pool_of(4);
  const auto tickets = take(pool, 2);
  const auto before = pool.statistics();
  pool.resize(9, now);
  pool.resize(3, now);
  const auto after = pool.statistics();
  EXPECT_EQ(after.total, 3U);
  EXPECT_EQ(after.out, before.out);
  EXPECT_EQ(after.peak, before.peak);
  EXPECT_EQ(after[Priority::normal].started_processing,
            before[Priority::normal].started_processing);
}

TEST_F(TicketPoolTest, WithoutALimitOnlyCounts) {
  for (const auto& settings : {PoolSettings{}, PoolSettings{.size = 2, .counted = false}}) {
    auto pool = pool_of(settings);
    const auto tickets = take(pool, 5);
    EXPECT_EQ(pool.statistics().out, 5U);
    EXPECT_EQ(pool.statistics().total, settings.size);
  }
}

TEST_F(TicketPoolTest, WithoutTicketsAndQueueBlocksEverything) {  // AC-060
  auto pool = pool_of(0u);
  EXPECT_FALSE(is_free(pool));
  TicketRequest waiting;
  EXPECT_EQ(ask(pool, waiting), AskResult::refused);
}

TEST_F(TicketPoolTest, MonitoringRefusesNoRequestAndCountsWouldBeRefusals) {
  auto pool = pool_of({.size = 2, .enforced = false, .queue_depth = 1});
  std::vector<Ticket> tickets;
  for (int i = 0; i < 5; ++i) tickets.push_back(pool.watch(0, Priority::normal, now));
  const auto statistics = pool.statistics();
  EXPECT_EQ(statistics[Priority::normal].would_queue, 1U);
  EXPECT_EQ(statistics[Priority::normal].would_refuse, 2U);
  EXPECT_EQ(statistics.out, 3U) << "those refused would not be here";
  tickets.clear();
  EXPECT_EQ(pool.statistics().out, 0U);
  EXPECT_EQ(pool.statistics()[Priority::normal].processing(), 0U);
}

TEST_F(TicketPoolTest, AdmitsAllWaitingRequestsWhenTheLimitIsRemoved) {
  for (const auto& settings : {PoolSettings{}, PoolSettings{.size = 1, .enforced = false}}) {
    auto pool = pool_of(1);
    auto tickets = take(pool, 1);
    TicketRequest a;
    TicketRequest b;
    ask(pool, a);
    ask(pool, b);
    pool.settings(settings, now);
    EXPECT_TRUE(a.was_woken && b.was_woken);
    tickets.push_back(pool.collect(a, now));
    tickets.push_back(pool.collect(b, now));
    pool.settings({.size = 1}, now);
    EXPECT_FALSE(is_free(pool)) << "they are still counted";
    tickets.clear();
    EXPECT_EQ(available(pool), 1);
  }
}

}  // namespace
}  // namespace karmad
