#include "balancer/admission/ticket_pool.hpp"

#include <gtest/gtest.h>

#include <semaphore>
#include <thread>

#include "strategies/random_source.hpp"

namespace karmad {
namespace {

using namespace std::chrono_literals;
using Asked = TicketPool::Asked;

struct Waiting final : TicketWaiter {
  explicit Waiting(Priority with = Priority::normal, std::uint64_t before = 0)
      : TicketWaiter(0, with, before) {}
  void woken() override { was_woken = true; }
  bool was_woken = false;
};

struct Pool : ::testing::Test {
  TimePoint now{1s};
  const Loops nowhere;

  TicketPool pool_of(std::uint32_t size) { return {1, nowhere, {.size = size}}; }
  TicketPool pool_of(PoolSettings settings) { return {1, nowhere, settings}; }
  std::vector<Ticket> take(TicketPool& pool, unsigned count) {
    std::vector<Ticket> tickets;
    for (unsigned i = 0; i < count; ++i) tickets.push_back(pool.try_take(0, Priority::normal, now));
    for (const auto& ticket : tickets) EXPECT_TRUE(ticket);
    return tickets;
  }
  Asked ask(TicketPool& pool, TicketWaiter& waiter) { return pool.ask(waiter, now); }
  bool is_free(TicketPool& pool) { return bool(pool.try_take(0, Priority::normal, now)); }
};

std::int64_t available(const TicketPool& pool) {
  return pool.statistics().available.value_or(-1);
}

struct TicketPoolTest : Pool {};

// AC-010. A past deadline does not matter to a free ticket: the pool does not know it.
TEST_F(TicketPoolTest, GivesWhatItHasAndNoMore) {
  auto pool = pool_of(1);
  const auto only = take(pool, 1);
  EXPECT_FALSE(is_free(pool));
}

// AC-011; who is refused anyhow need not come to ask.
TEST_F(TicketPoolTest, KnowsWhomItWouldRefuse) {
  auto pool = pool_of({.size = 1, .queue_depth = 1});
  EXPECT_FALSE(pool.refuses(0, Priority::normal, now)) << "a ticket is free";
  auto only = take(pool, 1);
  EXPECT_FALSE(pool.refuses(0, Priority::normal, now)) << "there is a place in the queue";
  Waiting first;
  EXPECT_EQ(ask(pool, first), Asked::queued);
  EXPECT_TRUE(pool.refuses(0, Priority::normal, now));
  Waiting second;
  EXPECT_EQ(ask(pool, second), Asked::refused) << "it says the same of who asks";
  EXPECT_EQ(pool.statistics()[Priority::normal].refused, 2U);
  only.clear();
  EXPECT_TRUE(pool.collect(first, now));
  EXPECT_FALSE(pool.refuses(0, Priority::normal, now));
}

TEST_F(TicketPoolTest, BecomesSmallerAtOnceAndMayOweTickets) {  // AC-012
  auto pool = pool_of({.size = 10, .resize = TicketResize::immediate});
  auto tickets = take(pool, 5);
  pool.resize(8, now);
  EXPECT_EQ(available(pool), 3);
  pool.resize(3, now);
  EXPECT_EQ(available(pool), -2);
  EXPECT_FALSE(is_free(pool));
  Waiting waiting;
  EXPECT_EQ(ask(pool, waiting), Asked::queued);
  tickets.pop_back();
  tickets.pop_back();
  EXPECT_FALSE(waiting.was_woken);
  tickets.pop_back();
  EXPECT_TRUE(waiting.was_woken);
  const auto ticket = pool.collect(waiting, now);
  EXPECT_TRUE(ticket);
  EXPECT_EQ(available(pool), 0);
}

TEST_F(TicketPoolTest, HasTicketsAgainOnceWhatItOwesCameBack) {
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
  Waiting first;
  ask(pool, first);
  pool.resize(5, now);
  EXPECT_TRUE(first.was_woken);
  const auto ticket = pool.collect(first, now);
  const auto statistics = pool.statistics();
  EXPECT_EQ(statistics.out, 4U);
  EXPECT_EQ(statistics.available, 1);
  EXPECT_EQ(statistics.total, 5U);
}

TEST_F(TicketPoolTest, RefusesAtOnceWhoFindsTheQueueFull) {  // AC-011
  auto pool = pool_of({.size = 4, .queue_depth = 0});
  auto tickets = take(pool, 4);
  Waiting fifth;
  EXPECT_EQ(ask(pool, fifth), Asked::refused);

  pool.settings({.size = 4, .queue_depth = 1}, now);
  Waiting one;
  Waiting next;
  EXPECT_EQ(ask(pool, one), Asked::queued);
  EXPECT_EQ(ask(pool, next), Asked::refused);
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
  std::vector<std::unique_ptr<Waiting>> waiting;
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(ask(pool, *waiting.emplace_back(std::make_unique<Waiting>())), Asked::queued);
  Waiting ninth;
  EXPECT_EQ(ask(pool, ninth), Asked::refused);
  for (auto& each : waiting) EXPECT_TRUE(pool.cancel(*each, now));
}

TEST_F(TicketPoolTest, GivesUpAGradualResizeThatTakesTooLong) {  // AC-012
  auto pool = pool_of({.size = 5, .stalled_after = 1ms});
  auto tickets = take(pool, 5);
  pool.resize(3, now);
  EXPECT_TRUE(pool.resizing());
  EXPECT_FALSE(pool.stalled(now));
  tickets.pop_back();
  EXPECT_EQ(pool.size(), 4U) << "as they come back";
  EXPECT_TRUE(pool.stalled(now + 1ms));
  EXPECT_FALSE(pool.stalled(now + 2ms)) << "once";
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
  Waiting waiting;
  EXPECT_EQ(ask(pool, waiting), Asked::queued);
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
  Waiting a;
  Waiting b;
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
  Waiting leaves;
  Waiting comes;
  ask(pool, leaves);
  EXPECT_TRUE(pool.cancel(leaves, now));
  EXPECT_EQ(ask(pool, comes), Asked::queued);
  tickets.clear();
  EXPECT_FALSE(leaves.was_woken);
  EXPECT_TRUE(comes.was_woken);
  EXPECT_FALSE(pool.cancel(comes, now)) << "it has a ticket already";
  EXPECT_TRUE(pool.collect(comes, now));
  EXPECT_EQ(pool.statistics()[Priority::normal].canceled, 1U);
}

TEST_F(TicketPoolTest, ServesThoseOfFewestAdmissionsFirstWhereItIsTold) {  // AC-007
  for (const auto order : {QueueOrder::fifo, QueueOrder::lifo, QueueOrder::codel}) {
    auto pool = pool_of({.size = 1,
                         .line = {.discipline = {.order = order, .target = 1ms, .interval = 1ms},
                                  .fewest_admissions = true}});
    auto tickets = take(pool, 1);
    Waiting often(Priority::low, 7);
    Waiting seldom(Priority::low, 2);
    Waiting as_seldom(Priority::low, 2);
    Waiting most_often(Priority::low, 8);
    for (auto* waiter : {&often, &seldom, &most_often}) ask(pool, *waiter);
    tickets.clear();
    ask(pool, as_seldom);
    for (auto* waiter : {&seldom, &as_seldom, &often, &most_often}) {
      EXPECT_TRUE(waiter->was_woken);
      pool.collect(*waiter, now += 100ms).give_back(now);
    }
    EXPECT_EQ(pool.statistics()[Priority::low].finished_processing, 4U) << "nobody is shed";
    now = TimePoint(1s);
  }
}

TEST_F(TicketPoolTest, AdmissionsMeanNothingElsewhere) {
  auto pool = pool_of(1);
  auto tickets = take(pool, 1);
  Waiting often(Priority::low, 7);
  Waiting seldom(Priority::normal, 2);
  for (auto* waiter : {&often, &seldom}) ask(pool, *waiter);
  tickets.clear();
  for (auto* waiter : {&often, &seldom}) {
    EXPECT_TRUE(waiter->was_woken);
    pool.collect(*waiter, now).give_back(now);
  }
}

TEST_F(TicketPoolTest, SaysWhenToComeBack) {  // BP-015
  auto pool = pool_of({.size = 2, .queue_depth = 100});
  EXPECT_EQ(pool.retry_after(), 1s) << "nothing is known yet";
  auto tickets = take(pool, 2);
  std::vector<std::unique_ptr<Waiting>> waiting;
  const auto comes = [&] { ask(pool, *waiting.emplace_back(std::make_unique<Waiting>())); };
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
  Waiting w[5];
  const auto pass = [&](Waiting& next) {
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

TEST_F(TicketPoolTest, RecordsItsPeakUseUntilSomebodyLooks) {  // AC-013
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
  Waiting waiting;
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
  Waiting waiting;
  EXPECT_EQ(ask(pool, waiting), Asked::refused);
}

TEST_F(TicketPoolTest, MonitoringRefusesNobodyAndCountsWhomItWouldHave) {
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

TEST_F(TicketPoolTest, LetsEverybodyInWhoWaitsWhenTheLimitIsGone) {
  for (const auto& settings : {PoolSettings{}, PoolSettings{.size = 1, .enforced = false}}) {
    auto pool = pool_of(1);
    auto tickets = take(pool, 1);
    Waiting a;
    Waiting b;
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

/// A thread that waits for its tickets; what wakes it is another thread.
struct Sleeping final : TicketWaiter {
  using TicketWaiter::TicketWaiter;
  void woken() override { signal.release(); }
  std::binary_semaphore signal{0};
};

/// Takes a ticket in any way there is; may come back without one.
Ticket take_somehow(TicketPool& pool, unsigned thread, RandomSource& random) {
  const TimePoint now{1s};
  const auto priority = random.below(4) == 0 ? Priority::low : Priority::normal;
  if (auto ticket = pool.try_take(thread, priority, now)) return ticket;
  Sleeping waiter(thread, priority, random.below(3));
  switch (pool.ask(waiter, now)) {
    case Asked::refused:
      return {};
    case Asked::admitted:
      return pool.collect(waiter, now);
    case Asked::queued:
      break;
  }
  if (random.below(3) == 0) {
    if (pool.cancel(waiter, now)) return {};
  }
  waiter.signal.acquire();
  return pool.collect(waiter, now);
}

TEST_F(TicketPoolTest, NeverLetsMoreInThanItHasTickets) {  // AC-010
  constexpr unsigned kThreads = 10;
  TicketPool pool(kThreads, nowhere, {.size = 3});
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  std::atomic<int> first{0};
  std::vector<std::jthread> threads;
  for (unsigned t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      SeededRandom random(t);
      for (int i = 0; i < 50;) {
        auto ticket = take_somehow(pool, t, random);
        if (!ticket) continue;
        ++i;
        const int now_inside = ++inside;
        int seen = most;
        while (now_inside > seen && !most.compare_exchange_weak(seen, now_inside)) {
        }
        // The first three wait for each other.
        if (first.fetch_add(1) < 3)
          while (first < 3) std::this_thread::yield();
        --inside;
        ticket.give_back(TimePoint(1s));
      }
    });
  threads.clear();
  EXPECT_EQ(most, 3);
  EXPECT_EQ(pool.take_peak(), 3U);
  EXPECT_EQ(available(pool), 3);
}

TEST_F(TicketPoolTest, LosesNoTicketWhateverThreadsDo) {
  constexpr unsigned kThreads = 4;
  constexpr std::uint64_t kEach = 250'000;
  constexpr std::uint32_t kLargest = 6;
  for (const auto resize : {TicketResize::gradual, TicketResize::immediate}) {
    TicketPool pool(kThreads + 1, nowhere,
                    {.size = 3,
                     .line = {.fewest_admissions = resize == TicketResize::immediate},
                     .resize = resize,
                     .stalled_after = 0us});
    std::atomic<std::uint32_t> inside{0};
    std::atomic<bool> too_many{false};
    std::atomic<bool> done{false};
    std::uint64_t taken[kThreads] = {};
    {
      std::vector<std::jthread> threads;
      for (unsigned t = 0; t < kThreads; ++t)
        threads.emplace_back([&, t] {
          SeededRandom random(t);
          for (std::uint64_t i = 0; i < kEach / 2; ++i) {
            auto ticket = take_somehow(pool, t, random);
            if (!ticket) continue;
            ++taken[t];
            if (inside.fetch_add(1) + 1 > kLargest) too_many = true;
            inside.fetch_sub(1);
            ticket.give_back(TimePoint(1s));
          }
        });
      std::jthread resizer([&] {
        SeededRandom random(99);
        while (!done) {
          pool.resize(1 + static_cast<std::uint32_t>(random.below(kLargest)), now);
          if (random.below(2) == 0) pool.stalled(now);
          if (random.below(2) == 0) pool.measure(now);
          if (random.below(2) == 0) pool.refuses(kThreads, Priority::normal, now);
          EXPECT_LE(pool.retry_after(), DrainRate::kLongest);
          std::this_thread::yield();
        }
        pool.settings({.size = 3, .resize = TicketResize::immediate}, now);
      });
      for (unsigned t = 0; t < kThreads; ++t) threads[t].join();
      done = true;
    }
    EXPECT_FALSE(too_many);
    const auto statistics = pool.statistics();
    EXPECT_EQ(statistics.out, 0U);
    EXPECT_EQ(statistics.available, 3);
    std::uint64_t started = 0;
    std::uint64_t waiting = 0;
    for (const auto& of : statistics.of) {
      started += of.started_processing;
      waiting += of.queue_length() + of.processing();
    }
    EXPECT_EQ(waiting, 0U);
    EXPECT_EQ(started, taken[0] + taken[1] + taken[2] + taken[3]);
    EXPECT_TRUE(is_free(pool));
  }
}

}  // namespace
}  // namespace karmad
