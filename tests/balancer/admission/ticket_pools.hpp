#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "balancer/admission/ticket_pool.hpp"

namespace karmad {

using namespace std::chrono_literals;
using AskResult = TicketPool::AskResult;

/// A request that waits for a ticket.
struct TicketRequest final : TicketWaiter {
  explicit TicketRequest(Priority with = Priority::normal, std::uint64_t before = 0)
      : TicketWaiter(0, with, before) {}
  void on_wake() override { was_woken = true; }
  bool was_woken = false;
};

struct TicketPoolTest : ::testing::Test {
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
  AskResult ask(TicketPool& pool, TicketWaiter& waiter) { return pool.ask(waiter, now); }
  bool is_free(TicketPool& pool) { return bool(pool.try_take(0, Priority::normal, now)); }
};

inline std::int64_t available(const TicketPool& pool) {
  return pool.statistics().available.value_or(-1);
}

}  // namespace karmad
