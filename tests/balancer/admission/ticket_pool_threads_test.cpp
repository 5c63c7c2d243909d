#include <gtest/gtest.h>

#include <semaphore>
#include <thread>

#include "strategies/random_source.hpp"
#include "tests/balancer/admission/ticket_pools.hpp"

namespace karmad {
namespace {

/// A thread that waits for its tickets; what wakes it is another thread.
struct Sleeping final : TicketWaiter {
  using TicketWaiter::TicketWaiter;
  void on_wake() override { signal.release(); }
  std::binary_semaphore signal{0};
};

/// Takes a ticket in any way there is; may come back without one.
Ticket take_somehow(TicketPool& pool, unsigned thread, RandomSource& random) {
  const TimePoint now{1s};
  const auto priority = random.below(4) == 0 ? Priority::low : Priority::normal;
  if (auto ticket = pool.try_take(thread, priority, now)) return ticket;
  Sleeping waiter(thread, priority, random.below(3));
  switch (pool.ask(waiter, now)) {
    case AskResult::refused:
      return {};
    case AskResult::admitted:
      return pool.collect(waiter, now);
    case AskResult::queued:
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

TEST_F(TicketPoolTest, LosesNoTicketWithManyThreads) {
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
          if (random.below(2) == 0) pool.end_stalled_resize(now);
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
    for (const auto& of : statistics.by_priority) {
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
