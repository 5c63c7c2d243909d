// When a client leaves, all work for its query ends (CO-005).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "tests/support/fake_set.hpp"

namespace karmad::test {
namespace {

bool has_in_flight(const RestingMaster& master, std::size_t mirrors, double attempts) {
  return eventually([&] {
    double sum = 0;
    for (std::size_t i = 0; i < mirrors; ++i) sum += master.number_of(i, "in_flight");
    return sum == attempts;
  });
}

TEST(ClientThatLeaves, EndsItsAttempts) {
  FakeSet mirrors(2, silence());
  const RestingMaster master(taking_turns(), mirrors.table());
  {
    std::vector<Pending> searches;
    for (int i = 0; i < 6; ++i) searches.emplace_back(master, "/search", kFindAll);
    ASSERT_TRUE(has_in_flight(master, 2, 6));
    ASSERT_TRUE(eventually([&] { return mirrors.requests() == 6; }));
  }
  EXPECT_TRUE(has_in_flight(master, 2, 0));
  EXPECT_TRUE(eventually([&] { return master.count("clients_left") == 6; }));
  EXPECT_TRUE(mirrors.is_left(0));
  EXPECT_TRUE(mirrors.is_left(1));
  EXPECT_EQ(mirrors.requests(), 6u) << "nothing is retried without a client";
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(master.number_of(i, "errors_in_a_row"), 0);
}

// Nothing else would end the attempt in time: the query has ten minutes. A busy machine may be late
// with one of the disconnects, but not with all of them.
// Half of the times within ten milliseconds: a busy machine may be late.
TEST(ClientThatLeaves, IsNoticedByItsMirrorWithinTenMilliseconds) {
  using Clock = std::chrono::steady_clock;
  FakeSet mirrors(1, silence());
  const RestingMaster master(taking_turns("request_timeout = 10m\n agent_query_timeout = 10m\n "
                                          "half_close_wait = 0"),
                             mirrors.table());
  std::size_t searches = 0;
  const auto median_of_times = [&] {
    std::vector<Clock::duration> times;
    while (times.size() < 21) {
      auto search = std::make_optional<Pending>(master, "/search", kFindAll);
      ++searches;
      if (!eventually([&] { return mirrors.requests() == searches; })) break;
      const auto left = Clock::now();
      search.reset();
      if (!mirrors.is_left(0)) break;
      times.push_back(Clock::now() - left);
    }
    if (times.size() < 21) return Clock::duration::max();
    std::ranges::nth_element(times, times.begin() + 10);
    return times[10];
  };
  EXPECT_TRUE(eventually([&] { return median_of_times() <= 10ms; }));
}

TEST(ClientThatLeaves, EndsAHedgeRace) {
  FakeSet mirrors(3, silence());
  const RestingMaster master(taking_turns("hedge = 10ms\n hedge_max = 2"), mirrors.table());
  {
    const Pending search(master, "/search", kFindAll);
    ASSERT_TRUE(eventually([&] { return mirrors.requests() == 3; }));
    ASSERT_TRUE(has_in_flight(master, 3, 3));
  }
  EXPECT_TRUE(has_in_flight(master, 3, 0));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(mirrors.is_left(i));
  EXPECT_TRUE(eventually([&] { return master.count("clients_left") == 1; }));
  EXPECT_EQ(master.count("hedges_won"), 0);
}

// The pause is a minute; there is one extra attempt at a time, and the pause holds it.
TEST(ClientThatLeaves, EndsThePauseBeforeARetryAndGivesTheBudgetBack) {
  FakeSet mirrors(1, refused(429, "Retry-After: 60\r\n"));
  const RestingMaster master(taking_turns("throttle_max_wait = 1h\n request_timeout = 1h\n "
                                          "retry_budget_min = 1\n agent_retry_count = 1"),
                             mirrors.table());
  {
    const Pending search(master, "/search", kFindAll);
    ASSERT_TRUE(eventually([&] { return mirrors.requests() == 1; }));
    ASSERT_TRUE(has_in_flight(master, 1, 0));
    EXPECT_EQ(master.find().status, 429) << "the budget is in use";
    EXPECT_EQ(master.count("retries_refused"), 1);
  }
  EXPECT_TRUE(eventually([&] { return master.count("clients_left") == 1; }));
  EXPECT_EQ(master.count("agent_attempts"), 2);
  mirrors.react(json(R"({"error":"internal error"})", 500));
  EXPECT_EQ(master.find().status, 502);
  EXPECT_EQ(master.count("agent_attempts"), 4) << "a retry is allowed again";
  EXPECT_EQ(master.count("throttled_retries"), 0);
}

TEST(ClientThatLeaves, WhileSeveralShardsAreAskedEndsAllOfThem) {
  FakeSet first(2, silence());
  FakeSet second(2, refused(429, "Retry-After: 60\r\n"));
  auto table = first.table();
  table.insert(table.rfind('}'),
               fmt::format(" agent = {}:x|{}:x\n", second[0].address(), second[1].address()));
  const RestingMaster master(taking_turns("throttle_max_wait = 1h\n request_timeout = 1h"), table);
  {
    const Pending search(master, "/search", kFindAll);
    ASSERT_TRUE(eventually([&] { return first.requests() == 1 && second.requests() == 2; }));
  }
  EXPECT_TRUE(eventually([&] { return master.count("clients_left") == 1; }));
  EXPECT_TRUE(has_in_flight(master, 2, 0));
  EXPECT_TRUE(first.is_left(0));
}

}  // namespace
}  // namespace karmad::test
