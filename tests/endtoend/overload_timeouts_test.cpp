// Mirrors that answer late, break off answers, or close idle connections.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <set>

#include "tests/support/fake_set.hpp"
#include "tests/support/load.hpp"

namespace karmad::test {
namespace {

/// The time limit in the request to the agent.
long told_ms(const std::string& request) {
  const std::string_view field = "X-Timeout-Ms: ";
  const auto at = request.find(field);
  return at == request.npos ? -1 : std::atol(request.c_str() + at + field.size());
}

TEST(FirstByte, HasATimeOfItsOwnThatIsCountedAndNamed) {
  FakeSet mirrors(1, silence());
  const RestingMaster master(taking_turns(), mirrors.table("agent_first_byte_timeout = 100ms"));
  const auto answer = master.find();
  EXPECT_EQ(answer.status, 504);
  EXPECT_TRUE(answer.body.contains("no byte of an answer came in time")) << answer.body;
  EXPECT_EQ(master.count("first_byte_timeouts"), 1);
  EXPECT_EQ(master.number_of(0, "periods/1/query_timeouts"), 1);
  EXPECT_TRUE(mirrors.is_left(0));
}

TEST(TimeOuts, AreThreeAndEachIsCountedAndNamedByItself) {
  const FullPort full;
  const FakeMirror silent(always(silence()));
  const struct {
    std::string address;
    std::string setting;
    std::string error;
    std::string counter;
  } cases[] = {
      {full.address(), "agent_connect_timeout", "connect timed out", "connect_timeouts"},
      {silent.address(), "agent_first_byte_timeout", "no byte of an answer came in time",
       "first_byte_timeouts"},
      {silent.address(), "agent_query_timeout", "query timed out", "query_timeouts"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.setting);
    const RestingMaster master(taking_turns("retry_reads = 0"),
                               table_of({line_of({c.address})}, c.setting + " = 100ms"));
    const auto answer = master.find();
    EXPECT_EQ(answer.status, 504);
    EXPECT_TRUE(answer.body.contains(c.error)) << answer.body;
    for (const auto& other : cases)
      EXPECT_EQ(master.count(other.counter), other.counter == c.counter ? 1 : 0) << other.counter;
  }
}

TEST(FirstByte, OnceItIsThereTheWholeAnswerHasItsTime) {
  FakeSet mirrors(1, {"HTTP/1.1 200 OK\r\nContent-Le", Reaction::Then::hang});
  const RestingMaster master(
      taking_turns("agent_first_byte_timeout = 10s\n agent_query_timeout = 300ms"),
      mirrors.table());
  EXPECT_EQ(master.find().status, 504);
  EXPECT_EQ(master.count("first_byte_timeouts"), 0);
  EXPECT_EQ(master.number_of(0, "periods/1/query_timeouts"), 1);
}

TEST(SearchTimeouts, GiveEachFurtherAttemptMoreTime) {  // CO-044
  FakeSet mirrors(3);
  std::atomic<int> asked{0};  // the second and third are drawn
  for (std::size_t i = 0; i < 3; ++i)
    mirrors[i].react([&](const std::string&) { return asked++ < 2 ? silence() : nothing_found(); });
  const RestingMaster master(taking_turns("search_timeouts = 100ms, 200ms, 20s"), mirrors.table());
  EXPECT_EQ(master.find().status, 200);
  for (std::size_t i = 0; i < 3; ++i) ASSERT_EQ(mirrors[i].requests(), 1u) << i;
  EXPECT_EQ(told_ms(mirrors[0].seen()[0]), 100);
  std::set<std::int64_t> later;
  for (const std::size_t i : {1U, 2U}) later.insert(told_ms(mirrors[i].seen()[0]));
  EXPECT_EQ(later, (std::set<std::int64_t>{200, 20000}));
  EXPECT_EQ(master.count("agent_retry"), 2);
}

TEST(SearchTimeouts, EndWithTheListAndWithTheDeadline) {
  FakeSet mirrors(3, silence());
  const RestingMaster master(taking_turns("search_timeouts = 100ms, 100ms"), mirrors.table());
  EXPECT_EQ(master.find().status, 504);
  EXPECT_EQ(mirrors.requests(), 2u);
  FakeSet slow(3, silence());
  const RestingMaster patient(taking_turns("search_timeouts = 20s, 20s, 20s"), slow.table());
  EXPECT_EQ(patient.find("", "X-Timeout-Ms: 200\r\n").status, 504);
  EXPECT_EQ(slow.requests(), 1u);
}

// The list counts by itself, whatever the number of mirrors; a retry count of 0 is above it.
TEST(SearchTimeouts, GiveAsManyAttemptsAsTheListHasSteps) {  // CO-044
  const struct {
    std::size_t mirrors;
    std::string settings;
    std::size_t attempts;
  } cases[] = {
      {2, "", 8},
      {1, "", 8},
      {2, "max_attempts = 5", 5},
      {2, "agent_retry_count = 1", 8},
      {2, "agent_retry_count = 0", 1},
      {3, "retry_reads = 0", 1},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(fmt::format("{} {}", c.mirrors, c.settings));
    FakeSet mirrors(c.mirrors, silence());
    const RestingMaster master(
        taking_turns("search_timeouts = 20,20,20,20,20,20,20,20\n " + c.settings), mirrors.table());
    EXPECT_EQ(master.find().status, 504);
    EXPECT_EQ(mirrors.requests(), c.attempts);
  }
}

TEST(SearchTimeouts, AreNotForUpdates) {
  FakeSet mirrors(2, inserted());
  const RestingMaster master(taking_turns("search_timeouts = 100ms, 200ms"),
                             mirrors.table("updates = any"));
  EXPECT_EQ(insert(master).status, 200);
  EXPECT_EQ(told_ms(mirrors[0].seen()[0]), 20000);
}

// One of three mirrors answers pings and never a search.
TEST(SilentMirror, CostsNoSearchItsAnswer) {  // HA-026, X-18
  for (const auto* strategy : {"random", "roundrobin", "nodeads", "adaptive"})
    for (const auto* more : {"", "hedge = 50ms", "ping_type = none"}) {
      SCOPED_TRACE(fmt::format("{} {}", strategy, more));
      FakeSet mirrors(3);
      mirrors[1].react(always(silence()));
      const RestingMaster master(
          fmt::format("workers = 1\n ha_strategy = {}\n agent_query_timeout = 400ms\n {}", strategy,
                      more),
          mirrors.table());
      for (int i = 0; i < 60; ++i) EXPECT_EQ(master.find().status, 200) << i;
      if (master.count("hedges") == 0) {
        EXPECT_LE(mirrors[1].requests(), 4u) << "it is left out, but for probes";
      }
      mirrors[1].react(always(nothing_found()));
    }
}

// In a busy set a query that is slow everywhere evicts no mirror; it is tried twice.
TEST(SilentMirror, IsNotOneThatAnswersOtherSearches) {  // X-18
  FakeSet mirrors(2);
  for (std::size_t i = 0; i < 2; ++i)
    mirrors[i].react([](const std::string& request) {
      return request.contains("heavy") ? silence() : nothing_found();
    });
  const RestingMaster master("workers = 1\n ha_strategy = roundrobin\n agent_query_timeout = 500ms",
                             mirrors.table());
  Load load(master.port(), 2, expecting_200(std::string(kFindAll)));
  EXPECT_TRUE(load.more(20));
  const auto heavy =
      ask(master.port(), "POST", "/search", R"({"table":"t","query":{"match":{"*":"heavy"}}})");
  EXPECT_EQ(heavy.status, 504);
  std::size_t heavies = 0;
  for (std::size_t i = 0; i < 2; ++i)
    for (const auto& request : mirrors[i].seen()) heavies += request.contains("heavy") ? 1 : 0;
  EXPECT_EQ(heavies, 2u);
  const std::size_t before[] = {mirrors[0].requests(), mirrors[1].requests()};
  EXPECT_TRUE(load.more(100));
  load.stop();
  EXPECT_EQ(load.wrong(), "");
  for (std::size_t i = 0; i < 2; ++i) EXPECT_GT(mirrors[i].requests() - before[i], 20u) << i;
}

// In a quiet set the next search finds out whether only one query takes so long.
TEST(SilentMirror, IsTriedAgainByTheNextSearch) {  // X-18
  FakeSet mirrors(2);
  for (std::size_t i = 0; i < 2; ++i)
    mirrors[i].react([](const std::string& request) {
      return request.contains("heavy") ? silence() : nothing_found();
    });
  const RestingMaster master(taking_turns("agent_query_timeout = 200ms"), mirrors.table());
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(
        ask(master.port(), "POST", "/search", R"({"table":"t","query":{"match":{"*":"heavy"}}})")
            .status,
        504);
    EXPECT_EQ(master.find().status, 200);
    EXPECT_EQ(master.find().status, 200);
    const std::size_t before[] = {mirrors[0].requests(), mirrors[1].requests()};
    for (int n = 0; n < 10; ++n) EXPECT_EQ(master.find().status, 200);
    for (std::size_t m = 0; m < 2; ++m) EXPECT_GE(mirrors[m].requests() - before[m], 4u) << m;
  }
}

TEST(SilentMirror, GetsAnUpdateOnce) {  // X-18
  FakeSet mirrors(2, silence());
  const RestingMaster master(taking_turns("agent_query_timeout = 100ms"),
                             mirrors.table("updates = any"));
  EXPECT_EQ(insert(master).status, 504);
  EXPECT_EQ(mirrors.requests(), 1u);
}

// A third of the answers break off in the middle; the one retry repairs each of them.
TEST(BrokenAnswers, AreFetchedElsewhere) {
  FakeSet mirrors(3);
  auto half = nothing_found();
  half.bytes.resize(half.bytes.size() - 20);
  half.then = Reaction::Then::reset;
  mirrors[0].react(always(half));
  const RestingMaster master(taking_turns("workers = 2"), mirrors.table());
  Load load(master.port(), 3, expecting_200(std::string(kFindAll)));
  EXPECT_TRUE(load.more(200));
  load.stop();
  EXPECT_EQ(load.wrong(), "");
  EXPECT_GT(mirrors[0].requests(), 20u);
  EXPECT_EQ(master.count("agent_retry"), static_cast<std::int64_t>(mirrors[0].requests()));
  EXPECT_EQ(master.count("retries_refused"), 0);
}

// Agents that close idle connections cause no lost answer, no retry and no error count.
TEST(IdleConnections, MayBeClosedByTheAgentAtAnyTime) {
  FakeSet mirrors(2);
  const RestingMaster master(taking_turns("retry_reads = 0"), mirrors.table());
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(master.find().status, 200);
    mirrors[static_cast<std::size_t>(i) % 2].close_all();
  }
  EXPECT_EQ(mirrors.requests(), 40u);
  EXPECT_EQ(master.count("agent_retry"), 0);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(master.number_of(i, "errors_in_a_row"), 0);
    EXPECT_EQ(master.number_of(i, "periods/1/unexpected_closings"), 0);
    EXPECT_EQ(master.number_of(i, "periods/1/network_errors"), 0);
  }
}

}  // namespace
}  // namespace karmad::test
