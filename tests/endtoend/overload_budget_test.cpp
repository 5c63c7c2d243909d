// The load that retries may add to failing mirrors, and how soon a mirror that fails fast gets
// fewer requests.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>

#include "tests/support/fake_set.hpp"
#include "tests/support/load.hpp"

namespace karmad::test {
namespace {

constexpr std::size_t kSaved = 10;  // extra attempts that quiet times may save up

// Even with high retry limits: 1.2 times the load, and the saved tokens.
TEST(RetryBudget, ASetThatFailsWhollySeesHardlyMoreThanItsLoad) {
  const Reaction troubles[] = {
      json(R"({"error":"internal error"})", 500),
      refused(429, ""),
      refused(429, "Retry-After-Ms: 1\r\n"),
      refused(404, "X-Sub-Status: 1002\r\n", R"({"error":"not seen yet"})"),
      Reaction{"", Reaction::Then::reset},
  };
  for (const auto& trouble : troubles) {
    SCOPED_TRACE(trouble.bytes);
    FakeSet mirrors(3, trouble);
    const RestingMaster master(
        taking_turns("agent_retry_count = 5\n overload_max_retries = 10\n max_attempts = 20"),
        mirrors.table());
    constexpr std::size_t kRequests = 150;
    for (std::size_t i = 0; i < kRequests; ++i) EXPECT_GE(master.find().status, 429);
    EXPECT_LE(mirrors.requests(), kRequests * 12 / 10 + kSaved);
    EXPECT_GE(mirrors.requests(), kRequests + kSaved) << "the budget is there to be used";
    EXPECT_GT(master.count("retries_refused"), 0);
    EXPECT_EQ(master.count("agent_attempts"), static_cast<std::int64_t>(mirrors.requests()));
  }
}

TEST(RetryBudget, HoldsForManyClientsAtATime) {
  FakeSet mirrors(3, refused(429, ""));
  const RestingMaster master(taking_turns("workers = 2"), mirrors.table());
  Load load(master.port(), 8, [](HttpClient& client, std::size_t) -> std::string {
    const auto answer = client.request("POST", "/search", kFindAll);
    return answer && answer->status == 429 ? "" : "not refused";
  });
  EXPECT_TRUE(load.more(300));
  load.stop();
  EXPECT_EQ(load.wrong(), "");
  EXPECT_LE(mirrors.requests(), load.answers() * 12 / 10 + kSaved + 1);
  EXPECT_GT(master.count("retries_refused"), 0);
}

TEST(RetryBudget, OfNothingAllowsNoRetry) {
  FakeSet mirrors(2, json(R"({"error":"internal error"})", 500));
  const RestingMaster master(taking_turns("retry_budget_percent = 0\n retry_budget_min = 0"),
                             mirrors.table());
  EXPECT_EQ(master.find().status, 502);
  EXPECT_EQ(mirrors.requests(), 1u);
  EXPECT_EQ(master.count("retries_refused"), 1);
  EXPECT_EQ(master.count("agent_retry"), 0);
}

TEST(RetryBudget, IsRefilledByRetriesThatHelp) {
  FakeSet mirrors(2);
  mirrors[0].react(always(json(R"({"error":"internal error"})", 500)));
  const RestingMaster master(taking_turns("retry_budget_percent = 0"), mirrors.table());
  for (std::size_t i = 0; i < 5 * kSaved; ++i) EXPECT_EQ(master.find().status, 200);
  EXPECT_EQ(master.count("retries_refused"), 0);
  EXPECT_GT(master.count("agent_retry"), static_cast<std::int64_t>(kSaved));
}

/// A mirror that fails faster than the others answer gets only a few attempts.
void expect_left_alone(const std::string& strategy) {
  FakeSet mirrors(3);
  mirrors[0].react(always(json(R"({"error":"internal error"})", 500)));
  const RestingMaster master(
      fmt::format("workers = 1\n ha_period_karma = 1s\n ping_type = none\n ha_strategy = {}",
                  strategy),
      mirrors.table());
  std::atomic<std::size_t> failed{0};
  Load load(master.port(), 3, [&](HttpClient& client, std::size_t) -> std::string {
    const auto answer = client.request("POST", "/search", kFindAll);
    failed += answer && answer->status == 200 ? 0 : 1;
    return "";
  });
  EXPECT_TRUE(eventually([&] {
    const auto bad = mirrors[0].requests();
    const auto all = mirrors.requests();
    load.more(200);
    return (mirrors[0].requests() - bad) * 20 < mirrors.requests() - all;
  })) << strategy;
  load.stop();
  EXPECT_LE(failed * 100, load.answers()) << strategy;
}

TEST(FastFailure, IsLeftAloneByNodeads) {
  expect_left_alone("nodeads");
}

TEST(FastFailure, IsLeftAloneByNoerrors) {
  expect_left_alone("noerrors");
}

TEST(FastFailure, IsLeftAloneByLeastops) {
  expect_left_alone("leastops");
}

// Strategies that do not look at health need the breaker for it.
TEST(FastFailure, IsLeftAloneByRandomWithABreaker) {
  expect_left_alone("random\n breaker = 1");
}

}  // namespace
}  // namespace karmad::test
