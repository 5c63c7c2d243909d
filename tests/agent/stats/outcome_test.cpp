#include "agent/stats/outcome.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace karmad {
namespace {

constexpr Outcome kAll[] = {Outcome::answered,        Outcome::answered_with_warning,
                            Outcome::client_mistake,  Outcome::agent_error,
                            Outcome::wrong_reply,     Outcome::connect_failed,
                            Outcome::connect_timeout, Outcome::broken,
                            Outcome::closed_early,    Outcome::query_timeout,
                            Outcome::cancelled,       Outcome::local_error,
                            Outcome::unreachable};

TEST(Outcome, LeadsToWhatTheTableOfConsequencesSays) {  // BP-060, HA-022, HA-024
  const struct {
    Outcome outcome;
    bool retry;
    bool error;
    bool success;
    bool slow;
    std::string_view counter;
    bool keep_connection;
  } cases[] = {
      {Outcome::answered, false, false, true, false, "succeeded_queries", true},
      {Outcome::answered_with_warning, false, false, false, false, "warnings", true},
      {Outcome::client_mistake, false, false, false, false, "none", true},
      {Outcome::agent_error, true, true, false, true, "wrong_replies", true},
      {Outcome::wrong_reply, true, true, false, true, "wrong_replies", false},
      {Outcome::connect_failed, true, true, false, true, "connect_failures", false},
      {Outcome::connect_timeout, true, true, false, true, "connect_timeouts", false},
      {Outcome::broken, true, true, false, true, "network_errors", false},
      {Outcome::closed_early, true, true, false, true, "unexpected_closings", false},
      {Outcome::query_timeout, false, true, false, true, "query_timeouts", false},
      {Outcome::cancelled, false, false, false, false, "none", false},
      {Outcome::local_error, true, false, false, false, "none", false},
      {Outcome::unreachable, true, true, false, true, "network_errors", false},
  };
  ASSERT_EQ(std::size(cases), std::size(kAll));
  for (const auto& c : cases) {
    SCOPED_TRACE(name(c.outcome));
    const auto leads_to = consequence(c.outcome);
    EXPECT_EQ(leads_to.retry, c.retry);
    EXPECT_EQ(leads_to.error, c.error);
    EXPECT_EQ(leads_to.success, c.success);
    EXPECT_EQ(leads_to.slow, c.slow);
    EXPECT_EQ(name(leads_to.counter), c.counter);
    EXPECT_EQ(leads_to.keep_connection, c.keep_connection);
  }
}

TEST(Outcome, IsNeverBothAnErrorAndASuccessAndEveryErrorCountsAsSlow) {
  for (const auto outcome : kAll) {
    const auto leads_to = consequence(outcome);
    EXPECT_FALSE(leads_to.error && leads_to.success) << name(outcome);
    EXPECT_EQ(leads_to.error, leads_to.slow) << name(outcome);  // failing never looks fast
    EXPECT_FALSE(leads_to.success && leads_to.retry) << name(outcome);
  }
}

TEST(Outcome, HasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (const auto outcome : kAll) names.insert(name(outcome));
  EXPECT_EQ(names.size(), std::size(kAll));
  EXPECT_FALSE(names.contains(""));
}

TEST(Counter, IsNamedAsTheStatusPrintsIt) {  // HA-024
  const std::string_view names[] = {"query_timeouts",      "connect_timeouts", "connect_failures",
                                    "network_errors",      "wrong_query",      "wrong_replies",
                                    "unexpected_closings", "warnings",         "succeeded_queries"};
  ASSERT_EQ(std::size(names), kCounters);
  for (std::size_t i = 0; i < kCounters; ++i) EXPECT_EQ(name(static_cast<Counter>(i)), names[i]);
}

}  // namespace
}  // namespace karmad
